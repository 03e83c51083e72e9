#include "busbar/cli/part_loss.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/base/quantity.h"

namespace busbar {
namespace {

constexpr double kHalf = 0.5;
constexpr double kWorth = 0.995;  // a smaller gain is no advice
constexpr double kSame = 0.05;    // percent: below, the table says that nothing changes

std::string cost_text(const PartLoss& l) {
  if (!l.time_s) return "-";
  return std::abs(l.cost_percent) < kSame ? "0" : fmt::format("{:+.1f} %", l.cost_percent);
}

std::string then_text(const PartLoss& l) {
  if (!l.time_s) return l.state == PartState::kOut ? "ends, restarts on a spare server" : l.why_not;
  if (l.switch_off) return "switch it off";
  if (l.state == PartState::kHalfRate) return "runs on";
  return l.part.ends_job ? "ends, restarts without it" : "runs on over other paths";
}

std::string verdict_of(const PartLosses& r) {
  const auto off = std::find_if(r.rows.begin(), r.rows.end(), [](const PartLoss& l) { return l.switch_off; });
  if (off == r.rows.end()) return "";
  return fmt::format("Switch off a {} at half rate: with it the {} takes {}, without it {}.", off->part.what, r.what,
                     format_duration(*off->time_s), format_duration(off->without_s));
}

double cost_of(const PartLoss& l) { return l.time_s ? l.cost_percent : HUGE_VAL; }

PartLosses sorted(PartLosses losses) {
  std::stable_sort(losses.rows.begin(), losses.rows.end(),
                   [](const PartLoss& a, const PartLoss& b) { return cost_of(a) > cost_of(b); });
  return losses;
}

}  // namespace

const char* name_of(PartState state) { return state == PartState::kOut ? "out" : "half rate"; }

Result<PartLosses> lose_parts(std::string what, double sound_s, const std::vector<PartClass>& classes,
                              const Overrides& overrides, const TimeWith& time, LongRun& watch) {
  PartLosses out{std::move(what), sound_s, {}};
  std::size_t done = 0, all = 0;
  for (const PartClass& part : classes) all += (part.dies_alone ? 2 : 1) * part.selectors.size();
  for (const PartClass& part : classes) {
    std::map<std::string, double> without;  // by member
    for (const PartState state : {PartState::kOut, PartState::kHalfRate}) {
      if (state == PartState::kOut && !part.dies_alone) continue;
      std::optional<PartLoss> worst;
      for (const std::string& selector : part.selectors) {
        if (!watch.go_on(done++, all)) return sorted(std::move(out));
        Overrides with = overrides;
        if (state == PartState::kOut) with.fail.push_back(selector);
        if (state == PartState::kHalfRate) with.degrade.push_back(fmt::format("{}={}", selector, kHalf));
        const Result<double> seconds = time(with);
        if (!seconds.ok() && watch.interrupted()) return sorted(std::move(out));
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
  watch.go_on(all, all);
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

std::vector<std::uint32_t> stage_colours(const LayoutSpec& l, std::uint32_t gpus) {
  std::vector<std::uint32_t> out(gpus);
  std::uint32_t inner = 1;
  for (const ParallelAxis axis : l.rank_order) {
    if (axis == ParallelAxis::kPp) break;
    inner *= axis == ParallelAxis::kTp ? l.tp : axis == ParallelAxis::kCp ? l.cp : l.dp;
  }
  for (std::uint32_t r = 0; r < gpus && r < l.ranks(); ++r) {
    const std::uint32_t stage = r / inner % l.pp;
    out[r] = stage == 0 ? 0 : stage + 1 == l.pp ? 2 : 1;
  }
  return out;
}

Json losses_json(const PartLosses& losses) {
  Json rows = Json::array();
  for (const PartLoss& l : losses.rows)
    rows.push_back({{"part", l.selector},
                    {"kind", l.part.what},
                    {"alike", l.part.alike},
                    {"state", name_of(l.state)},
                    {"time_s", l.time_s ? Json(*l.time_s) : Json(nullptr)},
                    {"cost_percent", l.time_s ? Json(l.cost_percent) : Json(nullptr)},
                    {"ends_job", l.state == PartState::kOut && l.part.ends_job},
                    {"switch_off", l.switch_off},
                    {"lost_h", l.lost_h ? Json(*l.lost_h) : Json(nullptr)},
                    {"why_not", l.why_not.empty() ? Json(nullptr) : Json(l.why_not)}});
  return rows;
}

std::vector<DocumentBlock> losses_blocks(const PartLosses& r) {
  Table t{fmt::format("Without one part, or with it at half rate ({} now {})", r.what, format_duration(r.sound_s)),
          {to_left("kind"), to_left("such as"), "alike", to_left("state"), "time", "cost"}};
  const bool priced = !r.rows.empty() && r.rows.front().lost_h;
  if (priced) t.columns.push_back({"lost (h)"});
  t.columns.push_back(to_left("the job"));
  for (const PartLoss& l : r.rows) {
    t.rows.push_back({l.part.what, l.selector, std::to_string(l.part.alike), name_of(l.state),
                      l.time_s ? format_duration(*l.time_s) : "-", cost_text(l)});
    if (priced) t.rows.back().push_back(format_number(*l.lost_h, 2));
    t.rows.back().push_back(then_text(l));
  }
  if (priced)
    t.note =
        "Lost: hours of work by one such event: stop and work again if it ends the job, then the slower state until "
        "the repair.";
  std::vector<DocumentBlock> out;
  if (std::string verdict = verdict_of(r); !verdict.empty()) out.push_back({Paragraph{std::move(verdict)}});
  out.push_back({std::move(t)});
  return out;
}

}  // namespace busbar
