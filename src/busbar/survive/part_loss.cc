#include "busbar/survive/part_loss.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/base/quantity.h"

namespace busbar::survive {
namespace {

constexpr double kHalf = 0.5;
constexpr double kWorth = 0.995;  // a smaller gain is no advice

double cost_of(const PartLoss& l) { return l.time_s ? l.cost_percent : HUGE_VAL; }

PartLosses sorted(PartLosses losses) {
  std::stable_sort(losses.rows.begin(), losses.rows.end(),
                   [](const PartLoss& a, const PartLoss& b) { return cost_of(a) > cost_of(b); });
  return losses;
}

}  // namespace

const char* name_of(PartState state) { return state == PartState::kOut ? "out" : "half rate"; }

Result<PartLosses> lose_parts(std::string what, double sound_s, const std::vector<PartClass>& classes,
                              const spec::Overrides& overrides, const TimeWith& time, const Context& context) {
  PartLosses out{std::move(what), sound_s, {}};
  std::size_t done = 0, all = 0;
  for (const PartClass& part : classes) all += (part.dies_alone ? 2 : 1) * part.selectors.size();
  for (const PartClass& part : classes) {
    std::map<std::string, double> without;  // by member
    for (const PartState state : {PartState::kOut, PartState::kHalfRate}) {
      if (state == PartState::kOut && !part.dies_alone) continue;
      std::optional<PartLoss> worst;
      for (const std::string& selector : part.selectors) {
        if (!context.go_on("faults", done++, all)) return sorted(std::move(out));
        spec::Overrides with = overrides;
        if (state == PartState::kOut) with.fail.push_back(selector);
        if (state == PartState::kHalfRate) with.degrade.push_back(fmt::format("{}={}", selector, kHalf));
        const Result<double> seconds = time(with);
        if (!seconds.ok() && context.stopped()) return sorted(std::move(out));
        PartLoss loss{.part = part, .selector = selector, .state = state, .time_s = {}, .why_not = "", .lost_h = {}};
        if (seconds.ok()) {
          loss.time_s = *seconds;
          loss.cost_percent = 100 * (*seconds / sound_s - 1);
          if (state == PartState::kOut) without[selector] = *seconds;
        } else {
          loss.why_not = seconds.error().message;
        }
        if (!worst || cost_of(loss) > cost_of(*worst)) worst = std::move(loss);
      }
      const auto off = without.find(worst->selector);
      worst->switch_off = part.network && state == PartState::kHalfRate && worst->time_s && off != without.end() &&
                          off->second < kWorth * *worst->time_s;
      worst->without_s = off == without.end() ? 0 : off->second;
      out.rows.push_back(std::move(*worst));
    }
  }
  context.go_on("faults", all, all);
  return sorted(std::move(out));
}

void price_losses(const GoodputRun& g, double repair_hours, PartLosses& losses) {
  const double stop_h = (g.terms.restart_s + std::min(g.interval_s, g.terms.mtti_s) / 2) / kSecondsInHour;
  for (PartLoss& l : losses.rows) {
    const bool ends = l.state == PartState::kOut && l.part.ends_job;
    const double slower = l.time_s ? 1 - losses.sound_s / *l.time_s : 0;  // a spare server is as fast
    l.lost_h = (ends ? stop_h : 0) + std::max(0.0, slower) * repair_hours;
  }
}

std::vector<std::uint32_t> stage_colours(const workload::LayoutSpec& l, std::uint32_t gpus) {
  std::vector<std::uint32_t> out(gpus);
  std::uint32_t inner = 1;
  for (const workload::ParallelAxis axis : l.rank_order) {
    if (axis == workload::ParallelAxis::kPp) break;
    inner *= axis == workload::ParallelAxis::kTp ? l.tp : axis == workload::ParallelAxis::kCp ? l.cp : l.dp;
  }
  for (std::uint32_t r = 0; r < gpus && r < l.ranks(); ++r) {
    const std::uint32_t stage = r / inner % l.pp;
    out[r] = stage == 0 ? 0 : stage + 1 == l.pp ? 2 : 1;
  }
  return out;
}

}  // namespace busbar::survive
