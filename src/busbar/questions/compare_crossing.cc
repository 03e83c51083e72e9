#include "busbar/questions/compare_crossing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar::questions {
namespace {

constexpr double kWithin = 1.01;  // the ends of the last step differ by less

/// Both machines in turn, each with a layout of its own unless flags name one.
class CrossingFinder {
 public:
  CrossingFinder(const CompareAsk& ask, const Context& context) : ask_(ask), context_(context) {}

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
    while (out_.found && high > kWithin * low && !context_.stopped()) {
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
    BUSBAR_ASSIGN(std::vector<CompareRow> rows, run_compare(one, context_));
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
  const Context& context_;
  MachineCrossing out_;
};

}  // namespace

std::string CrossingAsk::words(double v) const { return fmt::format("{} {}", format_number(v), unit); }

std::string CrossingAsk::setting(double value) const { return fmt::format("{}={:.6g}{}", key, value, unit); }

Result<CrossingAsk> parse_crossing(const std::string& text) {
  CrossingAsk out;
  const std::size_t equals = text.rfind('='), dots = text.find("..", equals == std::string::npos ? 0 : equals);
  const auto refuse = [&] {
    return invalid(fmt::format("'{}' is no range of a key; write for example fabric.link.rate=25..400Gb/s", text),
                   {"", 0, 0, "crossing"});
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

Result<MachineCrossing> find_crossing(const CompareAsk& ask, const CrossingAsk& crossing, const Context& context) {
  return CrossingFinder(ask, context).find(crossing);
}

std::string crossing_words(const MachineCrossing& c) {
  const std::string who = fmt::format("{} GPUs of {}", c.slow_gpus, c.slow),
                    other = fmt::format("{} GPUs of {}", c.fast_gpus, c.fast);
  if (c.found) return fmt::format("{} are as fast as {} from {} = {} on.", who, other, c.ask.key, c.ask.words(c.value));
  const bool always = c.tried.front().tokens_per_s >= c.fast_tokens_per_s;
  return fmt::format("{} are {} than {} for every {} from {} to {}.", who, always ? "faster" : "slower", other,
                     c.ask.key, c.ask.words(c.ask.from), c.ask.words(c.ask.to));
}

}  // namespace busbar::questions
