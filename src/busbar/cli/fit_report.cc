#include "busbar/cli/fit_report.h"

#include <fmt/core.h>

#include "busbar/base/quantity.h"
#include "busbar/cli/train_report.h"

namespace busbar {

Json fit_changes_json(const std::vector<FitChange>& changes) {
  Json out = Json::array();
  for (const FitChange& c : changes)
    out.push_back({{"what", c.what},
                   {"flags", c.flags},
                   {"step_time_s", c.step.in_s()},
                   {"memory_bytes", count(c.memory.total())},
                   {"capacity_bytes", count(c.capacity)},
                   {"layout", layout_json(c.layout)}});
  return out;
}

Table fit_table(const std::vector<FitChange>& changes) {
  Table t{"What would make it fit", {to_left("change"), "step", "memory per GPU", to_left("how")}};
  for (const FitChange& c : changes)
    t.rows.push_back({c.what, format_duration(c.step.in_s()),
                      fmt::format("{} of {}", format_size(static_cast<double>(count(c.memory.total()))),
                                  format_size(static_cast<double>(count(c.capacity)))),
                      c.flags});
  t.note = changes.empty()
               ? "No change that was tried is enough: up to three keys of the layout, more servers, GPUs of "
                 "the same generation with more memory."
               : "The smallest changes first: as few keys as possible, then the shortest step, then the "
                 "machine. Each was tried.";
  return t;
}

}  // namespace busbar
