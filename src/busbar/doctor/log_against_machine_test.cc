#include "busbar/doctor/log_against_machine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/formats/import.h"

namespace busbar {
namespace {

std::string log_text(const std::string& name) {
  ImportSource source = ImportSource::open("tests/fixtures/nccl-log/" + name).value();
  return std::string(source.whole().value());
}

LogComparison compared(const std::string& text, const std::string& cluster) {
  LineSource lines = LineSource::of_text(text, "log");
  ExpectOptions o;
  o.cluster = cluster;
  o.load = load_cluster;
  return compare_log(read_nccl_log(lines).value(), "log", o).value();
}

void replace_all_in(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) text.replace(at, from.size(), to);
}

const LogDifference* difference(const LogComparison& c, const std::string& what) {
  const auto at = std::find_if(c.differences.begin(), c.differences.end(),
                               [&](const LogDifference& d) { return d.what.starts_with(what); });
  return at == c.differences.end() ? nullptr : &*at;
}

bool agrees_on(const LogComparison& c, const std::string& what) {
  return std::find(c.agrees.begin(), c.agrees.end(), what) != c.agrees.end();
}

TEST(LogAgainstMachine, RealLogsOfSoundMachinesHaveNoDifference) {
  for (const auto& [log, cluster] : {std::pair("nebius-2x8-h100-sd.log", "dgx-h100:2"),
                                     std::pair("mlperf51-dell-2x8-b200-llama2lora.log", "dgx-b200:2"),
                                     std::pair("mlperf51-dell-1x8-b200-retinanet.log", "dgx-b200")}) {
    const LogComparison c = compared(log_text(log), cluster);
    EXPECT_EQ(c.refused, "") << log;
    EXPECT_TRUE(c.differences.empty()) << log << ": " << c.differences.front().what;
    EXPECT_GT(c.agrees.size(), 5u) << log;
  }
}

TEST(LogAgainstMachine, SocketsAreADifferenceWithAPrice) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "Using network IBext", "Using network Socket");
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "network");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->logged, "Socket");
  EXPECT_GT(d->cost_percent.value(), 100);
}

TEST(LogAgainstMachine, FewerChannelsAndNoNvlsHaveTheTimesOfTheirVariables) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "16 coll channels, 16 nvls channels", "2 coll channels, 0 nvls channels");
  const LogComparison c = compared(text, "dgx-h100:2");
  EXPECT_NE(difference(c, "channels for collectives")->cost_of.find("NCCL_MAX_NCHANNELS=2"), std::string::npos);
  const LogDifference* nvls = difference(c, "channels for NVLS");
  ASSERT_NE(nvls, nullptr);
  EXPECT_TRUE(nvls->cost_percent.has_value());
  EXPECT_NE(nvls->cost_of.find("NCCL_NVLS_ENABLE=0"), std::string::npos);
}

TEST(LogAgainstMachine, ALogOfOneNicPerNodeIsComparedWithEight) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  for (const char nic : std::string("0123567")) replace_all_in(text, std::string("NET/IBext/") + nic, "NET/IBext/4");
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "NICs in use");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->logged + " of " + d->expected, "1 of 8");
  EXPECT_GT(d->cost_percent.value(), 200);
}

TEST(LogAgainstMachine, AnotherRingIsShownBothWaysAndSaysWhyItHasNoPrice) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "Channel 00/16 :    0   7", "Channel 00/16 :    7   0");
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "rings: 1 of 16");
  ASSERT_NE(d, nullptr);
  EXPECT_TRUE(d->logged.starts_with("channel 0: 7 0 "));
  EXPECT_FALSE(d->cost_percent);
  EXPECT_NE(d->cost_of, "");
}

TEST(LogAgainstMachine, PicksAreComparedAtTheirSizes) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  text += "worker-0:19642:20035 [0] NCCL INFO AllReduce: 1073741824 Bytes -> Algo RING proto LL time 1.0\n";
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "all_reduce of 1 GiB");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->logged, "Ring with LL");
  EXPECT_GT(d->cost_percent.value(), 50);
  ASSERT_EQ(c.picks.size(), 1u);
  EXPECT_EQ(c.picks[0].bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(c.picks[0].slower_percent, *d->cost_percent);
}

TEST(LogAgainstMachine, SettingsOfTheLogAreFollowedSoTheyAreNoDifference) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "16 coll channels, 16 nvls channels", "16 coll channels, 0 nvls channels");
  text += "worker-0:19642:20035 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n";
  const LogComparison c = compared(text, "dgx-h100:2");
  EXPECT_TRUE(agrees_on(c, "0 channels for NVLS"));
  EXPECT_EQ(c.settings, std::vector<std::string>{"NCCL_NVLS_ENABLE=0"});
}

TEST(LogAgainstMachine, WithoutAReleaseTheOneWhoseRingsFitIsTaken) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "NCCL version 2.19.3", "NCCL release");
  EXPECT_NE(compared(text, "dgx-h100:2").library.find("the log names no release"), std::string::npos);
}

TEST(LogAgainstMachine, AMachineThatIsTooSmallIsRefused) {
  const LogComparison c = compared(log_text("nebius-2x8-h100-sd.log"), "dgx-h100");
  EXPECT_NE(c.refused.find("16 ranks on 2 hosts"), std::string::npos);
  EXPECT_TRUE(c.differences.empty());
}

}  // namespace
}  // namespace busbar
