#include "busbar/topology/cabling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/topology/test_parts.h"

namespace busbar::topology {
namespace {

Topology cluster(std::uint32_t nodes, LinkKind kind) {
  FabricSpec s = test_fabric(FabricKind::kLeafSpine, 8);
  s.nic_link = test_link(kind, 25);
  for (TierSpec& tier : s.levels) tier.up = s.nic_link;
  return std::move(test_cluster(s, test_nics(1), nodes)->builder).seal();
}

CablingRules rules_with_parts() {
  CablingRules r;
  const BytesPerSecond rate{50'000'000'000};
  r.parts = {{"dac", Medium::kCopper, 3, 0.5, rate},
             {"sr", Medium::kMultiMode, 50, 8, rate},
             {"dr", Medium::kSingleMode, 500, 10, rate}};
  return r;
}

const CablePart& upper(const CablingRules& r, const Cable& c) { return r.parts[c.part[1]]; }

TEST(Cabling, GoesUpAlongAcrossAndDown) {
  const Topology t = cluster(32, LinkKind::kInfiniband);
  CablingRules r = rules_with_parts();
  r.nodes_per_rack = 4;  // one leaf per rack
  r.racks_per_row = 4;
  const auto cables = lay_cables(t, r);
  ASSERT_EQ(cables.size(), 64u);
  for (const Cable& c : cables) {
    if (t.kind(t.from(c.link)) == DeviceKind::kNic) {
      EXPECT_DOUBLE_EQ(c.length_m, r.in_rack_m);
      EXPECT_EQ(upper(r, c).name, "dac");
    }
  }
  // Spines stand in the middle of racks 0 to 7: in rack 4, the first of the second row. leaf1 is in rack 1.
  const auto between = [&](const char* a, const char* b) {
    return std::find_if(cables.begin(), cables.end(),
                        [&](const Cable& c) { return t.name(t.from(c.link)) == a && t.name(t.to(c.link)) == b; });
  };
  const auto c = between("leaf1", "spine0");
  ASSERT_NE(c, cables.end());
  EXPECT_DOUBLE_EQ(c->length_m, 2 * 2.0 + 1 * 0.6 + 1 * 3.0);
  EXPECT_EQ(upper(r, *c).name, "sr");
}

TEST(Cabling, LengthsOfTheHallBecomeLatencies) {
  FabricSpec s = test_fabric(FabricKind::kLeafSpine, 8);
  s.nic_link.latency_parts.nic = s.nic_link.latency = Duration::ns(300);
  s.levels[0].up.latency = Duration::us(1);  // a single figure: must not change
  TestCluster c = std::move(*test_cluster(s, test_nics(1), 32));
  CablingRules r = rules_with_parts();
  r.nodes_per_rack = 1;
  take_lengths(c.builder, r, Duration::ns(5));
  const Topology t = std::move(c.builder).seal();
  std::size_t nics = 0;
  for (const Cable& cable : lay_cables(t, r)) {
    const LinkClass& up = t.link_class(cable.link);
    EXPECT_EQ(up, t.link_class(reverse(cable.link)));
    if (up.latency_parts.nic == Duration()) {
      EXPECT_EQ(up.latency, Duration::us(1));
      continue;
    }
    ++nics;
    EXPECT_EQ(up.latency_parts.cable, Duration::ps(std::llround(cable.length_m * 5000)));
    EXPECT_EQ(up.latency, Duration::ns(300) + up.latency_parts.cable);
  }
  EXPECT_EQ(nics, 32u);
}

TEST(Cabling, NodesOfSeveralRacksStandApart) {
  const Topology t = cluster(8, LinkKind::kInfiniband);
  CablingRules r = rules_with_parts();
  r.racks_per_node = 8;
  const auto cables = lay_cables(t, r);
  double longest = 0;
  for (const Cable& c : cables) longest = std::max(longest, c.length_m);
  EXPECT_GT(longest, 2 * r.riser_m + 8 * r.rack_m);
}

TEST(Cabling, CountsTransceiversAndPowerByRate) {
  const Topology t = cluster(32, LinkKind::kInfiniband);
  CablingRules r = rules_with_parts();
  r.racks_per_row = 4;
  const auto cables = lay_cables(t, r);
  const CablingSums s = sum_of(t, cables, r);
  EXPECT_EQ(s.cables, cables.size());
  EXPECT_EQ(s.parts[0].cables + s.parts[1].cables + s.parts[2].cables, s.cables);
  EXPECT_EQ(s.parts[1].modules, s.parts[1].ends / 2);  // half the rate: two ends in a module
  EXPECT_EQ(s.transceivers, s.parts[1].modules + s.parts[2].modules);
  EXPECT_DOUBLE_EQ(s.parts[1].power_w, s.parts[1].ends * 4.0);  // half the rate, half of 8 W
  EXPECT_DOUBLE_EQ(s.power_w, s.parts[0].power_w + s.parts[1].power_w + s.parts[2].power_w);
  r.parts[1].reach_m = 5;
  EXPECT_GT(sum_of(t, lay_cables(t, r), r).parts[2].cables, 0u);
  r.parts[2].reach_m = 5;
  EXPECT_GT(sum_of(t, lay_cables(t, r), r).too_long, 0u);
}

TEST(Cabling, CoPackagedOpticsSitInSwitches) {
  const Topology t = cluster(32, LinkKind::kInfiniband);
  CablingRules r = rules_with_parts();
  r.parts = {{"cpo", Medium::kCoPackaged, 500, 2, BytesPerSecond{50'000'000'000}}, r.parts[2]};
  const auto cables = lay_cables(t, r);
  for (const Cable& c : cables) {
    EXPECT_EQ(upper(r, c).name, "cpo");
    EXPECT_EQ(r.parts[c.part[0]].name, t.kind(t.from(c.link)) == DeviceKind::kNic ? "dr" : "cpo");
  }
  const CablingSums s = sum_of(t, cables, r);
  EXPECT_EQ(s.transceivers, 16u);  // 32 ends of 200 Gb/s, two in a module
  EXPECT_THAT(cabling_csv(t, cables, r), testing::HasSubstr("node0.nic0,leaf0,1.5,co-packaged,dr+cpo,200\n"));
}

TEST(Cabling, ListsEveryCableOnALine) {
  const Topology t = cluster(8, LinkKind::kInfiniband);
  const CablingRules r = rules_with_parts();
  const auto cables = lay_cables(t, r);
  const std::string csv = cabling_csv(t, cables, r);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), cables.size() + 1);
  EXPECT_THAT(csv,
              testing::StartsWith("from,to,length_m,medium,part,rate_Gbps\nnode0.nic0,leaf0,1.5,copper,dac,200\n"));
  EXPECT_TRUE(lay_cables(cluster(8, LinkKind::kIdeal), r).empty());
}

}  // namespace
}  // namespace busbar::topology
