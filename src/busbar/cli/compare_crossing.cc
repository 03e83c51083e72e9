#include "busbar/cli/compare_crossing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cli/flags.h"

namespace busbar {
namespace {

constexpr double kWithin = 1.01;  // the ends of the last step differ by less

/// Both machines in turn, each with a layout of its own unless flags name one.
class CrossingFinder {
 public:
  CrossingFinder(const CompareAsk& ask, LongRun& watch) : ask_(ask), watch_(watch) {}

  Result<MachineCrossing> find(const CrossingAsk& crossing) {
    out_.ask = crossing;
    out_.slow = ask_.machines[0];
    out_.fast = ask_.machines[1];
    BUSBAR_ASSIGN(const CompareRow fast, step_of(out_.fast, ""));
    out_.fast_tokens_per_s = fast.tokens_per_s();
    out_.fast_gpus = fast.run.layout.ranks();
    BUSBAR_ASSIGN(bool low_wins, wins(crossing.from));
    BUSBAR_ASSIGN(const bool high_wins, wins(crossing.to));
    out_.found = low_wins != high_wins;
    double low = crossing.from, high = crossing.to;
    while (out_.found && high > kWithin * low && !watch_.interrupted()) {
      const double middle = std::sqrt(low * high);
      BUSBAR_ASSIGN(const bool middle_wins, wins(middle));
      (middle_wins == low_wins ? low : high) = middle;
    }
    out_.value = low_wins ? low : high;
    std::sort(out_.tried.begin(), out_.tried.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
    return std::move(out_);
  }

 private:
  Result<CompareRow> step_of(const std::string& machine, const std::string& setting) {
    CompareAsk one = ask_;
    one.machines = {machine};
    if (!setting.empty()) one.input.overrides.set.push_back(setting);
    BUSBAR_ASSIGN(std::vector<CompareRow> rows, run_compare(one, watch_));
    if (rows.empty()) return invalid("interrupted before a step was known");
    return std::move(rows.front());
  }

  Result<bool> wins(double value) {
    BUSBAR_ASSIGN(const CompareRow row, step_of(out_.slow, out_.ask.setting(value)));
    out_.slow_gpus = row.run.layout.ranks();
    out_.tried.push_back({value, row.tokens_per_s()});
    return row.tokens_per_s() >= out_.fast_tokens_per_s;
  }

  const CompareAsk& ask_;
  LongRun& watch_;
  MachineCrossing out_;
};

std::string value_text(const MachineCrossing& c, double value) {
  return fmt::format("{} {}", format_number(value), c.ask.unit.empty() ? "" : c.ask.unit);
}

std::string answer(const MachineCrossing& c) {
  const std::string who = fmt::format("{} GPUs of {}", c.slow_gpus, c.slow),
                    other = fmt::format("{} GPUs of {}", c.fast_gpus, c.fast);
  if (c.found)
    return fmt::format("{} are as fast as {} from {} = {} on.", who, other, c.ask.key, value_text(c, c.value));
  const bool always = c.tried.front().tokens_per_s >= c.fast_tokens_per_s;
  return fmt::format("{} are {} than {} for every {} from {} to {}.", who, always ? "faster" : "slower", other,
                     c.ask.key, value_text(c, c.ask.from), value_text(c, c.ask.to));
}

}  // namespace

std::string CrossingAsk::setting(double value) const { return fmt::format("{}={:.6g}{}", key, value, unit); }

Result<CrossingAsk> parse_crossing(const std::string& text) {
  CrossingAsk out;
  const std::size_t equals = text.rfind('='), dots = text.find("..", equals == std::string::npos ? 0 : equals);
  const auto refuse = [&] {
    return flag_error("--crossing", fmt::format("'{}' is no range of a key; write for example "
                                                "fabric.link.rate=25..400Gb/s",
                                                text));
  };
  if (equals == std::string::npos || dots == std::string::npos || equals == 0) return refuse();
  out.key = text.substr(0, equals);
  const std::string end = text.substr(dots + 2);
  const std::size_t digits = std::min(end.find_first_not_of("0123456789.eE"), end.size());
  out.unit = end.substr(digits);
  if (!is_number(text.substr(equals + 1, dots - equals - 1), out.from) || !is_number(end.substr(0, digits), out.to) ||
      !(out.from > 0) || !(out.to > out.from))
    return refuse();
  return out;
}

Result<MachineCrossing> find_crossing(const CompareAsk& ask, const CrossingAsk& crossing, LongRun& watch) {
  return CrossingFinder(ask, watch).find(crossing);
}

Json crossing_json(const MachineCrossing& c) {
  Json j{{"key", c.ask.key},
         {"unit", c.ask.unit},
         {"machine", c.slow},
         {"gpus", c.slow_gpus},
         {"against", c.fast},
         {"against_gpus", c.fast_gpus},
         {"against_tokens_per_s", c.fast_tokens_per_s},
         {"value", c.found ? Json(c.value) : Json(nullptr)},
         {"answer", answer(c)},
         {"rows", Json::array()}};
  for (const CrossingPoint& p : c.tried) j["rows"].push_back({{"value", p.value}, {"tokens_per_s", p.tokens_per_s}});
  return j;
}

Document crossing_document(const MachineCrossing& c, const std::string& typed) {
  Document d{"Where one machine catches up with the other", typed, {}};
  d.add(Highlight{answer(c)});
  Table t{"Tokens per second", {to_left(c.ask.key), c.slow, "against " + c.fast + " (%)"}};
  for (const CrossingPoint& p : c.tried)
    t.rows.push_back({value_text(c, p.value), format_number(p.tokens_per_s, 4),
                      fmt::format("{:+.1f}", 100 * (p.tokens_per_s / c.fast_tokens_per_s - 1))});
  t.note = fmt::format(
      "{} makes {} tokens per second. Each step has the layout that its flags name, or the best of a "
      "short search.",
      c.fast, format_number(c.fast_tokens_per_s, 4));
  d.add(std::move(t));
  return d;
}

}  // namespace busbar
