#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/step/breakdown.h"
#include "busbar/views/scale_document.h"

namespace busbar::views {
namespace {

/// The part of a step that shrank most, as a share of the step: "exposed_dp falls from 6.1 to 4.9 %".
std::string what_shrank(const step::ScalePoint& a, const step::ScalePoint& b) {
  const auto before = step::breakdown_rows(a.breakdown), after = step::breakdown_rows(b.breakdown);
  const auto share = [](Duration part, Duration step) { return 100 * part.in_s() / step.in_s(); };
  std::string out;
  double most = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].first == "compute") continue;
    const double from = share(before[i].second, a.step), to = share(after[i].second, b.step);
    if (from - to <= most) continue;
    most = from - to;
    out = fmt::format("{} falls from {:.1f} to {:.1f} % of the step", before[i].first, from, to);
  }
  return out.empty() ? "no part but computation differs" : out;
}

std::string name_of(const step::ScaleRun& r) { return r.change.empty() ? r.cluster : r.change; }

}  // namespace

std::string level_words(const step::ScalePoint& p) {
  constexpr const char* kNames[] = {"one server", "one tier of switches", "two tiers", "three tiers"};
  return p.tiers < 4 ? kNames[p.tiers] : fmt::format("{} tiers", p.tiers);
}

std::string hiding_words(const step::ScaleRun& r, bool weak) {
  const step::ScalePoint& first = *r.curve(weak).front();
  if (const std::uint32_t n = r.stops_hiding(weak); n > 0)
    return fmt::format("From {} GPUs on, {}communication of data parallelism is exposed.", n,
                       first.data_percent() > step::kStillHidden ? "more " : "");
  if (first.data_percent() > step::kStillHidden)
    return fmt::format(
        "At {} GPUs, {:.1f} % of the step is exposed communication of data parallelism; further GPUs add "
        "less than 1 %.",
        first.layout.ranks(), first.data_percent());
  return "At every size, compute hides the communication of data parallelism.";
}

std::string remarks_on(const step::ScaleRun& r, bool weak) {
  const auto curve = r.curve(weak);
  std::string out;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    const step::ScalePoint &a = *curve[i - 1], &b = *curve[i];
    if (b.tiers != a.tiers)
      out += fmt::format(" {} GPUs need {}: {:+.1f} points of efficiency.", b.layout.ranks(), level_words(b),
                         std::round(1000 * (b.efficiency - a.efficiency)) / 10 + 0.0);
    if (weak && step::rises(a, b))
      out += fmt::format(" From {} to {} GPUs the efficiency rises: {}{}{}.", a.layout.ranks(), b.layout.ranks(),
                         what_shrank(a, b), b.because.empty() ? "" : "; ", b.because);
  }
  return out;
}

report::Table crossings(const step::ScaleRun& run, const step::ScaleRun& other, bool weak) {
  report::Table t{
      fmt::format("{}: as many tokens/s as {}, {} scaling", name_of(other), name_of(run), weak ? "weak" : "strong"),
      {{"GPUs of " + run.cluster}, "tokens/s", {"GPUs of " + other.cluster}, "tokens/s"}};
  for (const step::ScalePoint* mine : run.curve(weak)) {
    const auto its = other.curve(weak);
    const auto at = std::find_if(its.begin(), its.end(),
                                 [&](const step::ScalePoint* p) { return p->tokens_per_s() >= mine->tokens_per_s(); });
    const bool found = at != its.end();
    t.rows.push_back({std::to_string(mine->layout.ranks()), format_number(mine->tokens_per_s()),
                      found ? std::to_string((*at)->layout.ranks()) : "more",
                      found ? format_number((*at)->tokens_per_s()) : "-"});
  }
  t.note = "The least size of the range that is at least as fast.";
  return t;
}

}  // namespace busbar::views
