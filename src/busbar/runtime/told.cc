#include "busbar/runtime/internal/told.h"

#include <set>
#include <vector>

namespace busbar::runtime {

Csr<std::uint32_t> told_of(const Executable& x) {
  std::vector<std::set<std::uint32_t>> told(x.plan.steps.size());
  for (std::uint32_t s = 0; s < x.plan.steps.size(); ++s) {
    const std::uint32_t waits = x.plan.rank_of(x.plan.steps[s]);
    for (const Wait& w : x.waits.row(s)) told[x.first_step[w.thread] + w.steps - 1].insert(waits);
    for (const std::uint32_t t : x.earlier.row(s))
      if (x.steps_of(t) > 0) told[x.first_step[t + 1] - 1].insert(waits);
    for (const collectives::PlanSlice& w : x.plan.writes.row(s)) told[s].insert(w.rank);
  }
  Csr<std::uint32_t> out;
  for (std::uint32_t s = 0; s < told.size(); ++s) {
    told[s].erase(x.plan.rank_of(x.plan.steps[s]));
    out.values.insert(out.values.end(), told[s].begin(), told[s].end());
    out.close_row();
  }
  return out;
}

}  // namespace busbar::runtime
