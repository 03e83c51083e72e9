#include "busbar/accuracy/localize.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::accuracy {
namespace {

/// Rails and pairs of nodes of four servers of eight GPUs, where rail 5 and the pairs of node 2 take twice the time.
std::vector<SubsetTime> rails_and_pairs() {
  std::vector<SubsetTime> times;
  for (std::uint32_t r = 0; r < 8; ++r)
    times.push_back({fmt::format("rail {}", r), "rail", {r, 8 + r, 16 + r, 24 + r}, r == 5 ? 2.0 : 1.0});
  for (std::uint32_t a = 0; a < 4; ++a)
    for (std::uint32_t b = a + 1; b < 4; ++b) {
      SubsetTime m{fmt::format("nodes {} and {}", a, b), "pair", {}, a == 2 || b == 2 ? 2.0 : 1.0};
      for (std::uint32_t g = 0; g < 16; ++g) m.gpus.push_back(g % 8 + 8 * (g < 8 ? a : b));
      times.push_back(std::move(m));
    }
  return times;
}

Localization located(std::vector<SubsetTime> times) {
  return localize(std::move(times), spec::load_cluster("dgx-h100:4").value()).value();
}

TEST(Localize, ARailAndThePairsOfANodeNameItsNic) {
  const Localization l = located(rails_and_pairs());
  ASSERT_TRUE(l.named);
  EXPECT_EQ(l.found.front().wrong, 0u);
  EXPECT_THAT(l.found.front().parts, ::testing::Contains("node2.nic5-leaf5"));
  for (const std::string& part : l.found.front().parts) EXPECT_THAT(part, ::testing::StartsWith("node2."));
}

TEST(Localize, NothingStandsOutOnASoundMachine) {
  std::vector<SubsetTime> times = rails_and_pairs();
  for (SubsetTime& m : times) m.us_per_byte = m.name == "rail 3" ? 1.1 : 1.0;
  const Localization l = located(std::move(times));
  EXPECT_TRUE(l.found.empty());
  EXPECT_FALSE(l.named);
}

TEST(Localize, ASlowNodeAloneIsNamedAsAWhole) {
  std::vector<SubsetTime> times;
  for (std::uint32_t n = 0; n < 4; ++n) {
    SubsetTime m{fmt::format("node {}", n), "node", {}, n == 3 ? 1.4 : 1.0};
    for (std::uint32_t g = 0; g < 8; ++g) m.gpus.push_back(8 * n + g);
    times.push_back(std::move(m));
  }
  const Localization l = localize(std::move(times), spec::load_cluster("dgx-a100:4").value()).value();
  ASSERT_TRUE(l.named);
  EXPECT_EQ(l.found.front().parts.front(), "node3");
}

TEST(Localize, OneMisleadingMeasurementDoesNotHideThePart) {
  std::vector<SubsetTime> times = rails_and_pairs();
  for (SubsetTime& m : times)
    if (m.name == "nodes 0 and 3") m.us_per_byte *= 1.5;
  const Localization l = located(std::move(times));
  ASSERT_FALSE(l.found.empty());
  EXPECT_EQ(l.found.front().wrong, 1u);
  EXPECT_EQ(l.found.front().parts.front(), "node2.nic5");
}

}  // namespace
}  // namespace busbar::accuracy
