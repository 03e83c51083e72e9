#include "busbar/views/checkpoint_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"

namespace busbar::views {

report::Facts checkpoint_facts(const survive::CheckpointRun& c, std::uint64_t steps, double step_s) {
  report::Facts f{"Checkpoints", {}};
  const double between_s = static_cast<double>(steps) * step_s, write_s = c.write_s();
  f.items.emplace_back("size",
                       fmt::format("{} in all, up to {} per GPU", format_size(c.bytes), format_size(c.most_bytes)));
  f.items.emplace_back("save", fmt::format("{}, set by {}; over the servers' links alone {}", format_duration(write_s),
                                           c.write_bound(), format_duration(c.links.save_s)));
  f.items.emplace_back("load", format_duration(c.load_s()));
  std::string cost = fmt::format("steps wait {} every {} steps: {:.2g} % of the time", format_duration(c.stop_s()),
                                 steps, 100 * c.lost_s(between_s) / (c.stop_s() + between_s));
  if (c.async)
    cost += fmt::format(" for the copy to host memory ({}); the write goes on during {:.2g} steps", c.links.copy_link,
                        std::max(0.0, write_s - c.stop_s()) / step_s);
  if (c.async)
    cost += c.slowed_link.empty()
                ? ", over links that steps do not use"
                : fmt::format(", which take up to {:.2g} % longer (both use {})", 100 * c.slowed, c.slowed_link);
  if (c.async && write_s > between_s)
    cost += fmt::format(". It is not done when the next begins: save every {:.0f} steps or less often",
                        std::ceil(write_s / step_s));
  f.items.emplace_back("cost", std::move(cost));
  return f;
}

}  // namespace busbar::views
