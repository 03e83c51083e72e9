#include "busbar/questions/bench_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::questions {
namespace {

using collectives::Collective;
using ::testing::HasSubstr;

/// The file of a host of four ranks on which one rank copies 10 GB/s alone, and each 4 GB/s while others do.
std::string file_for(Collective op) {
  const runtime::RunRates rates{.points = {{1 << 20, 4e9, 4e9, 10e9, 5e9}}};
  return host_cluster_yaml(rates, {"here", 4, 4, 1 << 20, traffic_of(op)});
}

TEST(BenchHost, TheRootOfAGatherCopiesAloneAndThatOfAScatterIsReadByAllOthers) {
  EXPECT_THAT(file_for(Collective::kGather), HasSubstr("kind: host, rate: 10GB/s"));
  EXPECT_THAT(file_for(Collective::kScatter), HasSubstr("kind: host, rate: 15GB/s"));
}

TEST(BenchHost, AllRanksTogetherCopyAsFastAsEachWhileAllDo) {
  EXPECT_THAT(file_for(Collective::kAllGather), HasSubstr("kind: numa, transit_rate: 16GB/s"));
  EXPECT_THAT(file_for(Collective::kAllReduce), HasSubstr("kind: numa, transit_rate: 16GB/s"));
}

}  // namespace
}  // namespace busbar::questions
