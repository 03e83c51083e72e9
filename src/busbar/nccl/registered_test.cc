#include "busbar/nccl/registered.h"

#include <gtest/gtest.h>

#include <cmath>

#include "busbar/nccl/environment.h"
#include "busbar/nccl/test_nodes.h"
#include "busbar/nccl/tuning.h"

namespace busbar::nccl {
namespace {

using enum collectives::Collective;

/// GPUs that one NVLink switch joins.
NcclComm one_domain(std::uint32_t gpus, int capability = 90) {
  NcclComm c;
  c.ranks = gpus;
  c.nodes.resize(1);
  for (std::uint32_t r = 0; r < gpus; ++r) c.nodes[0].ranks.push_back(r);
  c.shapes.emplace_back();
  c.least_capability = capability;
  c.nvls = true;
  c.graphs.ring.intra_type = topology::PathType::kNvl;
  c.settings.registered.registration = Registration::kSymmetric;
  return c;
}

std::string_view name_of_choice(const NcclComm& c, collectives::Collective op, std::uint64_t bytes) {
  std::string_view why;
  const auto kernel = choose_kernel(c, op, Bytes{bytes}, false, why);
  return kernel ? kernel->name : why;
}

const NcclSymmetricKernel& named(std::string_view name) {
  for (const NcclSymmetricKernel& k : symmetric_kernels())
    if (k.name == name) return k;
  ADD_FAILURE() << name;
  return symmetric_kernels()[0];
}

NcclComm with(NcclComm c, const char* variable) {
  EXPECT_TRUE(parse_nccl_setting(variable, c.settings).ok()) << variable;
  return c;
}

constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;

TEST(RegisteredBuffers, ChangeNothingUnlessTheUserRegistersThem) {
  NcclComm c = one_domain(8);
  c.settings.registered.registration = Registration::kNone;
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "");
  c.settings.registered.registration = Registration::kLocal;
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "");
}

TEST(RegisteredBuffers, TakeFlagsForFewBytesAndSwitchesForMany) {
  const NcclComm c = one_domain(8);
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "AllReduce_AGxLLMC_R");
  EXPECT_EQ(name_of_choice(c, kAllReduce, 64 * kMi), "AllReduce_RSxLDMC_AGxSTMC");
  EXPECT_EQ(name_of_choice(c, kAllGather, 64 * kMi), "AllGather_STMC");
  EXPECT_EQ(name_of_choice(c, kReduceScatter, 64 * kMi), "ReduceScatter_LDMC");
  EXPECT_EQ(name_of_choice(with(c, "NCCL_NVLS_ENABLE=0"), kAllReduce, 64 * kMi), "AllReduce_RSxLDMC_AGxSTMC")
      << "the communicator decides whether switches take part";
  NcclComm alone = c;
  alone.nvls = false;
  EXPECT_EQ(name_of_choice(alone, kAllReduce, 8), "AllReduce_AGxLL_R");
  EXPECT_EQ(name_of_choice(alone, kAllReduce, 64 * kMi), "AllReduce_RSxLD_AGxST");
  EXPECT_EQ(name_of_choice(one_domain(2), kAllReduce, 64 * kMi), "AllReduce_RSxLD_AGxST") << "multicast to one peer";
}

TEST(RegisteredBuffers, NeedTheReleaseOneNvlinkDomainAndASumOfFloats) {
  NcclComm c = one_domain(8);
  c.settings.version = {2, 26};
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "symmetric memory exists since NCCL 2.27");
  c = one_domain(8);
  c.nodes.resize(2);
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "the GPUs are not all joined directly by NVLink");
  c = one_domain(8);
  c.graphs.ring.intra_type = topology::PathType::kPix;
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "the GPUs are not all joined directly by NVLink");
  c = one_domain(8);
  c.settings.registered.elements.symmetric_sums = false;
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "symmetric kernels add only floating point, with sum or avg");
  EXPECT_EQ(name_of_choice(c, kAllGather, 64 * kMi), "AllGather_STMC") << "nothing is added";
  EXPECT_EQ(name_of_choice(one_domain(8), kBroadcast, 8),
            "symmetric kernels exist for all_reduce, all_gather and reduce_scatter");
  EXPECT_EQ(name_of_choice(with(one_domain(8), "NCCL_WIN_ENABLE=0"), kAllReduce, 8),
            "NCCL_WIN_ENABLE=0 switches windows off");
}

TEST(RegisteredBuffers, AreCopiedByEnginesWherePolicyOrSizeAsk) {
  const NcclComm c = one_domain(8), zero = with(c, "NCCL_CTA_POLICY=ZERO");
  for (const auto op : {kAllGather, kAllToAll, kGather, kScatter})
    EXPECT_EQ(name_of_choice(zero, op, kMi), "Copy Engine") << collectives::name_of(op);
  EXPECT_EQ(name_of_choice(zero, kAllReduce, 64 * kMi), "AllReduce_RSxLDMC_AGxSTMC") << "engines do not add";
  NcclComm old = zero;
  old.settings.version = {2, 27};
  EXPECT_EQ(name_of_choice(old, kAllGather, 64 * kMi), "AllGather_STMC");
  NcclComm blackwell = one_domain(8, 100);
  const std::uint64_t most = (std::uint64_t{8} << 20) * 2 * 8;  // 8 Mi elements of 2 bytes on each of 8 ranks
  EXPECT_EQ(name_of_choice(blackwell, kAllGather, most), "AllGather_STMC");
  EXPECT_EQ(name_of_choice(blackwell, kAllGather, most + 16 * kKi), "Copy Engine");
  EXPECT_EQ(name_of_choice(one_domain(8), kAllGather, most + 16 * kKi), "AllGather_STMC") << "Hopper";
  blackwell.settings.version = {2, 28};
  EXPECT_EQ(name_of_choice(blackwell, kAllGather, most + 16 * kKi), "AllGather_STMC") << "since 2.29";
}

