#include "busbar/views/fit_table.h"

#include <fmt/core.h>

#include "busbar/base/quantity.h"

namespace busbar::views {

report::Table fit_table(const std::vector<plan::FitChange>& changes) {
  report::Table t{"What would make it fit",
                  {report::to_left("change"), "step", "memory per GPU", report::to_left("how")}};
  for (const plan::FitChange& c : changes)
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

}  // namespace busbar::views
