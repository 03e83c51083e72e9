#include "busbar/survive/failure_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::survive {
namespace {

PartCounts counts(std::uint64_t gpus, std::uint64_t cables, std::uint64_t switches) {
  return {gpus, gpus, cables, switches, gpus / 8};
}

TEST(FailureRates, GiveTheInterruptionsOfLlama3) {  // 419 in 54 days, on three tiers of links of which the upper is 1:7
  const FailureRates rates = read_failure_rates("llama3", spec::Catalog()).value();
  const Interruptions i = interruptions_of(rates, counts(16384, 35109, 1200));
  EXPECT_NEAR(i.per_day * 54, 419, 4);
  EXPECT_NEAR(24 / i.per_day, 3.09, 0.03);  // hours between two
  double fabric = 0, gpus = 0;
  for (const Interruptions::Line& line : i.lines) {
    if (line.cause.part == FailingPart::kCable || line.cause.part == FailingPart::kSwitch) fabric += line.per_day;
    if (line.cause.part == FailingPart::kGpu && line.cause.hardware) gpus += line.per_day;
  }
  EXPECT_NEAR(fabric / i.per_day, 0.084,
              0.004);  // switches and cables, as the table; the popular 10.7 % is in no source
  EXPECT_NEAR(i.network_per_day / i.per_day, 0.10, 0.004);  // with NICs
  EXPECT_NEAR(gpus / i.per_day, 268 / 419.0, 0.01);
}

TEST(FailureRates, AnotherFleetFailsTwiceAsOften) {  // arXiv:2410.21680 projects 1.8 h for 16,384 GPUs
  const FailureRates rates = read_failure_rates("rsc-1", spec::Catalog()).value();
  EXPECT_NEAR(24 / interruptions_of(rates, counts(16384, 0, 0)).per_day, 1.80, 0.02);
}

TEST(FailureRates, EveryEntryOfTheCatalogueReads) {
  for (const std::string& name : spec::Catalog().names("failures")) {
    const auto rates = read_failure_rates(name, spec::Catalog());
    ASSERT_TRUE(rates.ok()) << rates.error().text();
    EXPECT_EQ(rates->name, name);
    for (const FailureCause& c : rates->causes) EXPECT_FALSE(c.source.empty()) << c.name;
    EXPECT_FALSE(rates->range_source.empty());
  }
}

TEST(FailureRates, PartsAreCountedOnce) {
  const spec::Cluster c = spec::load_cluster("dgx-h100:64").value();
  const PartCounts n = count_parts(c);
  EXPECT_THAT(
      n, testing::ElementsAre(512, 512, 1024, 24, 64));  // GPUs, NICs, cables of two tiers, 3N/64 switches, servers
  EXPECT_EQ(count_parts(spec::load_cluster("gb200-nvl72:1").value())[4], 18u);  // servers of two CPUs
}

}  // namespace
}  // namespace busbar::survive
