#include "busbar/predict/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/predict/predictor.h"

namespace busbar::predict {
namespace {

/// An all-reduce of 64 MiB over the whole of `cluster`, changed by `set`, with NCCL's variables `env`.
Duration time_with(const std::string& cluster, std::vector<std::string> set, std::vector<std::string> env) {
  spec::Overrides overrides;
  overrides.set = std::move(set);
  PredictPolicy policy;
  policy.env = std::move(env);
  auto machine = Predictor::make(spec::load_cluster(cluster, overrides).value(), {}, std::move(policy)).value();
  return machine->time(call_over(collectives::Collective::kAllReduce, Bytes{64 << 20}, machine->ranks()), kTimeAlone)
      ->time;
}

TEST(NcclOnAMachine, WithoutPeerAccessGpusMeetInHostMemoryAsTheClusterFileSays) {
  const Duration without = time_with("h100-pcie", {}, {"NCCL_P2P_DISABLE=1"});
  EXPECT_GT(without, time_with("h100-pcie", {}, {}));
  EXPECT_EQ(without, time_with("h100-pcie", {"node.p2p=false"}, {}));
  EXPECT_EQ(without, time_with("h100-pcie", {}, {"NCCL_P2P_LEVEL=NVL"})) << "there are no NVLinks";
}

TEST(NcclOnAMachine, PeerAccessOffTakesNvlinksAwayAndLevelNvlDoesNot) {
  const std::string nvls = "NCCL_NVLS_ENABLE=0";
  const Duration with = time_with("dgx-h100", {}, {nvls});
  EXPECT_GT(time_with("dgx-h100", {}, {nvls, "NCCL_P2P_DISABLE=1"}), with * 5);
  EXPECT_EQ(time_with("dgx-h100", {}, {nvls, "NCCL_P2P_LEVEL=NVL"}), with);
  EXPECT_EQ(time_with("dgx-h100", {"node.p2p=false"}, {nvls}), with) << "the key speaks of PCIe";
}

// Of a DGX H100 the GPUs meet by NVLink or not at all, and each has a NIC behind its PCIe switch.
TEST(NcclOnAMachine, LevelsOfPeerAccessCountPathsBetweenGpus) {
  const auto after = [](const std::string& cluster, const std::string& level) {
    spec::Cluster c = spec::load_cluster(cluster).value();
    const std::vector<std::string> env{"NCCL_P2P_LEVEL=" + level};
    EXPECT_TRUE(apply_nccl_environment(c, {}, env).ok());
    return std::pair(c.p2p && c.protocol.peer_access, c.protocol.scale_up_access);
  };
  EXPECT_EQ(after("dgx-h100", "PIX"), std::pair(false, true));
  EXPECT_EQ(after("dgx-h100", "LOC"), std::pair(false, false));
  EXPECT_TRUE(after("pcie-cards-switched", "PIX").first) << "pairs of GPUs behind one PCIe switch";
  EXPECT_FALSE(after("pcie-cards-switched", "LOC").first);
}

TEST(NcclOnAMachine, WithoutGpudirectPayloadsGoThroughHostMemoryAsTheClusterFileSays) {
  const Duration without = time_with("dgx-h100:2", {}, {"NCCL_NET_GDR_LEVEL=LOC"});
  EXPECT_GT(without, time_with("dgx-h100:2", {}, {}));
  EXPECT_EQ(without, time_with("dgx-h100:2", {"node.gpudirect=false"}, {}));
  EXPECT_EQ(time_with("dgx-h100:2", {}, {"NCCL_NET_GDR_LEVEL=SYS"}), time_with("dgx-h100:2", {}, {}));
}

TEST(NcclOnAMachine, SocketsCostAsMuchAsATcpNetwork) {
  const Duration sockets = time_with("dgx-h100:2", {}, {"NCCL_NET=Socket"});
  EXPECT_GT(sockets, time_with("dgx-h100:2", {}, {"NCCL_NET_GDR_LEVEL=LOC"}));
  EXPECT_EQ(sockets, time_with("dgx-h100:2", {}, {"NCCL_IB_DISABLE=1"}));
  const std::vector<std::string> tcp{"fabric.network=tcp-400g"};
  EXPECT_EQ(time_with("dgx-h100:2", tcp, {"NCCL_NET=Socket"}), time_with("dgx-h100:2", tcp, {}));
  const double far = sockets.in_us() / time_with("dgx-h100:2", tcp, {}).in_us();
  EXPECT_NEAR(far, 1, 0.05) << "other switches and NICs";
}

TEST(NcclOnAMachine, WithoutNvlsSwitchesDoNotReduce) {
  PredictPolicy off;
  off.env = {"NCCL_NVLS_ENABLE=0"};
  auto machine = Predictor::make(spec::load_cluster("dgx-h100").value(), {}, off).value();
  const auto p = machine->time(call_over(collectives::Collective::kAllReduce, Bytes{64 << 20}, 8), kTimeAlone);
  EXPECT_EQ(p->algorithm, "ring");
  EXPECT_GT(p->time, time_with("dgx-h100", {}, {}));
}

TEST(NcclOnAMachine, RefusesAVariableThatItDoesNotKnow) {
  PredictPolicy policy;
  policy.env = {"NCCL_IB_DISABEL=1"};
  const auto made = Predictor::make(spec::load_cluster("dgx-h100").value(), {}, policy);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, testing::HasSubstr("did you mean 'NCCL_IB_DISABLE'?"));
}

}  // namespace
}  // namespace busbar::predict
