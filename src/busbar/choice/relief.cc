#include "busbar/choice/relief.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/engine/lowering.h"

namespace busbar {

namespace {

/// For each kind of link that stands in several tiers, all of its tiers as one group.
std::vector<LinkGroup> whole_kinds(const std::vector<LinkGroup>& tiers) {
  std::vector<LinkGroup> kinds;
  std::vector<std::uint32_t> members;
  for (const LinkGroup& tier : tiers) {
    const std::string name = tier.name.substr(0, tier.name.find(',')) + ", every tier";
    const auto it = std::find_if(kinds.begin(), kinds.end(), [&](const LinkGroup& k) { return k.name == name; });
    const auto at = static_cast<std::size_t>(it - kinds.begin());
    if (it == kinds.end()) kinds.push_back({name, {}}), members.push_back(0);
    kinds[at].classes.insert(kinds[at].classes.end(), tier.classes.begin(), tier.classes.end());
    ++members[at];
  }
  std::vector<LinkGroup> out;
  for (std::size_t k = 0; k < kinds.size(); ++k)
    if (members[k] > 1) out.push_back(std::move(kinds[k]));
  return out;
}

}  // namespace

std::vector<LinkGroup> link_groups(const Topology& t) {
  std::vector<LinkGroup> groups;
  std::vector<bool> seen(t.link_classes().size(), false);
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    const auto link = static_cast<LinkId>(l);
    const std::uint16_t c = t.link_class_index(link);
    if (seen[c] || t.failed(link)) continue;
    seen[c] = true;
    const char* a = name_of(t.kind(t.from(link)));
    const char* b = name_of(t.kind(t.to(link)));
    const std::string name = fmt::format("{}, {}-{}", name_of(t.link_class(link).kind), a, b);
    const auto it = std::find_if(groups.begin(), groups.end(), [&](const LinkGroup& g) { return g.name == name; });
    if (it == groups.end())
      groups.push_back({name, {c}});
    else
      it->classes.push_back(c);
  }
  for (LinkGroup& g : whole_kinds(groups)) groups.push_back(std::move(g));
  for (LinkGroup& g : groups) {
    std::sort(g.classes.begin(), g.classes.end());
    g.classes.erase(std::unique(g.classes.begin(), g.classes.end()), g.classes.end());
  }
  return groups;
}

double gain_percent(double before_ps, double after_ps) { return std::max(0.0, 100 * (1 - after_ps / before_ps)); }

void sort_by_gain(std::vector<Relief>& relief) {
  std::stable_sort(relief.begin(), relief.end(),
                   [](const Relief& a, const Relief& b) { return a.gain_percent > b.gain_percent; });
}

Result<std::vector<Relief>> find_relief(const Router& router, const Placement& placement, const ProtocolModel& protocol,
                                        const CollectiveCall& call, bool every) {
  const Topology& t = router.topology();
  Lowering lowering(router, placement, protocol);
  BUSBAR_ASSIGN(const LoweredCall base, lowering.lower(call));
  std::vector<bool> used(t.link_classes().size(), false);
  for (const Stage& s : base.stages) {
    used[t.link_class_index(s.busiest)] = true;
    for (const LinkId l : s.link)
      if (every) used[t.link_class_index(l)] = true;
  }
  std::vector<Relief> out;
  const double before = closed_form_ps(base);
  for (const LinkGroup& g : link_groups(t)) {
    if (std::none_of(g.classes.begin(), g.classes.end(), [&](std::uint16_t c) { return used[c]; })) continue;
    for (const bool rate : {true, false}) {
      if (!rate && g.name.ends_with("every tier")) continue;
      lowering.set_what_if(WhatIf{g.classes, rate ? 1.1 : 1.0, rate ? 1.0 : 0.5});
      BUSBAR_ASSIGN(const LoweredCall changed, lowering.lower(call));
      out.push_back({fmt::format("{} of {}", rate ? "+10 % rate" : "half the latency", g.name),
                     gain_percent(before, closed_form_ps(changed))});
    }
  }
  sort_by_gain(out);
  return out;
}

}  // namespace busbar
