#include "busbar/views/penalty_words.h"

#include <fmt/core.h>

#include <utility>

#include "busbar/base/quantity.h"

namespace busbar::views {

Json to_json(const predict::NetworkPenalty& p) {
  return {{"transport", p.transport},
          {"lb", p.balance},
          {"fan_in", p.fan_in},
          {"mean", p.mean},
          {"p99", p.p99},
          {"source", fmt::format("catalog penalties/{}-{}", p.transport, p.balance)}};
}

report::Paragraph penalty_words(const predict::NetworkPenalty& p, const std::string& what, const std::string& p99) {
  return {fmt::format(
      "Penalties of {} over {}: transfers between servers take {} times as long as under fair sharing in the mean, {} "
      "times at p99 ({} sender{} to one receiver at a time). The times here are of the mean; if all transfers took the "
      "p99, {} would take {}. Source: catalog penalties/{}-{}.",
      p.transport, p.balance, format_number(p.mean), format_number(p.p99), fmt::format("{:.0f}", p.fan_in),
      p.fan_in > 1 ? "s" : "", what, p99, p.transport, p.balance)};
}

}  // namespace busbar::views
