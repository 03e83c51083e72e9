#include "busbar/survive/part_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "busbar/spec/cluster.h"
#include "busbar/topology/selector.h"

namespace busbar::survive {
namespace {

std::map<std::string, std::vector<PartClass>> classes_of(const topology::Topology& t, std::uint32_t stages = 1) {
  std::vector<std::uint32_t> colours;
  const auto n = static_cast<std::uint32_t>(t.gpus().size());
  for (std::uint32_t r = 0; r < n; ++r) colours.push_back(r * stages / n);
  std::map<std::string, std::vector<PartClass>> out;
  for (PartClass& c : part_classes(t, colours)) out[c.what].push_back(std::move(c));
  return out;
}

TEST(PartClasses, ARegularMachineHasOneOfEachKind) {
  const spec::Cluster c = spec::load_cluster("dgx-h100:64").value();
  const auto classes = classes_of(c.topology);
  for (const char* kind : {"leaf", "spine", "cable leaf-spine"}) ASSERT_EQ(classes.at(kind).size(), 1u) << kind;
  EXPECT_EQ(classes.at("leaf")[0].alike, 16u);
  EXPECT_EQ(classes.at("spine")[0].alike, 8u);
  EXPECT_EQ(classes.at("cable leaf-spine")[0].alike, 16u * 8u);
  std::uint64_t nics = 0, rails = 0;
  for (const PartClass& p : classes.at("nic")) nics += p.alike;
  for (const PartClass& p : classes.at("rail")) rails += p.alike;
  EXPECT_EQ(nics, 512u);
  EXPECT_EQ(rails, 8u);
}

TEST(PartClasses, SelectorsNameCablesOfTheMachine) {
  for (const char* name : {"dgx-h100:4", "gb200-nvl72:2", "dgx-a100:2", "mi300x-8:2", "dgx-1v"}) {
    const spec::Cluster c = spec::load_cluster(name).value();
    for (const auto& [what, classes] : classes_of(c.topology))
      for (const PartClass& p : classes)
        for (const std::string& s : p.selectors)
          EXPECT_TRUE(topology::select_cables(c.topology, s).ok()) << name << ' ' << s;
  }
}

TEST(PartClasses, StagesAndDamageTellPartsApart) {
  const spec::Cluster c = spec::load_cluster("dgx-h100:8").value();
  const std::size_t one = classes_of(c.topology)["nic"].size();
  EXPECT_EQ(classes_of(c.topology, 2)["nic"].size(), 2 * one);
  spec::Overrides damage;
  damage.degrade = {"node3.nic2=0.5"};
  const spec::Cluster slow = spec::load_cluster("dgx-h100:8", damage).value();
  EXPECT_GT(classes_of(slow.topology)["nic"].size(), one);
}

}  // namespace
}  // namespace busbar::survive
