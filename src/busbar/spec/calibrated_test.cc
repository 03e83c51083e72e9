#include "busbar/spec/calibrated.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace busbar::spec {
namespace {

TEST(Calibrated, TheTextOfAClusterHasItsFlagsInIt) {
  Overrides o;
  o.set = {"fabric.oversubscription=2", "node.gpudirect=false"};
  o.degrade = {"node1.nic3=0.5"};
  o.fail = {"node0.nic1"};
  o.gpu_memory_rate = "1TB/s";
  std::vector<MeasuredTable> measured;
  const auto text = cluster_text("dgx-h100:2", o, measured);
  ASSERT_TRUE(text.ok()) << text.error().text();
  const auto again = parse_cluster(*text, "again");
  ASSERT_TRUE(again.ok()) << again.error().text() << *text;
  const auto flags = load_cluster("dgx-h100:2", o);
  ASSERT_TRUE(flags.ok()) << flags.error().text();
  EXPECT_EQ(again->topology.damage().size(), flags->topology.damage().size());
  EXPECT_EQ(again->fabric.oversubscription, flags->fabric.oversubscription);
  EXPECT_EQ(again->gpudirect, false);
  EXPECT_EQ(again->protocol.step_scale_up, flags->protocol.step_scale_up);
  ASSERT_EQ(again->topology.link_count(), flags->topology.link_count());
  for (std::uint32_t l = 0; l < again->topology.link_count(); ++l)
    ASSERT_EQ(again->topology.payload_rate(topology::LinkId{l}), flags->topology.payload_rate(topology::LinkId{l}))
        << l;
  const topology::DeviceId gpu = again->topology.gpus().front();
  EXPECT_EQ(again->topology.device_class(gpu).memory_rate, BytesPerSecond{1'000'000'000'000});
}

TEST(Calibrated, EveryPresetIsTheSameMachineAsItsText) {
  for (const std::string& name : Catalog().names("nodes")) {
    std::vector<MeasuredTable> measured;
    const auto text = cluster_text(name, {}, measured);
    ASSERT_TRUE(text.ok()) << text.error().text();
    const auto again = parse_cluster(*text, name), once = load_cluster(name);
    ASSERT_TRUE(again.ok()) << again.error().text();
    EXPECT_EQ(again->topology.link_count(), once->topology.link_count()) << name;
    EXPECT_EQ(again->gpu_part, once->gpu_part);
    EXPECT_EQ(again->routing, once->routing);
  }
}

TEST(Calibrated, FactorsApplyToLatenciesAndRates) {
  const Cluster plain = load_cluster("dgx-h100:2").value();
  const char* const f = "calibrated: {latency_factor: 1.5, rate_factor: 0.8, launch_more: 3us}\n";
  const auto c = parse_cluster("name: c\nnode: dgx-h100\nnodes: 2\n" + std::string(f), "c");
  ASSERT_TRUE(c.ok()) << c.error().text();
  EXPECT_NEAR(c->protocol.launch.in_us(), 1.5 * plain.protocol.launch.in_us() + 3, 1e-6);
  EXPECT_NEAR(c->protocol.share_scale_up, 0.8 * plain.protocol.share_scale_up, 1e-9);
  EXPECT_NEAR(c->protocol.ll.step_network.in_us(), 1.5 * plain.protocol.ll.step_network.in_us(), 1e-6);
  for (std::uint32_t l = 0; l < plain.topology.link_count(); ++l) {
    const topology::LinkClass &a = plain.topology.link_class(topology::LinkId{l}),
                              &b = c->topology.link_class(topology::LinkId{l});
    ASSERT_NEAR(b.latency.in_us(), 1.5 * a.latency.in_us(), 1e-6) << l;
    ASSERT_EQ(b.wire_rate, a.wire_rate);
  }
}

TEST(Calibrated, MeasuredTablesAreGivenBack) {
  const program::CallTraits call{collectives::Collective::kAllGather, 16,   true,
                                 "hierarchical(nvls,tree) simple",    4096, 0.125};
  const std::string text = measured_yaml({{"my \\ \"a\".txt", {{call, 30.5, 28}}, 4, 9, "2026-11-20"}});
  const auto map = YamlDocument::parse(text, "t");
  ASSERT_TRUE(map.ok()) << map.error().text();
  const auto read = read_measured_tables(*map->root().find("measured"));
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(measured_yaml(*read), text);
}

TEST(Calibrated, AMeasuredCallTakesItsTimeAndTablesAreTakenOutOfTheText) {
  const program::CallTraits call{collectives::Collective::kAllReduce, 8, false, "ring simple", 1e9, 1};
  const std::string text = "name: c\nnode: dgx-a100\n" + measured_yaml({{"a.txt", {{call, 200, 100}}}});
  const auto c = parse_cluster(text, "c");
  ASSERT_TRUE(c.ok()) << c.error().text();
  ASSERT_NE(c->protocol.measured, nullptr);
  EXPECT_NEAR(c->protocol.measured->ln_factor(call), std::log(2), 0.01);
  std::vector<MeasuredTable> measured;
  const auto without = cluster_text("{" + std::string("name: c, node: dgx-a100}"), {}, measured);
  ASSERT_TRUE(without.ok());
  EXPECT_TRUE(measured.empty());
}

}  // namespace
}  // namespace busbar::spec
