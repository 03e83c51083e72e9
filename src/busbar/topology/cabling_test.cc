#include "busbar/topology/cabling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/topology/fabric.h"

namespace busbar {
namespace {

Topology cluster(std::uint32_t nodes, LinkKind kind) {
  FabricSpec s;
  s.kind = FabricKind::kLeafSpine;
  s.leaf = s.spine = s.core = {"a switch", 8};
  s.nic_link.wire_rate = s.leaf_link.wire_rate = s.core_link.wire_rate = BytesPerSecond{25'000'000'000};
  s.nic_link.kind = s.leaf_link.kind = s.core_link.kind = kind;
  NodeTemplate node;
  TemplateDevice nic;
  nic.name = "nic0";
  nic.device_class.kind = DeviceKind::kNic;
  node.devices.push_back(nic);
  TopologyBuilder b;
  const auto index = b.add_template(node);
  Csr<DeviceId> nics;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    nics.values.push_back(b.device(b.add_block(index), 0));
    nics.close_row();
  }
  EXPECT_TRUE(build_fabric(s, nics, b).ok());
  return std::move(b).seal();
}

TEST(Cabling, GoesUpAlongAcrossAndDown) {
  const Topology t = cluster(32, LinkKind::kInfiniband);
  CablingRules r;
  r.nodes_per_rack = 4;  // one leaf per rack
  r.racks_per_row = 4;
  const auto cables = lay_cables(t, r);
  ASSERT_EQ(cables.size(), 64u);
  for (const Cable& c : cables) {
    if (t.kind(t.from(c.link)) == DeviceKind::kNic) {
      EXPECT_DOUBLE_EQ(c.length_m, r.in_rack_m);
      EXPECT_EQ(c.medium, Medium::kCopper);
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
  EXPECT_EQ(c->medium, Medium::kMultiMode);
}

TEST(Cabling, CountsOpticsAndTheirPowerByRate) {
  const Topology t = cluster(32, LinkKind::kInfiniband);
  CablingRules r;
  r.racks_per_row = 4;
  const auto cables = lay_cables(t, r);
  const CablingSums s = sum_of(t, cables, r);
  EXPECT_EQ(s.copper + s.multi_mode + s.single_mode, cables.size());
  EXPECT_EQ(s.optics, 2 * (s.multi_mode + s.single_mode));
  EXPECT_DOUBLE_EQ(s.optic_power_w, s.optics * 4.0);  // half the rate, half of 8 W
  r.multi_mode_m = 5;
  EXPECT_GT(sum_of(t, lay_cables(t, r), r).single_mode, 0u);
}

TEST(Cabling, ListsEveryCableOnALine) {
  const Topology t = cluster(8, LinkKind::kInfiniband);
  const auto cables = lay_cables(t, {});
  const std::string csv = cabling_csv(t, cables);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), cables.size() + 1);
  EXPECT_THAT(csv, testing::StartsWith("from,to,length_m,medium,rate_Gbps\nnode0.nic0,leaf0,1.5,copper,200\n"));
  EXPECT_TRUE(lay_cables(cluster(8, LinkKind::kIdeal), {}).empty());
}

}  // namespace
}  // namespace busbar
