#include "busbar/views/step_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"

namespace busbar::views {
namespace {

std::string change_words(const step::GapCause& c) {
  return c.factor ? fmt::format("{} {:.2f} of what is described", c.what, *c.factor) : c.what;
}

}  // namespace

report::Paragraph gap_verdict(const step::Gap& g, bool traced) {
  std::string text =
      fmt::format("Measured {}, {:.0f} % {} than the {} predicted", format_duration(g.measured_s),
                  std::abs(g.gap_percent), g.gap_percent < 0 ? "shorter" : "longer", format_duration(g.expected_s));
  text += g.in_band ? ": within the band of the prediction." : ": outside the band of the prediction.";
  if (g.gap_percent <= 0)
    return {text + (g.in_band ? "" : " The model is too slow here; a machine cannot be at fault.")};
  if (traced) return {std::move(text)};  // the trace says where; one cause for all of it may contradict its parts
  if (g.causes.empty() || g.causes.front().explained_percent < step::kExplains)
    return {text + " No single cause below explains it; several, or one that is not modelled."};
  return {text + fmt::format(" The smallest single change that explains it: {}.", change_words(g.causes.front()))};
}

report::Table gap_table(const step::Gap& g) {
  report::Table t{"What alone would explain the measured step",
                  {report::to_left("cause"), "factor", "step (s)", "explains (%)", report::to_left("as with")}};
  for (const step::GapCause& c : g.causes)
    t.rows.push_back({c.what, c.factor ? fmt::format("{:.2f}", *c.factor) : "-", format_number(c.step_time_s),
                      fmt::format("{:.0f}", c.explained_percent), c.hint});
  return t;
}

report::Paragraph traced_verdict(const step::TracedStepGap& g) {
  double gap = 0;
  for (const step::TracedPart& p : g.parts) gap += p.inside ? 0 : p.more_s();
  const step::TracedPart* most = nullptr;
  for (const step::TracedPart& p : g.parts)
    if (!p.inside && p.more_s() * gap > 0 && (most == nullptr || std::abs(p.more_s()) > std::abs(most->more_s())))
      most = &p;
  const formats::StepTrace& t = g.trace;
  std::string text =
      fmt::format("Trace {}: {} step{} of rank {}, {} to {}.", g.file, t.steps.size(), t.steps.size() == 1 ? "" : "s",
                  t.rank, format_duration(g.steps.shortest_us / 1e6), format_duration(g.steps.longest_us / 1e6));
  for (const std::string& note : t.notes) text += fmt::format(" Note: {}.", note);
  if (most == nullptr) return {std::move(text)};
  const auto change = [](double more_s, const char* more, const char* less) {
    return fmt::format("{} {}", format_duration(std::abs(more_s)), more_s > 0 ? more : less);
  };
  text += fmt::format(" The largest part of the difference is {}: {} measured, {} predicted, {}. The step is {}.",
                      most->name, format_duration(most->measured_s), format_duration(most->predicted_s),
                      change(most->more_s(), "more", "less"), change(gap, "longer", "shorter"));
  return {std::move(text)};
}

std::vector<report::Table> traced_tables(const step::TracedStepGap& g) {
  report::Table parts{"The measured step and the predicted one, part by part (s)",
                      {report::to_left("part"), "measured", "predicted", "difference"}};
  for (const step::TracedPart& p : g.parts)
    parts.rows.push_back({(p.inside ? "  of it " : "") + p.name, format_number(p.measured_s),
                          format_number(p.predicted_s), fmt::format("{:+.3g}", p.more_s())});
  parts.note = "Collectives count only while no kernel computes.";
  report::Table calls{"Collectives of one step and GPU",
                      {report::to_left("purpose"), report::to_left("collective"), "times", "predicted", "mean (us)",
                       "fastest (us)", "predicted mean (us)"}};
  for (const step::TracedCalls& c : g.calls)
    calls.rows.push_back({program::name_of(c.cls), c.what, format_number(c.times), format_number(c.predicted_times),
                          c.times > 0 ? format_number(c.mean_us) : "-", c.times > 0 ? format_number(c.fastest_us) : "-",
                          c.predicted_us > 0 ? format_number(c.predicted_us) : "-"});
  calls.note = "A kernel of NCCL also waits for the last rank: the fastest of them waits least.";
  return {std::move(parts), std::move(calls)};
}

report::Table lever_table(double usd_per_day, const std::vector<step::Lever>& levers, std::size_t most) {
  const bool priced = usd_per_day > 0;
  report::Table t{"What would make it shorter", {report::to_left("change"), "step", "saves"}};
  if (priced) t.columns.push_back({"a day"});
  t.columns.push_back(report::to_left("how"));
  for (std::size_t i = 0; i < std::min(most, levers.size()); ++i) {
    const step::Lever& l = levers[i];
    std::vector<std::string> row{l.what, format_duration(l.step_time_s), format_duration(l.saved_s)};
    if (priced) row.push_back(cost::format_money(l.saved_usd_per_day));
    row.push_back(l.flag.empty() ? "another machine" : l.flag);
    t.rows.push_back(std::move(row));
  }
  return t;
}

report::Table compression_table(const step::CompressionTable& t) {
  report::Table out{"Gradients on the wire: when compressing them pays",
                    {report::to_left("gradients"), "bytes each", "sent (GB)", "kernels (ms)", "exposed DP (ms)",
                     "step (s)", "gain (%)", report::to_left("pays up to")}};
  for (const step::CompressionRow& r : t.rows) {
    std::string limit = "no rate";
    if (&r == &t.rows.front())
      limit = "-";
    else if (r.pays_below_factor >= step::kMostRateFactor)
      limit = fmt::format("{:.0f} times today's rate and more", step::kMostRateFactor);
    else if (r.pays_below_GBps)
      limit =
          fmt::format("{} a link ({:.2g} times today's)", format_rate(*r.pays_below_GBps * 1e9), r.pays_below_factor);
    out.rows.push_back({r.gradients, fmt::format("{:.3g}", r.bytes), fmt::format("{:.3g}", r.sent_bytes / 1e9),
                        format_number(r.kernels_s * 1e3), format_number(r.exposed_dp_s * 1e3),
                        format_number(r.step_time_s), fmt::format("{:+.1f}", r.gain_percent), std::move(limit)});
  }
  out.note = fmt::format(
      "Against fp32. The last column changes the rate of {}, from 1/16 to 16 times today's; kernels "
      "of error feedback count for the last two. What compression does to the loss is not known here.",
      t.varied);
  return out;
}

report::Table volume_table(const std::vector<questions::VolumeResult>& volumes) {
  report::Table t{"What a GPU sends in one step (mean)",
                  {report::to_left("purpose"), report::to_left("collective"), "n", "calls", "S", report::to_left("law"),
                   "GB", report::to_left("farthest links")}};
  for (const questions::VolumeResult& v : volumes)
    t.rows.push_back({v.cls, v.collective, std::to_string(v.ranks), format_number(v.calls_per_gpu),
                      format_binary_size(static_cast<std::uint64_t>(std::llround(v.message_bytes))), v.law,
                      fmt::format("{:.3g}", v.bytes_per_gpu / 1e9), v.links});
  t.note = "GB = calls x law, with S bytes a call (mean) and n ranks; in a send_recv one of the n sends.";
  return t;
}

}  // namespace busbar::views
