#include "busbar/predict/internal/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/predict/predictor.h"

namespace busbar::predict {
namespace {

using testing::HasSubstr;

/// Two servers of eight GPUs on an NVSwitch; `nics` gives the device of NIC i, GPU i is on switch i of its socket.
std::string servers(const std::string& nics) {
  return "name: w\nnodes: 2\nfabric: ndr-rail\nnode:\n  name: w\n  devices:\n"
         "    - {name: cpu, count: 2, numa: [0, 1]}\n"
         "    - {name: gpu, count: 8, part: h100-sxm, numa: \"#/4\"}\n"
         "    - {name: nvswitch, count: 1}\n"
         "    - {name: pcie, count: 8, kind: pcie_switch, numa: \"#/4\"}\n"
         "    - {name: nic, count: 8}\n"
         "  links:\n"
         "    - {between: [gpu*, nvswitch0], kind: nvlink, rate: 450GB/s, efficiency: 0.86, latency: 250ns}\n"
         "    - {between: [\"gpu#\", \"pcie#\"], kind: pcie, rate: 64GB/s, lanes: 16}\n"
         "    - {between: [\"pcie[0-3]\", cpu0], kind: pcie, rate: 64GB/s, lanes: 16}\n"
         "    - {between: [\"pcie[4-7]\", cpu1], kind: pcie, rate: 64GB/s, lanes: 16}\n"
         "    - {between: [cpu0, cpu1], kind: socket, rate: 96GB/s, efficiency: 0.23}\n" +
         nics;
}

constexpr const char* kNear = "    - {between: [\"nic#\", \"pcie#\"], kind: pcie, rate: 64GB/s, lanes: 16}\n";
constexpr const char* kFar =
    "    - {between: [\"nic[0-3]\", cpu1], kind: pcie, rate: 64GB/s, lanes: 16}\n"
    "    - {between: [\"nic[4-7]\", cpu0], kind: pcie, rate: 64GB/s, lanes: 16}\n";

Prediction all_reduce_on(const std::string& text, std::uint64_t bytes, const TimeAsk& ask = {}) {
  auto machine = Predictor::make(spec::parse_cluster(text, "w").value(), {}).value();
  return machine->time(call_over(collectives::Collective::kAllReduce, Bytes{bytes}, 16), ask).value();
}

TEST(Cause, NicsUnderTheOtherSocketAreNamed) {
  const Prediction p = all_reduce_on(servers(kFar), std::uint64_t{1} << 30);
  EXPECT_THAT(p.cause, HasSubstr("no NIC near: one channel"));
  EXPECT_THAT(p.cause, HasSubstr("of 8 NICs"));
}

TEST(Cause, NicsNextToTheirGpusAreNotNamed) {
  EXPECT_EQ(all_reduce_on(servers(kNear), std::uint64_t{1} << 30).cause, "");
}

TEST(Cause, NoMachineOfTheCatalogueHasFarNicsThatItCouldUse) {
  for (const char* name : {"dgx-h100:2", "dgx-1v:2", "mi300x-8:2", "aws-p5:2", "rtx4090-pcie:2", "gh200-4:2"}) {
    auto machine = Predictor::make(spec::load_cluster(name).value(), {}).value();
    const auto p =
        machine->time(call_over(collectives::Collective::kAllReduce, Bytes{std::uint64_t{1} << 30}, machine->ranks()));
    ASSERT_TRUE(p.ok()) << name;
    EXPECT_EQ(p->cause, "") << name;
  }
}

TEST(Cause, AChainOfWhichHalfIsBytesIsBoundByBandwidth) {
  lowering::ChainPart launch, bytes, shared;
  launch.kind = lowering::ChainPartKind::kLaunch;
  bytes.kind = lowering::ChainPartKind::kBandwidth;
  shared.kind = lowering::ChainPartKind::kSharing;
  launch.ps = 10, bytes.ps = 6, shared.ps = 4;
  EXPECT_EQ(kind_of_chain({launch, bytes, shared}), lowering::BoundKind::kBandwidth);
  launch.ps = 11;
  EXPECT_EQ(kind_of_chain({launch, bytes, shared}), lowering::BoundKind::kLatency);
}

TEST(Cause, LatencyOrBandwidthFollowsFromTheChain) {
  for (const char* name : {"dgx-h100", "dgx-a100:4", "dgx-1v"}) {
    auto machine = Predictor::make(spec::load_cluster(name).value(), {}).value();
    for (std::uint64_t size = 1 << 10; size <= 1 << 30; size *= 8) {
      const program::CollectiveCall call =
          call_over(collectives::Collective::kAllReduce, Bytes{size}, machine->ranks());
      const auto p = machine->time(call, {.explain = true});
      ASSERT_TRUE(p.ok()) << p.error().text();
      double bytes = 0, hops = 0;
      for (const lowering::ChainPart& part : p->chain)
        (part.kind == lowering::ChainPartKind::kBandwidth || part.kind == lowering::ChainPartKind::kSharing ? bytes
                                                                                                            : hops) +=
            part.ps;
      EXPECT_EQ(p->bound.kind, bytes >= hops ? lowering::BoundKind::kBandwidth : lowering::BoundKind::kLatency)
          << name << ' ' << size;
      EXPECT_EQ(machine->time(call)->bound.kind, p->bound.kind) << name << ' ' << size;
    }
  }
}

}  // namespace
}  // namespace busbar::predict
