#include "busbar/step/registered_kernels.h"

#include <gtest/gtest.h>

#include "busbar/spec/cluster.h"

namespace busbar::step {
namespace {

program::Program with_call(program::OpClass cls, program::Protocol protocol, const char* algorithm) {
  program::Program p;
  program::CollectiveCall call;
  call.op = collectives::Collective::kAllGather;
  call.algorithm = algorithm;
  call.protocol = protocol;
  call.groups = collectives::one_group(8);
  p.calls = {call};
  program::Op op;
  op.kind = program::OpKind::kCollective;
  op.cls = cls;
  op.call = program::CallId{0};
  p.ops = {op};
  return p;
}

TEST(RegisteredKernels, TakeNoCoresAsCopiesAndFewBlocksBySwitches) {
  const spec::Cluster c = spec::load_cluster("dgx-h100").value();
  const workload::Contention usual{.tp = 0.15, .dp = 0.12};
  const auto dp = [&](program::Protocol protocol, const char* algorithm) {
    const program::Program p = with_call(program::OpClass::kDp, protocol, algorithm);
    const workload::Contention now = with_registered_kernels(usual, p, c.topology, 132);
    EXPECT_EQ(now.tp, 0.15) << "it has no calls";
    return now.dp;
  };
  EXPECT_EQ(dp(program::Protocol::kSimple, "ring"), 0.12);
  EXPECT_EQ(dp(program::Protocol::kCopy, "direct"), 0);
  EXPECT_DOUBLE_EQ(dp(program::Protocol::kSymmetric, "nvls"), 2.0 / 132);
  EXPECT_EQ(dp(program::Protocol::kSymmetric, "direct"), 0.12) << "its blocks depend on the size";
}

}  // namespace
}  // namespace busbar::step
