#include "busbar/formats/internal/astra_sim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "busbar/formats/fixture.h"
#include "busbar/topology/levels.h"

namespace busbar::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ImportedMachine machine(const std::string& text) {
  return machine_of(read_astra_network(text, "n.yml").value()).value();
}
std::string message_of(const std::string& text) {
  const auto n = read_astra_network(text, "n.yml");
  return n.ok() ? "read" : n.error().text();
}

TEST(AstraSim, ASwitchOfEightIsAMachine) {
  const ImportedMachine m = machine(fixture("astra-sim/HGX-H100-validated.yml"));
  EXPECT_EQ(m.topology.gpus().size(), 8u);
  EXPECT_EQ(m.topology.link_count(), 16u);
  const topology::LinkClass& link = m.topology.link_class(static_cast<topology::LinkId>(0));
  EXPECT_EQ(per_second(link.wire_rate), 400ull << 30);
  EXPECT_EQ(link.latency, Duration::ps(936'250));
  EXPECT_THAT(m.notes[0], HasSubstr("2^30 bytes"));
}

// 2 x 8 x 4: 32 rings of two, 8 meshes of eight, 16 switches of four.
TEST(AstraSim, DimensionsNestFromTheInside) {
  const ImportedMachine m = machine(fixture("astra-sim/Ring_FullyConnected_Switch.yml"));
  const topology::Topology& t = m.topology;
  EXPECT_EQ(t.gpus().size(), 64u);
  EXPECT_EQ(t.device_count(), 64u + 64 + 16);
  EXPECT_EQ(t.link_count() / 2, 64u + 32 + 8 * 28 + 64);
  std::vector<std::uint32_t> beside;  // neighbours of router 0, by number: GPU 0, its ring, its mesh, its switch
  for (const topology::LinkId l : t.out_links(static_cast<topology::DeviceId>(64))) beside.push_back(index(t.to(l)));
  EXPECT_THAT(beside, testing::UnorderedElementsAre(0, 65, 66, 68, 70, 72, 74, 76, 78, 128));
}

TEST(AstraSim, ARingOfSixteenHasSixteenLinks) {
  EXPECT_EQ(machine(fixture("astra-sim/Ring_16npus.yml")).topology.link_count(), 32u);
}

TEST(AstraSim, SystemFilesNameAlgorithmsInOurWords) {
  const AstraSystem s = read_astra_system(
                            R"({"all-reduce-implementation": ["ring", "doubleBinaryTree"], "peak-perf": 900,
"all-to-all-implementation": ["direct4"], "scheduling-policy": "LIFO", "colour": 1})",
                            "s.json")
                            .value();
  ASSERT_EQ(s.algorithms.size(), 2u);
  EXPECT_EQ(s.algorithms[0].first, "all_reduce");
  EXPECT_THAT(s.algorithms[0].second, ElementsAre("ring", "tree"));
  EXPECT_THAT(s.algorithms[1].second, ElementsAre("direct"));
  EXPECT_EQ(s.settings.size(), 2u);
  ASSERT_EQ(s.unknown.size(), 1u);
  EXPECT_EQ(s.unknown[0].what, "key colour");
  EXPECT_THAT(read_astra_system(fixture("astra-sim/sample_16nodes_2D.json"), "d").value().logical_dimensions,
              ElementsAre(8, 2));
}

TEST(AstraSim, ErrorsHaveTheirPlace) {
  const std::string rest = "npus_count: [4, 2]\nbandwidth: [1, 1]\nlatency: [1, 1]\n";
  EXPECT_EQ(message_of("topology: [Ring, Switch]\n" + rest), "read");
  EXPECT_THAT(message_of("topology: [Ring, Star]\n" + rest),
              HasSubstr("n.yml:1:18: topology[1]: 'Star' is not one of Ring"));
  EXPECT_THAT(message_of("topology: [Ring]\n" + rest),
              HasSubstr("n.yml:2:13: npus_count: has 2 dimensions, 'topology' has 1"));
  EXPECT_THAT(message_of("topology: [Ring]\n"), HasSubstr("lacks 'npus_count'"));
  EXPECT_THAT(message_of("topology: [Ring, Ring]\nnpus_count: [4096, 4096]\nbandwidth: [1, 1]\nlatency: [1, 1]\n"),
              HasSubstr("more than 4096 NPUs"));
  EXPECT_THAT(read_astra_system("{\"logical-dims\": [\"x\"]}", "s").error().text(),
              HasSubstr("logical-dims: '\"x\"' is no"));
}

}  // namespace
}  // namespace busbar::formats
