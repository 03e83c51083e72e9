#include "busbar/spec/internal/fabric_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar::spec {
namespace {

using testing::HasSubstr;

Result<FabricFile> read_text(const std::string& text) {
  const Catalog catalog;
  Reading reading(catalog);
  BUSBAR_ASSIGN(const YamlDocument doc, YamlDocument::parse(text, "f.yaml"));
  return read_fabric(doc.root(), reading);
}

std::string why_no_fabric(const std::string& text) {
  const auto r = read_text(text);
  return r.ok() ? "no error" : r.error().text();
}

const std::string kLink = "link: {kind: infiniband, rate: 400Gb/s}\n";

TEST(FabricFile, StatesWidthsOfEachTier) {
  const topology::FabricSpec s =
      read_text("kind: fat-tree\ntiers: 3\noversubscription: [2, 1.5]\nparallel: [2, 4]\n" + kLink).value().spec;
  EXPECT_EQ(s.kind, topology::FabricKind::kFatTree);
  EXPECT_EQ(s.tiers, 3u);
  EXPECT_EQ(s.tier(0).oversubscription, 2);
  EXPECT_EQ(s.tier(1).oversubscription, 1.5);
  EXPECT_EQ(s.tier(0).parallel, 2u);
  EXPECT_EQ(s.tier(1).parallel, 4u);
  const topology::FabricSpec one = read_text("kind: leaf-spine\noversubscription: 3\n" + kLink).value().spec;
  EXPECT_EQ(one.tier(0).oversubscription, 3);
  EXPECT_EQ(one.tier(1).oversubscription, 1);
}

TEST(FabricFile, StatesUplinksAndPortsOfOtherRates) {
  const topology::FabricSpec s =
      read_text(
          "kind: fat-tree\ntiers: 5\noversubscription: [1, 2, 3, 4]\nparallel: [1, 1, 1, 2]\n"
          "uplink: [{rate: 800Gb/s, part: osfp}, {rate: 1600Gb/s}]\n"
          "switch: {ports: 64, port_rate: 1600Gb/s, splits: 4}\n" +
          kLink)
          .value()
          .spec;
  EXPECT_EQ(s.tiers, 5u);
  EXPECT_EQ(s.tier(3).oversubscription, 4);
  EXPECT_EQ(s.tier(3).parallel, 2u);
  EXPECT_EQ(per_second(s.nic_link.wire_rate), 50'000'000'000u);
  EXPECT_EQ(per_second(s.tier(0).up.wire_rate), 100'000'000'000u);
  EXPECT_EQ(s.tier(0).up.part, "osfp");
  EXPECT_EQ(s.tier(0).up.kind, topology::LinkKind::kInfiniband);  // values not given are as for NICs
  for (std::size_t k = 1; k < 5; ++k) {
    EXPECT_EQ(per_second(s.tier(k).up.wire_rate), 200'000'000'000u);
    EXPECT_EQ(per_second(s.tier(k).switches.port_rate), 200'000'000'000u);
  }
  EXPECT_THAT(why_no_fabric("kind: leaf-spine\nuplink: []\n" + kLink),
              HasSubstr("f.yaml:2:9: uplink: one map per tier"));
  EXPECT_THAT(why_no_fabric("kind: leaf-spine\nuplink: [{rate: 800}]\n" + kLink),
              HasSubstr("f.yaml:2:17: uplink[0].rate"));
}

TEST(FabricFile, StatesPlanesDragonfliesAndTori) {
  const topology::FabricSpec p = read_text("kind: leaf-spine\nplanes: 4\nplane_order: by-nic\n" + kLink).value().spec;
  EXPECT_EQ(p.planes, 4u);
  EXPECT_EQ(p.plane_order, topology::PlaneOrder::kByNic);
  const topology::FabricSpec d =
      read_text(
          "kind: dragonfly\ndragonfly: {groups: 9, switches_per_group: 4, nics_per_switch: 2, "
          "globals_per_switch: 2}\n" +
          kLink)
          .value()
          .spec;
  EXPECT_EQ(d.dragonfly.groups, 9u);
  EXPECT_EQ(d.dragonfly.routers, 4u);
  EXPECT_EQ(d.dragonfly.nics, 2u);
  EXPECT_EQ(d.dragonfly.globals, 2u);
  EXPECT_EQ(read_text("kind: torus\ndims: [8, 4]\n" + kLink).value().spec.dims,
            (std::array<std::uint32_t, 3>{8, 4, 0}));
}

TEST(FabricFile, AStoreAndForwardSwitchTakesInAWholeFrame) {
  const std::string sizes =
      "kind: leaf-spine\ncable: {latency_per_m: 5ns, fec: 100ns}\ncable_m: {nic: 2, leaf: 20}\n"
      "nic: {latency: 600ns}\n" +
      kLink;
  const topology::FabricSpec cut = read_text(sizes + "switch: {ports: 64, latency: 200ns}\n").value().spec;
  const auto stored =
      read_text(sizes + "switch: {ports: 64, latency: 200ns, forwarding: store-and-forward, frame: 5000B}\n");
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(cut.nic_link.latency, Duration::ns(300 + 100 + 10 + 100));  // half NIC, half switch, 2 m, error correction
  EXPECT_EQ(cut.tier(0).up.latency, Duration::ns(200 + 100 + 100));
  EXPECT_EQ(stored->spec.tier(0).up.latency, Duration::ns(200 + 100 + 100 + 100));  // 5,000 bytes at 50 GB/s
  EXPECT_EQ(stored->spec.nic_link.latency, Duration::ns(300 + 100 + 10 + 100 + 50));
  EXPECT_EQ(stored->spec.tier(0).up.latency_parts.frame, Duration::ns(100));
}

TEST(FabricFile, LatencyIsTheSumOfItsParts) {
  for (const std::string& name : Catalog().names("fabrics")) {
    const Catalog catalog;
    Reading reading(catalog);
    const auto file = read_fabric(YamlDocument::parse(name, "f.yaml").value().root(), reading);
    ASSERT_TRUE(file.ok()) << file.error().text();
    for (const topology::LinkClass* c : {&file->spec.nic_link, &file->spec.tier(0).up, &file->spec.tier(1).up}) {
      EXPECT_EQ(c->latency_parts.sum(), c->latency) << name;
      EXPECT_GT(c->latency_parts.switching, Duration()) << name;
    }
    EXPECT_GT(file->spec.nic_link.latency_parts.nic, Duration()) << name;
    EXPECT_EQ(file->spec.tier(0).up.latency_parts.nic, Duration()) << name;
  }
}

TEST(FabricFile, ErrorsHaveTheirPlace) {
  EXPECT_THAT(why_no_fabric("kind: torus\ndims: 8\n" + kLink), HasSubstr("f.yaml:2:7: dims: the sizes of a ring"));
  EXPECT_THAT(why_no_fabric("kind: fat-tree\ntiers: 9\n" + kLink), HasSubstr("f.yaml:2:8: tiers"));
  EXPECT_THAT(why_no_fabric("kind: fat-tree\nparallel: [1, 2, 3]\n" + kLink), HasSubstr("one number per tier"));
  EXPECT_THAT(why_no_fabric("kind: dragonfly\ndragonfly: {group: 3}\n" + kLink), HasSubstr("did you mean 'groups'"));
  EXPECT_THAT(why_no_fabric("kind: leaf-spine\nplane_order: by-leaf\n" + kLink), HasSubstr("order of planes"));
  EXPECT_THAT(why_no_fabric("kind: leaf-spine\nswitch: {forwarding: store-and-forward}\n" + kLink),
              HasSubstr("needs 'frame'"));
  EXPECT_THAT(why_no_fabric("kind: dragonflies\n" + kLink), HasSubstr("kind of fabric"));
}

TEST(FabricFile, TheCatalogueOnesMatchTheirNames) {
  EXPECT_EQ(read_text("kind: rail-only\nnetwork: infiniband-ndr\n").value().spec.tier(0).switches.splits, 2u);
  const Catalog catalog;
  Reading reading(catalog);
  const auto named = [&](const std::string& name) {
    return read_fabric(YamlDocument::parse(name, "f.yaml").value().root(), reading).value().spec;
  };
  EXPECT_EQ(named("ndr-rail-only").kind, topology::FabricKind::kRailOnly);
  EXPECT_EQ(named("ndr-fat-tree").kind, topology::FabricKind::kFatTree);
  EXPECT_EQ(named("ndr-rail-2-planes").planes, 2u);
}

TEST(FabricFile, LeafSpinesOfTheCatalogueAreWiredAlikeWhateverTheirNetwork) {
  const Catalog catalog;
  Reading reading(catalog);
  std::size_t by_node = 0, dealt = 0;
  for (const std::string& name : catalog.names("fabrics")) {
    const FabricFile f = read_fabric(YamlDocument::parse(name, "f.yaml").value().root(), reading).value();
    if (name.find("leaf-spine") == std::string::npos) continue;
    const bool deals = name.ends_with("-dealt");
    EXPECT_EQ(f.spec.nic_order, deals ? topology::NicOrder::kDealt : topology::NicOrder::kByNode) << name;
    ++(deals ? dealt : by_node);
    if (f.formerly.empty()) continue;
    EXPECT_EQ(f.formerly, name + "-dealt");
    EXPECT_TRUE(catalog.has("fabrics", f.formerly)) << f.formerly;
  }
  EXPECT_GT(by_node, 10u);
  EXPECT_GT(dealt, 10u);
}

}  // namespace
}  // namespace busbar::spec
