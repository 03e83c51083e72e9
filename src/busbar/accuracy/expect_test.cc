#include "busbar/accuracy/expect.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/accuracy/results_meaning.h"
#include "busbar/predict/predictor.h"
#include "busbar/spec/protocol_file.h"

namespace busbar::accuracy {
namespace {

using ::testing::HasSubstr;

double all_reduce_us(predict::Predictor& machine, std::uint64_t size) {
  const program::CollectiveCall call =
      predict::call_over(collectives::Collective::kAllReduce, Bytes{size}, machine.ranks());
  return machine.time(call, predict::kTimeAlone).value().time.in_us();
}

/// The model's own times for a machine, scaled and shifted.
MeasuredResults modelled(const std::string& cluster, double factor, double shift_us) {
  auto machine = predict::Predictor::make(spec::load_cluster(cluster).value(), {}).value();
  MeasuredResults out;
  for (std::uint64_t size = 8; size <= (std::uint64_t{8} << 30); size *= 4)
    out.rows.push_back({size, all_reduce_us(*machine, size) * factor + shift_us});
  return out;
}

ExpectOptions on(const std::string& cluster) {
  ExpectOptions o;
  o.cluster = cluster;
  return o;
}

TEST(ResultsFile, NcclTestsTablesGiveTheMedianOfBothPlaces) {
  const auto r = parse_results(
      "# nThread 1 nGpus 8\n# Collective test starting: all_reduce_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
      "#wrong\n"
      "        1024           256     float     sum      -1    10.00    0.10    0.18      0    14.00    0.07    0.13   "
      "   0\n"
      "        2048           512     float     sum      -1    20.00    0.10    0.18      0    20.00    0.07    0.13   "
      "   0\n"
      "# Avg bus bandwidth    : 1\n",
      "r.txt");
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(r->collective, "all_reduce");
  ASSERT_EQ(r->rows.size(), 2u);
  EXPECT_EQ(r->rows[0].size_bytes, 1024u);
  EXPECT_EQ(r->rows[0].us, 12);
}

TEST(ResultsFile, TakesTimesWithoutAUnitAsMicrosecondsOnlyIfTheBandwidthsAgree) {
  const auto us = parse_results("size,time,busbw\n1073741824,4300,468\n", "r.csv");
  ASSERT_TRUE(us.ok()) << us.error().text();
  EXPECT_EQ(us->rows[0].us, 4300);
  ASSERT_EQ(us->assumed.size(), 1u);
  EXPECT_THAT(us->assumed[0], HasSubstr("bytes and microseconds"));
  const auto ms = parse_results("size,time,busbw\n1073741824,4.3,468\n", "r.csv");
  ASSERT_FALSE(ms.ok());
  EXPECT_THAT(ms.error().text(), HasSubstr("it is milliseconds"));
  const auto named = parse_results("numCycle,name,size,time,busBw\n0,AllReduce_perf,1073741824,4300,468\n", "r.csv");
  ASSERT_TRUE(named.ok()) << named.error().text();
  EXPECT_TRUE(named->assumed.empty());
}

TEST(ResultsFile, GivesTheLibraryAndTheUnreadLines) {
  const auto r = parse_results(
      "# nccl-tests version 2.17.6 nccl-headers=22707 nccl-library=22707\n# Collective test starting: all_reduce_perf\n"
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "        1024           256     float     sum      -1    10.00    0.10    0.18      0\n"
      "        2048           512     float     sum      -1    20.00\n",
      "r.txt");
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(r->library, "22707");
  ASSERT_EQ(r->unread.size(), 1u);
  EXPECT_THAT(r->unread[0], HasSubstr("line 5: cut off"));
  const char* const zero =
      "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
      "        1024           256     float     sum      -1     0.00    0.10    0.18      0\n";
  EXPECT_THAT(parse_results(zero, "r.txt").error().text(), HasSubstr("r.txt:2"));
}

TEST(ResultsFile, ACsvNeedsSizesAndTimes) {
  const auto r =
      parse_results("size_bytes,time_us,collective\n8,10,all_gather\n8,12,all_gather\n16,9,all_gather\n", "r.csv");
  ASSERT_TRUE(r.ok()) << r.error().text();
  EXPECT_EQ(r->collective, "all_gather");
  EXPECT_EQ(r->rows[0].us, 11);
  EXPECT_THAT(parse_results("size_bytes,us\n8,10\n", "r.csv").error().text(), HasSubstr("time_us"));
  EXPECT_THAT(parse_results("size_bytes,time_us\n8,0\n", "r.csv").error().text(), HasSubstr("r.csv:2"));
  EXPECT_THAT(parse_results("size_bytes,time_us,collective\n8,1,a\n8,1,b\n", "r.csv").error().text(),
              HasSubstr("one collective at a time"));
  EXPECT_THAT(parse_results("hello\n", "r.txt").error().text(), HasSubstr("there are no results"));
}

TEST(TableVerdict, AGoodTableOfSmallSizesSaysThatItTellsNoBandwidth) {
  const ExpectedRow small{1 << 20, 80, 75, 60, 120, 2.6, Verdict::kGood, "", ""};
  EXPECT_THAT(judge_table(std::vector{small}).why, HasSubstr("sizes up to 1 MiB tell latencies"));
  const ExpectedRow large{std::uint64_t{8} << 30, 33e3, 32e3, 28e3, 40e3, 21e3, Verdict::kGood, "", ""};
  EXPECT_EQ(judge_table(std::vector{small, large}).why, "");
  ExpectedRow slow = small;
  slow.measured_us = 800;
  EXPECT_THAT(judge_table(std::vector{slow}).why, HasSubstr("times the expected time"));
}

TEST(Expect, ModelledTimesAreGood) {
  const auto e = expect_results(modelled("dgx-a100", 1, 0), on("dgx-a100"));
  ASSERT_TRUE(e.ok()) << e.error().text();
  EXPECT_EQ(e->table.verdict, Verdict::kGood);
  for (const ExpectedRow& row : e->rows) {
    EXPECT_EQ(row.verdict, Verdict::kGood) << row.size_bytes;
    EXPECT_LE(row.low_us, row.expected_us);
    EXPECT_GE(row.high_us, row.expected_us);
  }
}

TEST(Expect, ResultsOfAnotherNumberOfRanksAreRefused) {
  MeasuredResults results = modelled("dgx-a100", 1, 0);
  results.ranks = 16;
  EXPECT_THAT(expect_results(results, on("dgx-a100")).error().text(), HasSubstr("of 16 ranks, the machine has 8"));
  results.ranks = 8;
  EXPECT_TRUE(expect_results(results, on("dgx-a100")).ok());
}

TEST(Expect, OneOddSizeOfManyCondemnsNoMachineUnlessPhysicsForbidsIt) {
  auto machine = predict::Predictor::make(spec::load_cluster("dgx-a100").value(), {}).value();
  MeasuredResults results;
  for (std::uint64_t size = 64; size <= std::uint64_t{1} << 30; size *= 4)
    results.rows.push_back({size, all_reduce_us(*machine, size)});
  results.rows[2].us *= 20;
  const auto odd = expect_results(results, on("dgx-a100"));
  ASSERT_TRUE(odd.ok()) << odd.error().text();
  EXPECT_EQ(odd->table.outside, 1u);
  EXPECT_EQ(odd->table.verdict, Verdict::kGood);
  results.rows[5].us *= 20;
  EXPECT_EQ(expect_results(results, on("dgx-a100"))->table.verdict, Verdict::kLow);
  results.rows[5].us /= 20;
  results.rows[2].us = 1e-3;  // faster than light
  EXPECT_EQ(expect_results(results, on("dgx-a100"))->table.verdict, Verdict::kSuspicious);
}

TEST(Expect, ThePlateauDecidesAndNotTheLastRow) {
  MeasuredResults results = modelled("dgx-a100", 1, 0);
  results.rows.back().us *= 3;
  EXPECT_EQ(expect_results(results, on("dgx-a100"))->table.verdict, Verdict::kGood);
  results.rows[results.rows.size() - 2].us *= 3;
  const auto slow = expect_results(results, on("dgx-a100"));
  EXPECT_EQ(slow->table.verdict, Verdict::kLow);
  EXPECT_NEAR(slow->table.plateau_percent, 200, 1);
  EXPECT_GT(slow->table.threshold_percent, 100 * (slow->rows.back().high_us / slow->rows.back().expected_us - 1));
  EXPECT_THAT(slow->table.why, HasSubstr("8 GiB take 3 times"));
}

TEST(Expect, FasterThanTheBandIsGoodAsLongAsPhysicsAllowsIt) {
  MeasuredResults results = modelled("rtx4090-pcie", 1, 0);
  const auto sound = expect_results(results, on("rtx4090-pcie"));
  for (std::size_t i = 0; i < results.rows.size(); ++i)
    results.rows[i].us = sound->rows[i].floor_us + 0.5 * std::max(0.0, sound->rows[i].low_us - sound->rows[i].floor_us);
  const auto fast = expect_results(results, on("rtx4090-pcie"));
  EXPECT_EQ(fast->table.verdict, Verdict::kGood);
  EXPECT_EQ(fast->rows.front().verdict, Verdict::kFast);
}

// On an NVSwitch with reductions large calls come near the floor, and their band would reach below it.
TEST(Expect, NoRowIsExpectedBelowItsFloor) {
  for (const char* const cluster : {"dgx-h100", "dgx-h200", "dgx-a100", "gb200-nvl72", "mi300x-8", "rtx4090-pcie"}) {
    const auto e = expect_results(modelled(cluster, 1, 0), on(cluster));
    for (const ExpectedRow& row : e->rows) EXPECT_GE(row.low_us, row.floor_us) << cluster << ' ' << row.size_bytes;
  }
}

TEST(Results, BandwidthsNameTheOperation) {
  const auto table = [](const char* row, std::uint32_t ranks) {
    std::string text = fmt::format("# nThread 1 nGpus {}\n", ranks);
    for (std::uint32_t r = 0; r < ranks; ++r)
      text += fmt::format("#  Rank  {} Pid 1 on h device  {} [0x01] NVIDIA H100 80GB HBM3\n", r, r);
    text += "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
    return parse_results(text + row, "r.txt").value();
  };
  EXPECT_EQ(collective_of(table("  1073741824  268435456  float  sum  -1  4000  268.4  469.8  0\n", 8), 0).value(),
            collectives::Collective::kAllReduce);
  EXPECT_EQ(collective_of(table("  1073741824  268435456  float  sum  -1  4000  268.4  234.9  0\n", 8), 0).value(),
            collectives::Collective::kReduceScatter);
  EXPECT_EQ(collective_of(table("  1073741824  268435456  float  none  0  4000  268.4  268.4  0\n", 8), 0).value(),
            collectives::Collective::kBroadcast);
  const auto open = collective_of(table("  1073741824  268435456  float  none  -1  4000  268.4  234.9  0\n", 8), 0);
  EXPECT_THAT(open.error().text(), HasSubstr("all_gather, all_to_all"));
  EXPECT_FALSE(collective_of(parse_results("size_bytes,time_us\n8,10\n", "r.csv").value(), 8).ok());
}

TEST(Results, ProposeTheMachine) {
  MeasuredResults r;
  r.product = "NVIDIA H100 80GB HBM3";
  r.ranks = 32, r.hosts = 4;
  EXPECT_EQ(proposed_cluster(r), "dgx-h100:4");
  r.hosts = 1, r.ranks = 4;
  EXPECT_EQ(proposed_cluster(r), "hgx-h100-4");
  r.hosts = 1, r.ranks = 8, r.product = "NVIDIA A100-SXM4-40GB";
  EXPECT_EQ(proposed_cluster(r), "dgx-a100-40");
  r.product = "Quadro";
  EXPECT_EQ(proposed_cluster(r), "");
}

TEST(Expect, TenTimesSlowerIsLowAndTenTimesFasterIsSuspicious) {
  EXPECT_EQ(expect_results(modelled("dgx-a100", 10, 0), on("dgx-a100"))->table.verdict, Verdict::kLow);
  EXPECT_EQ(expect_results(modelled("dgx-a100", 0.1, 0), on("dgx-a100"))->table.verdict, Verdict::kSuspicious);
}

TEST(Expect, SizesThatTwoFilesShareAreCompared) {
  const MeasuredResults now{"", {{8, 11}, {16, 20}}}, before{"", {{16, 10}}};
  const auto rows = compare_results(now, before);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].change_percent(), 100);
  EXPECT_FALSE(compare_results(now, {"", {{32, 1}}}).ok());
}

}  // namespace
}  // namespace busbar::accuracy
