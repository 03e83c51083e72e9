#include "busbar/views/network_words.h"

#include <fmt/core.h>

#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/topology/fabric.h"
#include "busbar/topology/levels.h"

namespace busbar::views {

std::string wiring_words(const spec::FabricSummary& f) {
  constexpr std::pair<const char*, const char*> kWords[] = {{"by-node", "by node: all NICs of a node are on one leaf"},
                                                            {"dealt", "dealt: NIC after NIC, leaf after leaf"}};
  std::string out;
  for (const auto& [name, words] : kWords)
    if (f.wiring == name) out = words;
  if (!f.formerly.empty()) out += fmt::format(" (earlier versions dealt them: {})", f.formerly);
  return out;
}

std::string oversubscription_words(const spec::FabricSummary& f) {
  if (f.oversubscription_is_idle())
    return fmt::format("no over-subscription: one switch holds all NICs, so {:.3g}:1 has no effect",
                       f.oversubscription_asked);
  if (f.oversubscription == 1) return "no over-subscription";
  if (f.kind == topology::name_of(topology::FabricKind::kDragonfly))
    return fmt::format("half of the groups sends {:.2g} of its rate to the other half", 1 / f.oversubscription);
  return fmt::format("leaves {:.3g}:1 over-subscribed", f.oversubscription);
}

namespace {

/// Whether each rail has one leaf: the first server then reaches all leaves.
bool one_leaf_for_each_rail(const spec::Cluster& c) {
  if (c.fabric.wiring != "by-rail" || c.fabric.switches.empty()) return false;
  const topology::Topology& t = c.topology;
  std::uint32_t reached = 0;
  for (const topology::DeviceId s : t.fabric_switches())
    for (const topology::LinkId l : t.out_links(s))
      if (t.block_of(t.to(l)) == topology::BlockId{0}) {
        ++reached;
        break;
      }
  return reached == c.fabric.switches[0];
}

}  // namespace

bool ratio_is_idle(const spec::Cluster& c) {
  return c.fabric.oversubscription_is_idle() || (c.fabric.oversubscription > 1 && one_leaf_for_each_rail(c));
}

std::string oversubscription_words(const spec::Cluster& c) {
  std::string out = oversubscription_words(c.fabric);
  if (ratio_is_idle(c) && !c.fabric.oversubscription_is_idle())
    out += ", which slows only traffic between rails: all NICs of a rail are on one leaf";
  return out;
}

std::string starved_nic_words(const spec::Cluster& c) {
  const topology::NicRates r = topology::nic_rates(c.topology);
  if (!r.starved()) return "";
  return fmt::format("the slot of a NIC carries {} GB/s, its cables {}", format_number(r.slot_GBps),
                     format_number(r.cable_GBps));
}

}  // namespace busbar::views
