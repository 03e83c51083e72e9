#include "busbar/choice/relief.h"

#include <algorithm>

#include <fmt/core.h>

#include "busbar/engine/lowering.h"

namespace busbar {

Result<std::vector<Relief>> find_relief(const Router& router, const Placement& placement, const ProtocolModel& protocol,
                                        const CollectiveCall& call, bool every) {
  const Topology& t = router.topology();
  Lowering lowering(router, placement, protocol);
  BUSBAR_ASSIGN(const LoweredCall base, lowering.lower(call));
  std::vector<std::uint16_t> classes;
  for (const Stage& s : base.stages) {
    if (!every) {
      classes.push_back(t.link_class_index(s.busiest));
      continue;
    }
    for (const LinkId l : s.link) classes.push_back(t.link_class_index(l));
  }
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  std::vector<Relief> out;
  const double before = closed_form_ps(base);
  for (const std::uint16_t c : classes) {
    const LinkClass& link = t.link_classes()[c];
    const std::string name = link.part.empty() ? name_of(link.kind) : link.part;
    for (const bool rate : {true, false}) {
      if (!rate && link.latency == Duration()) continue;
      lowering.set_what_if(rate ? WhatIf{c, 1.1, 1.0} : WhatIf{c, 1.0, 0.5});
      BUSBAR_ASSIGN(const LoweredCall changed, lowering.lower(call));
      out.push_back({fmt::format("{} of {}", rate ? "+10 % rate" : "half the latency", name),
                     100 * (1 - closed_form_ps(changed) / before)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Relief& a, const Relief& b) { return a.gain_percent > b.gain_percent; });
  return out;
}

}  // namespace busbar
