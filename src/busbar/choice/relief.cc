#include "busbar/choice/relief.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "busbar/engine/lowering.h"

namespace busbar {

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
    if (it == groups.end()) groups.push_back({name, {c}});
    else it->classes.push_back(c);
  }
  const std::size_t tiers = groups.size();
  for (std::size_t i = 0; i < tiers; ++i) {  // the same sort of link in several tiers: all of them as one more group
    const std::string kind = groups[i].name.substr(0, groups[i].name.find(','));
    LinkGroup whole{kind + ", every tier", {}};
    std::size_t members = 0;
    bool first = true;
    for (std::size_t j = 0; j < tiers; ++j) {
      if (!groups[j].name.starts_with(kind + ",")) continue;
      first = first && (members > 0 || j == i);
      ++members;
      whole.classes.insert(whole.classes.end(), groups[j].classes.begin(), groups[j].classes.end());
    }
    if (members > 1 && first) groups.push_back(std::move(whole));
  }
  for (LinkGroup& g : groups) {
    std::sort(g.classes.begin(), g.classes.end());
    g.classes.erase(std::unique(g.classes.begin(), g.classes.end()), g.classes.end());
  }
  return groups;
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
                     std::max(0.0, 100 * (1 - closed_form_ps(changed) / before))});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Relief& a, const Relief& b) { return a.gain_percent > b.gain_percent; });
  return out;
}

}  // namespace busbar
