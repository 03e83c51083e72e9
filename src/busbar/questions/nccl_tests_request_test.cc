#include "busbar/questions/nccl_tests_request.h"

#include <gtest/gtest.h>

namespace busbar::questions {
namespace {

TEST(NcclTestsRequest, ThreadsTimesGpusAreTheRanks) {
  const auto ranks = [](std::uint32_t t, std::uint32_t g) {
    NcclTestsRequest f;
    f.threads = t;
    f.gpus = g;
    return f.ranks();
  };
  EXPECT_EQ(ranks(0, 0), 0u);
  EXPECT_EQ(ranks(0, 8), 8u);
  EXPECT_EQ(ranks(4, 0), 4u);
  EXPECT_EQ(ranks(2, 8), 16u);
  EXPECT_EQ(ranks(1u << 31, 1u << 31), 0xffffffffu);
}

TEST(NcclTestsRequest, SwitchesReduceOnlyWithNcclsRules) {
  const auto may = [](const char* type, const char* reduction,
                      collectives::Collective op = collectives::Collective::kAllReduce) {
    NcclTestsRequest f;
    f.datatype = type;
    f.reduction = reduction;
    return f.switches_may_reduce(op);
  };
  EXPECT_TRUE(may("float", "sum"));
  EXPECT_FALSE(may("float", "max"));
  EXPECT_TRUE(may("bfloat16", "max"));
  EXPECT_FALSE(may("half", "prod"));
  EXPECT_FALSE(may("half", "avg"));
  EXPECT_FALSE(may("int8", "sum"));
  EXPECT_FALSE(may("f8e4m3", "sum"));
  EXPECT_TRUE(may("int8", "prod", collectives::Collective::kAllGather));
}

}  // namespace
}  // namespace busbar::questions
