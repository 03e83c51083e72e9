#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/spec/internal/node_base.h"
#include "busbar/spec/internal/node_file.h"
#include "busbar/spec/internal/node_number.h"

namespace busbar::spec {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Result<NodeFile> read_whole(const std::string& text) {
  static const Catalog catalog;
  Reading reading(catalog);
  BUSBAR_ASSIGN(const YamlDocument document, YamlDocument::parse(text, "f"));
  BUSBAR_ASSIGN(const YamlNode whole, resolve_node(document.root(), reading));
  return read_node(whole, reading);
}

std::string why_no_node(const std::string& text) {
  const auto r = read_whole(text);
  return r.ok() ? "no error" : r.error().text();
}

/// The links as "gpu0-gpu3", in order.
std::vector<std::string> links_of(const std::string& text) {
  const auto file = read_whole(text);
  EXPECT_TRUE(file.ok()) << file.error().text();
  std::vector<std::string> out;
  if (!file.ok()) return out;
  for (const topology::TemplateLink& l : file->node.links) {
    out.push_back(file->node.devices[l.a].name + "-" + file->node.devices[l.b].name);
  }
  return out;
}

std::string gpus(int n, const std::string& link, const std::string& more = "") {
  return "devices: [{name: gpu, count: " + std::to_string(n) + "}" + more + "]\nlinks: [{" + link + "}]\n";
}
const std::string kWire = ", kind: nvlink, rate: 25GB/s";

TEST(Node, IslandsJoinOnlyTheirOwn) {
  EXPECT_THAT(links_of(gpus(4, "between: ['gpu*', 'gpu*'], islands: 2" + kWire)),
              ElementsAre("gpu0-gpu1", "gpu2-gpu3"));
  EXPECT_THAT(links_of(gpus(5, "between: ['gpu*', 'gpu*'], islands: 2" + kWire)),
              ElementsAre("gpu0-gpu1", "gpu2-gpu3"));
  EXPECT_THAT(links_of(gpus(4, "between: ['gpu*', 'gpu*'], islands: 1" + kWire)), IsEmpty());
  EXPECT_THAT(
      links_of(gpus(4, "between: ['gpu*', 'sw*'], islands: [2, 1]" + kWire, ", {name: sw, kind: nvswitch, count: 2}")),
      ElementsAre("gpu0-sw0", "gpu1-sw0", "gpu2-sw1", "gpu3-sw1"));
}

TEST(Node, PlanesJoinEqualNumbers) {
  EXPECT_THAT(
      links_of(gpus(2, "between: ['gpu*', 'sw*'], planes: [2, 2]" + kWire, ", {name: sw, kind: nvswitch, count: 4}")),
      ElementsAre("gpu0-sw0", "gpu0-sw2", "gpu1-sw1", "gpu1-sw3"));
}

TEST(Node, NumbersFollowARule) {
  EXPECT_THAT(links_of(gpus(4, "between: ['gpu#', 'pcie#/2'], kind: pcie, rate: 1GB/s",
                            ", {name: pcie, kind: pcie_switch, count: 2}")),
              ElementsAre("gpu0-pcie0", "gpu1-pcie0", "gpu2-pcie1", "gpu3-pcie1"));
  EXPECT_THAT(links_of(gpus(2, "between: ['gpu#', 'pcie#*4/2'], kind: pcie, rate: 1GB/s",
                            ", {name: pcie, kind: pcie_switch, count: 4}")),
              ElementsAre("gpu0-pcie0", "gpu1-pcie2"));
  EXPECT_THAT(why_no_node(gpus(2, "between: ['gpu#', 'gpu#/0']" + kWire)), HasSubstr("needs a whole number above 0"));
  EXPECT_THAT(why_no_node(gpus(2, "between: ['gpu#', 'gpu#']" + kWire)), HasSubstr("joins gpu0 to itself"));
}

TEST(Node, PairsAreTakenAsListed) {
  EXPECT_THAT(links_of(gpus(4, "pairs: [[gpu0, gpu3], [gpu2, gpu1]]" + kWire)), ElementsAre("gpu0-gpu3", "gpu2-gpu1"));
  EXPECT_THAT(why_no_node(gpus(4, "pairs: [[gpu0, gpu0]]" + kWire)), HasSubstr("two different devices"));
  EXPECT_THAT(why_no_node(gpus(4, "pairs: [[gpu0, 'gpu*']]" + kWire)), HasSubstr("no globs"));
  EXPECT_THAT(why_no_node(gpus(4, "pairs: gpu0" + kWire)), HasSubstr("expected a list of pairs"));
  EXPECT_THAT(why_no_node(gpus(4, "rate: 1GB/s, kind: nvlink")), HasSubstr("one of 'between', 'pairs' and 'torus'"));
}

TEST(Node, ATorusClosesOnlyFullDimensions) {
  const auto torus = [](int n, const std::string& rest) {
    return links_of(gpus(n, "torus: 'gpu*', " + rest + ", kind: ici, rate: 50GB/s"));
  };
  EXPECT_THAT(torus(4, "shape: '4'"), ElementsAre("gpu0-gpu1", "gpu1-gpu2", "gpu2-gpu3", "gpu0-gpu3"));
  EXPECT_THAT(torus(4, "shape: '4', full: 8"), ElementsAre("gpu0-gpu1", "gpu1-gpu2", "gpu2-gpu3"));
  EXPECT_THAT(torus(4, "shape: 2x2"), ElementsAre("gpu0-gpu1", "gpu2-gpu3", "gpu0-gpu2", "gpu1-gpu3"));
  EXPECT_EQ(torus(64, "shape: 4x4x4").size(), 64u * 6 / 2);
  EXPECT_EQ(torus(32, "shape: 4x8, full: 8").size(), 3u * 8 + 32);
  EXPECT_THAT(why_no_node(gpus(5, "torus: 'gpu*', shape: 2x2, kind: ici, rate: 1GB/s")),
              HasSubstr("4 places for 5 devices"));
  EXPECT_THAT(why_no_node(gpus(4, "torus: 'gpu*', shape: 2y2, kind: ici, rate: 1GB/s")), HasSubstr("is not a shape"));
}

/// The sum of the hops from device 0 to all others; every device must have `degree` neighbours.
std::size_t hops_from_first(const NodeFile& file, std::size_t degree) {
  const std::size_t n = file.node.devices.size();
  std::vector<std::vector<std::uint32_t>> peers(n);
  for (const topology::TemplateLink& l : file.node.links) {
    peers[l.a].push_back(l.b);
    peers[l.b].push_back(l.a);
  }
  for (const auto& p : peers) EXPECT_EQ(p.size(), degree);
  std::vector<std::size_t> hops(n, SIZE_MAX);
  hops[0] = 0;
  std::vector<std::uint32_t> queue{0};
  std::size_t sum = 0;
  for (std::size_t head = 0; head < queue.size(); ++head)
    for (const std::uint32_t p : peers[queue[head]]) {
      if (hops[p] != SIZE_MAX) continue;
      hops[p] = hops[queue[head]] + 1;
      sum += hops[p];
      queue.push_back(p);
    }
  EXPECT_EQ(queue.size(), n);
  return sum;
}

TEST(Node, ATwistedTorusIsNearerToItself) {
  const auto torus = [](int chips, const std::string& shape, bool twisted) {
    return gpus(chips,
                "torus: 'gpu*', shape: " + shape + (twisted ? ", twisted: true" : "") + ", kind: ici, rate: 50GB/s");
  };
  for (const auto& [chips, shape] : {std::pair(32, "4x8"), {128, "4x4x8"}, {256, "4x8x8"}, {1024, "8x8x16"}}) {
    const std::size_t degree = shape == std::string("4x8") ? 4 : 6;
    const std::size_t plain = hops_from_first(read_whole(torus(chips, shape, false)).value(), degree);
    EXPECT_LT(hops_from_first(read_whole(torus(chips, shape, true)).value(), degree), plain) << shape;
  }
  EXPECT_THAT(why_no_node(torus(64, "4x4x4", true)), HasSubstr("n x n x 2n"));
  EXPECT_THAT(why_no_node(torus(48, "3x4x4", true)), HasSubstr("n x n x 2n"));
  EXPECT_THAT(why_no_node(torus(16, "2x2x4", true)), HasSubstr("closes in all dimensions"));
}

TEST(Node, OpticalSwitchesJoinCubesBySixFaces) {
  const std::string node = gpus(2, "between: [gpu0, gpu1]" + kWire);
  const auto file = read_whole(node + "ocs: {switches: 48, cube: 4, switching: 10ms, initialisation: 10s}\n");
  ASSERT_TRUE(file.ok()) << file.error().text();
  EXPECT_EQ(file->ocs.links(4096), 6144u);  // as published of the TPU v4 pod
  EXPECT_EQ(file->ocs.reconfiguration(), Duration::us(10'010'000));
  EXPECT_THAT(why_no_node(node + "ocs: {switches: 48, cube: 4, switching: 1ms}\n"), HasSubstr("initialisation"));
  EXPECT_THAT(why_no_node(node + "ocs: {switches: 0, cube: 4, switching: 1ms, initialisation: 10s}\n"),
              HasSubstr("ocs.switches"));
}

TEST(Node, CpusHaveAsManySlotsAsLanes) {
  const auto server = [](int cards) {
    return gpus(cards, "between: ['gpu*', cpu], link: pcie4, lanes: 16", ", {name: cpu, pcie_lanes: 128}");
  };
  EXPECT_EQ(why_no_node(server(8)), "no error");
  EXPECT_THAT(why_no_node(server(9)),
              HasSubstr("cpu has 128 PCIe lanes, and the links use 144 of it: 8 slots of x16 fit"));
}

TEST(Node, LinksOfTheCatalogueAreCountedInLanes) {
  const auto file = read_whole(gpus(2, "between: ['gpu*', 'gpu*'], link: nvlink4, lanes: 6")).value();
  ASSERT_EQ(file.node.links.size(), 1u);
  const topology::LinkClass& c = file.node.links[0].link_class;
  EXPECT_EQ(per_second(c.wire_rate), 150'000'000'000u);
  EXPECT_EQ(c.lanes, 6);
  EXPECT_EQ(c.part, "nvlink4 x6");
  EXPECT_EQ(c.kind, topology::LinkKind::kNvlink);
  EXPECT_NEAR(c.efficiency, 0.86, 1e-9);
  EXPECT_THAT(why_no_node(gpus(2, "between: ['gpu*', 'gpu*'], link: nvlink44")), HasSubstr("did you mean 'nvlink4'?"));
}

TEST(Node, BrandsOfLinksAreThoseOfTheirParts) {
  const auto brand = [](const std::string& link) {
    const auto file = read_whole(gpus(2, "between: ['gpu*', 'gpu*'], link: " + link + ", lanes: 1"));
    return file.value().node.links.front().link_class.brand;
  };
  EXPECT_EQ(brand("neuronlink3"), "NeuronLink");
  EXPECT_EQ(brand("nvlink4"), "");
}

TEST(Node, AGroupOfNoneTakesItsLinksWithIt) {
  const std::string none = ", {name: nic, count: 0}";
  EXPECT_THAT(links_of(gpus(2, "between: ['nic#', 'gpu#*2/0']" + kWire, none)), IsEmpty());
  EXPECT_THAT(links_of(gpus(2, "between: ['nic*', gpu0]" + kWire, none)), IsEmpty());
  EXPECT_THAT(why_no_node(gpus(2, "between: ['nik*', gpu0]" + kWire, none)), HasSubstr("no device of this node"));
}

TEST(Node, BasesTakeParameters) {
  EXPECT_EQ(read_whole("{base: rtx4090-pcie, gpus: 6}").value().gpus, 6u);
  EXPECT_EQ(read_whole("{base: dgx-h100, nics: 32}").value().nics.size(), 32u);
  EXPECT_EQ(read_whole("{base: gb200-nvl72, trays: 2}").value().gpus, 8u);
  EXPECT_EQ(read_whole("{base: dgx-h100, fabric: efa-v2}").value().fabric->scalar(), "efa-v2");
  EXPECT_FALSE(read_whole("{base: rtx4090-pcie}").value().p2p);
  EXPECT_THAT(why_no_node("{base: rtx4090-pcie, gpu_s: 6}"), HasSubstr("no parameter 'gpu_s'; did you mean 'gpus'?"));
  EXPECT_THAT(why_no_node("{base: rtx4090-pcie, gpus: '2}, {x'}"), HasSubstr("takes one word or number"));
  EXPECT_THAT(why_no_node("{base: rtx4090-pci}"), HasSubstr("did you mean 'rtx4090-pcie'?"));
  EXPECT_THAT(why_no_node("{base: rtx4090-pcie, gpus: 40}"), HasSubstr("gpu8 has no 'cpu2'"));
  EXPECT_THAT(why_no_node("{name: x}"), HasSubstr("the key 'devices' is missing: a node lists its devices"));
  EXPECT_THAT(why_no_node("{name: x, device: []}"), HasSubstr("is 'device' meant as 'devices'?"));
}

TEST(Node, PortsInARowShareACard) {
  const auto file = read_whole("devices: [{name: gpu}, {name: nic, count: 4, ports_per_card: 2}]\n");
  ASSERT_TRUE(file.ok()) << file.error().text();
  std::vector<int> cards;
  for (const topology::TemplateDevice& d : file->node.devices) cards.push_back(d.card);
  EXPECT_THAT(cards, ElementsAre(-1, 0, 0, 1, 1));
  EXPECT_THAT(why_no_node("devices: [{name: gpu}, {name: nic, count: 4, ports_per_card: 0}]\n"),
              HasSubstr("ports_per_card"));
}

TEST(Node, CountsMayBeProducts) {
  const auto count = [](const char* text) {
    return as_count(YamlDocument::parse("n: " + std::string(text), "f").value().root().item(0), 1, 1000);
  };
  EXPECT_EQ(count("4x4x4").value(), 64);
  EXPECT_EQ(count("4x4x4/4").value(), 16);
  EXPECT_EQ(count("6/4").value(), 2);
  for (const char* bad : {"4x", "x4", "4/0", "4//2", "4x0", "100x100", "4/2x3", "99999999x9"}) {
    EXPECT_FALSE(count(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace busbar::spec