TEST(RegisteredBuffers, ObeyTheVariableThatNamesAKernel) {
  const NcclComm c = with(one_domain(8), "NCCL_SYM_KERNEL=AllReduce_RSxLD_AGxST");
  EXPECT_EQ(name_of_choice(c, kAllReduce, 8), "AllReduce_RSxLD_AGxST");
  EXPECT_EQ(name_of_choice(c, kAllGather, 8), "NCCL_SYM_KERNEL names a kernel that this call cannot take");
  NcclComm none = with(one_domain(8), "NCCL_SYM_NOWIN_ENABLE=1");
  none.settings.registered.registration = Registration::kNone;
  std::string_view why;
  EXPECT_FALSE(choose_kernel(none, kAllReduce, Bytes{8}, false, why));
  EXPECT_EQ(choose_kernel(none, kAllReduce, Bytes{8}, true, why)->name, "AllReduce_AGxLLMC_R")
      << "where the cost table takes LL";
}

// NCCL 2.30.7, src/sym_kernels.cc: of one CTA and no bytes the forecast is the base and softplus(-1).
TEST(RegisteredBuffers, ForecastsHaveNcclsClosedForm) {
  const double nothing = std::log1p(std::exp(-1.0));
  EXPECT_NEAR(symmetric_forecast_us(named("AllReduce_AGxLL_R"), one_domain(8), 0, 1), 4.5 + nothing, 1e-4);
  EXPECT_NEAR(symmetric_forecast_us(named("AllGather_STMC"), one_domain(8), 0, 1), 7.8 + nothing, 1e-4);
  EXPECT_NEAR(symmetric_forecast_us(named("AllGather_LL"), one_domain(8, 100), 0, 1), 8.5 + nothing, 1e-4);
  EXPECT_NEAR(symmetric_forecast_us(named("AllReduce_RSxLD_AGxST"), one_domain(8, 100), 0, 1), 19.5 + nothing, 1e-4);
  // 1 GiB at the peak of 320 GiB/s: 7/8 GiB enter each GPU.
  const double us = (std::uint64_t{1} << 30) * 7 / 8.0 / (320 * 1073.74);
  EXPECT_NEAR(symmetric_forecast_us(named("AllGather_ST"), one_domain(8), std::uint64_t{1} << 30, 64), 7.8 + us - 1,
              us * 1e-3);
}

TEST(RegisteredBuffers, ForecastsFallWithCtasAndGrowWithBytes) {
  for (const NcclSymmetricKernel& k : symmetric_kernels())
    for (const int capability : {90, 100}) {
      const NcclComm c = one_domain(8, capability);
      for (std::uint64_t bytes = 8; bytes < 1024 * kMi; bytes *= 16) {
        EXPECT_LE(symmetric_forecast_us(k, c, bytes, 1), symmetric_forecast_us(k, c, bytes * 16, 1)) << k.name;
        EXPECT_LE(symmetric_forecast_us(k, c, bytes, 8), symmetric_forecast_us(k, c, bytes, 4)) << k.name;
        const std::uint32_t n = symmetric_blocks(k, c, bytes);
        EXPECT_GE(n, 1u);
        EXPECT_LE(n, 64u);
      }
    }
}

// pytorch pull request 177111, 8 GPUs: "Kernel ReduceScatter_LDMC nchannels 2".
TEST(RegisteredBuffers, KernelsOfSwitchesNeedTwoCtasOnEightGpus) {
  EXPECT_EQ(symmetric_blocks(named("ReduceScatter_LDMC"), one_domain(8), 96 * kMi), 2u);
  EXPECT_EQ(registered_nvls_channels(one_domain(8), kAllReduce), 4u);
  EXPECT_EQ(registered_nvls_channels(one_domain(8), kReduceScatter), 5u);
  EXPECT_EQ(registered_nvls_channels(one_domain(8, 100), kAllReduce), 8u);
  EXPECT_EQ(registered_nvls_channels(one_domain(72, 100), kAllReduce), 1u);
}

// NCCL 2.30.7, src/transport/nvls.cc: 32 heads' worth of CTAs of 8 GPUs.
TEST(RegisteredBuffers, LocalRegistrationNeedsFewChannelsOfNvls) {
  const topology::Topology t = nccl_machine(TestNode{}, 1);
  NcclSettings s;
  const auto channels = [&] {
    const NcclComm c = *build_nccl_comm(t, t.gpus(), s);
    const NcclChoice choice = *choose_nccl(c, tune_nccl(c), kAllReduce, Bytes{std::uint64_t{1} << 30});
    EXPECT_EQ(choice.algorithm, NcclAlgorithm::kNvls);
    EXPECT_FALSE(choice.kernel);
    return choice.channels;
  };
  EXPECT_EQ(channels(), 16u);
  s.registered.registration = Registration::kLocal;
  EXPECT_EQ(channels(), 4u);
  EXPECT_TRUE(parse_nccl_setting("NCCL_LOCAL_REGISTER=0", s).ok());
  EXPECT_EQ(channels(), 16u);
}

}  // namespace
}  // namespace busbar::nccl
