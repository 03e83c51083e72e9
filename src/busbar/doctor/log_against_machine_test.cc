#include "busbar/doctor/log_against_machine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/formats/import.h"

namespace busbar::doctor {
namespace {

std::string log_text(const std::string& name) {
  formats::ImportSource source = formats::ImportSource::open("tests/fixtures/nccl-log/" + name).value();
  return std::string(source.whole().value());
}

LogComparison compared(const std::string& text, const std::string& cluster) {
  formats::LineSource lines = formats::LineSource::of_text(text, "log");
  accuracy::ExpectOptions o;
  o.cluster = cluster;
  o.load = spec::load_cluster;
  return compare_log(formats::read_nccl_log(lines).value(), "log", o).value();
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

// The links of A100 carry 2 channels as fast as 24 in the prediction. NCCL's table gives a channel 20 / 2 GB/s:
// 2^30 B x 14 / 8 / (2 x 10 GB/s) = 94 ms.
TEST(LogAgainstMachine, FewerChannelsInANodeCostAtMostWhatTheLimitOfNcclGives) {
  std::string text = "n1:1:2 [0] NCCL INFO NCCL version 2.27.3+cuda12.8\n";
  for (int rank = 0; rank < 8; ++rank) {
    const std::string head = "n1:" + std::to_string(10 + rank) + ":20 [" + std::to_string(rank) + "] NCCL INFO ";
    text += head + "2 coll channels, 0 nvls channels, 32 p2p channels, 32 p2p channels per peer\n";
    text += head + "comm 0x1 rank " + std::to_string(rank) + " nranks 8 cudaDev " + std::to_string(rank) + " nvmlDev " +
            std::to_string(rank) + " busId 1000 commId 0x1 - Init COMPLETE\n";
  }
  const LogComparison c = compared(text, "dgx-a100");
  const LogDifference* d = difference(c, "channels for collectives");
  ASSERT_NE(d, nullptr);
  EXPECT_NEAR(d->cost_percent.value(), 0, 1);
  EXPECT_NE(d->cost_of.find("if 2 channels of Ring carry 10 GB/s each, half of NCCL's perChMaxRingLL128Bws"),
            std::string::npos)
      << d->cost_of;
  EXPECT_NEAR(d->most_percent.value(), 1030, 30);
}

// The NICs of two nodes limit rings in the prediction; it knows that two channels use two of eight.
TEST(LogAgainstMachine, FewerRingsOverTheNetworkCostTheirNics) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "16 coll channels, 16 nvls channels", "2 coll channels, 0 nvls channels");
  text += "worker-0:19642:20035 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n";
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "channels for collectives");
  ASSERT_NE(d, nullptr);
  EXPECT_GT(d->cost_percent.value(), 200);
  EXPECT_GT(d->most_percent.value(), *d->cost_percent);
}

// NCCL states no limit of a channel of NVLS. Two of 16 then carry at least an eighth.
TEST(LogAgainstMachine, FewerChannelsOfNvlsCostAtMostInProportion) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "16 coll channels, 16 nvls channels", "16 coll channels, 2 nvls channels");
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "channels for NVLS");
  ASSERT_NE(d, nullptr);
  EXPECT_NEAR(d->most_percent.value(), 700, 1e-6);
  EXPECT_NE(d->cost_of.find("if 2 channels of NVLSTree carry what 2 of 16 do"), std::string::npos) << d->cost_of;
}

// The log's own variable explains its two channels; the price is that of the variable.
TEST(LogAgainstMachine, ALimitInTheLogItselfHasItsPrice) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "16 coll channels, 16 nvls channels", "2 coll channels, 0 nvls channels");
  text += "worker-0:19642:20035 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n";
  text += "worker-0:19642:20035 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 2.\n";
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "channels for collectives");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->logged + " of " + d->expected, "2 of 16 without NCCL_MAX_NCHANNELS=2");
  EXPECT_GT(d->cost_percent.value(), 200);
  EXPECT_GT(d->most_percent.value(), *d->cost_percent);
  replace_all_in(text, "NCCL_MAX_NCHANNELS set by environment to 2.", "NCCL_MAX_NCHANNELS set by environment to 32.");
  replace_all_in(text, "2 coll channels, 0 nvls channels", "16 coll channels, 0 nvls channels");
  EXPECT_TRUE(agrees_on(compared(text, "dgx-h100:2"), "16 channels for collectives"));
}

TEST(LogAgainstMachine, MoreChannelsHaveNoUpperBound) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "16 coll channels, 16 nvls channels", "32 coll channels, 32 nvls channels");
  const LogComparison c = compared(text, "dgx-h100:2");
  EXPECT_FALSE(difference(c, "channels for collectives")->most_percent);
  EXPECT_FALSE(difference(c, "channels for NVLS")->most_percent);
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

TEST(LogAgainstMachine, AnotherRingIsShownBothWaysWithItsPrice) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  replace_all_in(text, "Channel 00/16 :    0   7", "Channel 00/16 :    7   0");
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "rings: 1 of 16");
  ASSERT_NE(d, nullptr);
  EXPECT_TRUE(d->logged.starts_with("channel 0: 7 0 "));
  EXPECT_NEAR(d->cost_percent.value(), 50, 10);  // the NIC of GPU 7 receives for three channels in place of two
}

// A ring that goes back and forth between the nodes crosses the network 16 times and not twice.
TEST(LogAgainstMachine, ARingThatCrossesTheNetworkAtEveryStepCosts) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  for (int channel = 0; channel < 16; ++channel) {
    const std::string begin = "Channel " + std::string(channel < 10 ? "0" : "") + std::to_string(channel) + "/16 :";
    for (std::size_t at = 0; (at = text.find(begin, at)) != text.npos; ++at)
      text.replace(at + begin.size(), text.find('\n', at) - at - begin.size(),
                   "    0   8   1   9   2  10   3  11   4  12   5  13   6  14   7  15");
  }
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "rings: 16 of 16");
  ASSERT_NE(d, nullptr);
  EXPECT_GT(d->cost_percent.value(), 100);
  EXPECT_NE(d->cost_of.find("by rings over the nearest NICs"), std::string::npos);
}

// In channel 0 the last two GPUs of the first node change places; they reach each other through one switch.
TEST(LogAgainstMachine, TreesOfAnotherOrderHaveTheirPrice) {
  std::string text = log_text("nebius-2x8-h100-sd.log");
  EXPECT_EQ(difference(compared(text, "dgx-h100:2"), "trees"), nullptr);
  replace_all_in(text, "Trees [0] 6/-1/-1->5->4", "Trees [0] 7/-1/-1->5->4");
  replace_all_in(text, "Trees [0] -1/-1/-1->7->6", "Trees [0] 6/-1/-1->7->5");
  replace_all_in(text, "Trees [0] 7/-1/-1->6->5", "Trees [0] -1/-1/-1->6->7");
  const LogComparison c = compared(text, "dgx-h100:2");
  const LogDifference* d = difference(c, "trees");
  ASSERT_NE(d, nullptr);
  EXPECT_NEAR(d->cost_percent.value(), 0, 5);
  replace_all_in(text, "Trees [0] 7/-1/-1->5->4", "Trees [0] -1/-1/-1->5->4");  // a tree that loses two ranks
  const LogComparison broken = compared(text, "dgx-h100:2");
  EXPECT_FALSE(difference(broken, "trees")->cost_percent);
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
}  // namespace busbar::doctor
