#include "busbar/questions/bench_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/questions/bench_programs.h"

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

/// Predicted us of 1 MiB, where the reference took 800 us.
double predicted_us(Collective op, const char* algorithm, std::vector<runtime::TimedCall> reference) {
  BenchCall call;
  call.op = op;
  call.ranks = 4;
  call.reference = runtime::reference_for(op, 0, false);
  const runtime::RunRates rates{
      .hop_s = 1e-6, .points = {{1 << 20, 4e9, 4e9, 10e9, 5e9}}, .reference = std::move(reference)};
  const auto machine = bench_machine(call, rates, Bytes{1 << 20}).value();
  program::CollectiveCall asked = predict::call_over(op, Bytes{1 << 20}, 4);
  asked.algorithm = algorithm;
  return machine->time(asked, predict::kTimeAlone)->time.in_us();
}

TEST(BenchHost, TheAlgorithmThatWasTimedIsPredictedAsItWasAndOthersInProportion) {
  const double ring = predicted_us(Collective::kAllReduce, "ring", {}),
               tree = predicted_us(Collective::kAllReduce, "tree", {});
  EXPECT_NE(ring, tree);
  EXPECT_NEAR(predicted_us(Collective::kAllReduce, "ring", {{1 << 20, 800e-6}}), 800, 4);  // rates have 4 digits
  EXPECT_NEAR(predicted_us(Collective::kAllReduce, "tree", {{1 << 20, 800e-6}}), 800 * tree / ring, 4);
  EXPECT_NEAR(predicted_us(Collective::kScatter, "direct", {{1 << 20, 800e-6}}), 800, 4);
}

}  // namespace
}  // namespace busbar::questions
