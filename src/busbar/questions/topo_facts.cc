#include "busbar/questions/topo_facts.h"

#include <fmt/core.h>

#include <iterator>
#include <map>

#include "busbar/topology/fabric.h"
#include "busbar/topology/tiers.h"

namespace busbar::questions {
namespace {

const char* plural_of(topology::DeviceKind k) {
  constexpr const char* kNames[] = {
      "gpus",       "cpus",   "numa_nodes", "pcie_switches", "root_ports",       "nics",    "nvmes",
      "nvswitches", "leaves", "spines",     "cores",         "optical_switches", "switches"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(topology::DeviceKind::kSwitch) + 1);
  return kNames[static_cast<std::size_t>(k)];
}

/// "cores"; tiers above as "tier_4_switches".
void add_core_counts(const topology::Topology& t, std::vector<std::pair<std::string, std::uint32_t>>& out) {
  constexpr std::uint8_t kCoreTier = 3;
  std::map<std::uint8_t, std::uint32_t> counts;
  for (const std::uint8_t tier : topology::switch_tiers(t))
    if (tier >= kCoreTier) ++counts[tier];
  for (const auto& [tier, n] : counts)
    out.emplace_back(tier == kCoreTier ? plural_of(topology::DeviceKind::kCore) : fmt::format("tier_{}_switches", tier),
                     n);
}

}  // namespace
std::string name_in_node(const topology::Topology& t, topology::DeviceId d) {
  const std::string name = t.name(d);
  return name.substr(name.find('.') + 1);
}

SharedWays shared_ways(const topology::Topology& t, topology::BlockId node, const std::vector<topology::Level>& levels,
                       const topology::Bisection& bisection, const topology::ScaleUpDomain& domain) {
  SharedWays out;
  if (t.blocks().empty()) return out;
  out.roots = topology::pcie_roots(t, node);
  out.nics = topology::gpu_nics(t, out.roots);
  for (const topology::PcieRoot& r : out.roots) out.gpus += r.gpus.size();
  if (t.blocks().size() == 1 && domain.gpus > 1 && domain.gpus == t.gpus().size() && bisection.GBps > 0)
    out.tiers.push_back({"scale-up", domain.ports_GBps / domain.gpus * (domain.gpus / 2) / bisection.GBps});
  for (std::size_t i = 1; i < levels.size(); ++i)
    for (std::uint8_t tier = 1; tier < 16; ++tier)
      if (levels[i].name == topology::tier_name(tier) && levels[i].ratio > 0)
        out.tiers.push_back({levels[i].name, levels[i].ratio});
  return out;
}

TopoFacts topo_facts(const spec::Cluster& c, topology::BlockId node) {
  const topology::Topology& t = c.topology;
  TopoFacts f;
  f.counts.emplace_back("nodes", static_cast<std::uint32_t>(t.blocks().size()));
  for (const auto& [kind, n] : topology::device_counts(t)) {
    if (kind == topology::DeviceKind::kCore)
      add_core_counts(t, f.counts);
    else
      f.counts.emplace_back(plural_of(kind), n);
  }
  f.counts.emplace_back("links", t.link_count() / 2);
  f.levels = topology::machine_levels(t);
  f.bisection = topology::bisect(t);
  f.memory = topology::total_memory(t);
  f.scale_up = topology::scale_up_domain(t);
  f.ways = shared_ways(t, node, f.levels, f.bisection, f.scale_up);
  if (c.fabric.kind == topology::name_of(topology::FabricKind::kDragonfly))
    f.ways.tiers = {{"groups", c.fabric.oversubscription}};
  if (c.cabling.parts.empty()) return f;
  f.cables = topology::lay_cables(t, c.cabling);
  f.cabling = topology::sum_of(t, f.cables, c.cabling);
  return f;
}

std::vector<LargestModel> largest_models(const topology::ScaleUpDomain& domain) {
  const auto bytes = static_cast<double>(count(domain.memory));
  // Training: bf16 parameter 2, fp32 gradient 4, fp32 master copy and two Adam moments 12, once in the whole domain; no
  // memory is left for activations. workload/memory counts the gradient in fp32.
  return {{"as bf16 weights", 2, bytes / 2},
          {"as fp8 weights", 1, bytes},
          {"in training with Adam, mixed precision, fully sharded", 18, bytes / 18}};
}

}  // namespace busbar::questions
