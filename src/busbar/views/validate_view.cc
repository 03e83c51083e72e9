// Predictions next to measurements.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "busbar/base/quantity.h"
#include "busbar/questions/validate_question.h"
#include "busbar/views/bandwidth_charts.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::ErrorsOfTable;
using questions::LeftOutResult;
using questions::PartLeftOut;
using questions::PartsLeftOut;
using questions::ValidatedRow;
using questions::ValidateRequest;
using questions::ValidateResult;

/// Null: there is none of this name.
template <typename T>
const T* find_in(const Named<T>& groups, std::string_view name) {
  const auto it = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == name; });
  return it == groups.end() ? nullptr : &it->second;
}

std::string one_decimal(double percent) { return fmt::format("{:.1f}", percent); }

report::Table counts_table(const char* title, const char* what, const Named<std::uint64_t>& counts) {
  report::Table t{title, {report::to_left(what), "rows"}};
  for (const auto& [name, n] : counts) t.rows.push_back({name, std::to_string(n)});
  return t;
}

report::Table errors_table(const char* title, const char* what, const Named<accuracy::ErrorSummary>& groups) {
  report::Table t{title,
                  {report::to_left(what), "configurations", "rows", "median error (%)", "median |error| (%)",
                   "mean |error| (%)", "p90 |error| (%)"}};
  for (const auto& [name, e] : groups)
    t.rows.push_back({name, std::to_string(e.configurations), std::to_string(e.rows),
                      fmt::format("{:+.1f}", e.median_percent), one_decimal(e.median_abs_percent),
                      one_decimal(e.mean_abs_percent), one_decimal(e.p90_abs_percent)});
  return t;
}

report::Table coverage_table(const ErrorsOfTable& s) {
  report::Table t{"Measurements inside their bands",
                  {report::to_left("class"), "configurations", "rows", "in the band (%)", "source left out (%)",
                   "median width (%)", "p90 (%)"}};
  for (const auto& [name, b] : s.bands)
    t.rows.push_back({name, std::to_string(b.configurations), std::to_string(b.rows), one_decimal(b.coverage_percent),
                      b.held_percent > 0 ? one_decimal(b.held_percent) : "", one_decimal(b.median_width_percent),
                      one_decimal(b.p90_percent)});
  t.note =
      "All configurations count equally. source left out: of the measurements of such bands, in the band of all other "
      "sources when their own is in no fit (catalog/accuracy). width: from the lower to the upper end of the band, "
      "relative to the predicted time; p90: of |measured / predicted - 1|.";
  return t;
}

/// Bars of collectives by size: the median over configurations of the error without sign.
constexpr double kSizeBarsPercent[] = {15, 9, 5, 2};

/// An error within this many times the spread between equal configurations counts as met: no model sees what differs.
constexpr double kWithinSpread = 1.2;

report::Table twins_table(const ErrorsOfTable& s) {
  report::Table t{
      "Errors next to the spread between equal configurations",
      {report::to_left("size"), "median |error| (%)", "bar (%)", "spread (%)", "pairs", report::to_left("")}};
  const std::vector<std::string> names = accuracy::band_names();
  for (std::size_t i = 0; i < std::size(kSizeBarsPercent); ++i) {
    const accuracy::ErrorSummary* const errors = find_in(s.by_band, names[i]);
    if (errors == nullptr) continue;
    const accuracy::TwinSpread* const found = find_in(s.twins, names[i]);
    const accuracy::TwinSpread twins = found == nullptr ? accuracy::TwinSpread{} : *found;
    const double error = errors->median_abs_percent;
    t.rows.push_back({names[i], one_decimal(error), fmt::format("{:.0f}", kSizeBarsPercent[i]),
                      twins.pairs == 0 ? "" : one_decimal(twins.median_percent), std::to_string(twins.pairs),
                      error <= std::max(kSizeBarsPercent[i], kWithinSpread * twins.median_percent) ? "met" : "missed"});
  }
  t.note = fmt::format(
      "Equal: one board, collective, size and number of GPUs, and equal predictions. spread: slower / faster - 1, the "
      "median over pairs. met: the error is below the bar or below {} times the spread.",
      kWithinSpread);
  return t;
}

/// The bars of training steps: mean and 90 % quantile of the error without sign.
struct StepBar {
  const char* layers;
  double mean_percent, p90_percent;
};
constexpr StepBar kStepBars[] = {{"dense", 6, 12}, {"experts", 8, 18}};

report::Table layers_table(const Named<accuracy::ErrorSummary>& by_layers) {
  report::Table t = errors_table("Errors of dense models and of models with experts", "layers", by_layers);
  for (const StepBar& bar : kStepBars)
    if (const accuracy::ErrorSummary* const e = find_in(by_layers, bar.layers))
      t.note += fmt::format(
          "{}{}: bars {} and {} % for mean and p90, {}", t.note.empty() ? "" : "; ", bar.layers, bar.mean_percent,
          bar.p90_percent,
          e->mean_abs_percent <= bar.mean_percent && e->p90_abs_percent <= bar.p90_percent ? "met" : "not met");
  return t;
}

report::Table models_left_out(const LeftOutResult& left) {
  report::Table t{"Each model with experts left out of the fit of expert_launch",
                  {report::to_left("model"), "configurations", "mean |error| (%)", "launch without it (us)",
                   "mean |error| without it (%)", "p90 |error| without it (%)"}};
  for (const questions::ModelLeftOut& m : *left.models)
    t.rows.push_back({m.model, std::to_string(m.with.configurations), one_decimal(m.with.mean_abs_percent),
                      fmt::format("{:.0f}", m.launch_us), one_decimal(m.without.mean_abs_percent),
                      one_decimal(m.without.p90_abs_percent)});
  t.rows.push_back({"all", std::to_string(left.all->configurations), "", "", one_decimal(left.all->mean_abs_percent),
                    one_decimal(left.all->p90_abs_percent)});
  return t;
}

report::Table own_tables_table(const questions::OwnTablesResult& r) {
  report::Table t{"What tables of a machine do to its other answers",
                  {report::to_left("left out"), report::to_left("size"), "pairs", "machines", "before (%)", "after (%)",
                   "own table (%)", "moved (%)", "worse (%)", "in the band (%)"}};
  for (const accuracy::OwnTableLine& l : r.lines)
    t.rows.push_back({l.left_out, l.sizes, std::to_string(l.pairs), std::to_string(l.machines),
                      one_decimal(l.before_percent), one_decimal(l.after_percent), one_decimal(l.own_percent),
                      fmt::format("{:.0f}", l.moved_percent), fmt::format("{:.0f}", l.worse_percent),
                      fmt::format("{:.0f}", l.in_band_percent)});
  t.note =
      "A pair is a machine and an operation. Its error is the median over its sizes; the columns are medians over "
      "pairs. "
      "before: without tables of the machine; after: with its other tables; own table: with three quarters of its own "
      "sizes; worse: by more than 2 points.";
  return t;
}

report::Table parts_left_out(const char* words, const PartsLeftOut& left) {
  report::Table t{fmt::format("Each {} left out of the fit of held_share and kernel_time (dense models)", words),
                  {report::to_left(words), "configurations", "mean |error| (%)", "median error without it (%)",
                   "mean |error| without it (%)", "p90 |error| without it (%)", "max |error| without it (%)"}};
  const auto add = [&t](const PartLeftOut& p) {
    t.rows.push_back({p.name, std::to_string(p.without.configurations), one_decimal(p.with.mean_abs_percent),
                      fmt::format("{:+.1f}", p.without.median_percent), one_decimal(p.without.mean_abs_percent),
                      one_decimal(p.without.p90_abs_percent), one_decimal(p.without.max_abs_percent)});
  };
  for (const PartLeftOut& p : left.parts) add(p);
  add(left.all);
  t.note = fmt::format("Without it, 9 of 10 configurations were measured {:+.1f} to {:+.1f} % from the prediction.",
                       left.measured_percent[0], left.measured_percent[1]);
  return t;
}

report::Table constants_table(const LeftOutResult& left) {
  report::Table t{"Constants of training steps, fitted on all dense rows but those in no fit",
                  {report::to_left("constant"), report::to_left("of"), "in the catalogue", "fitted"}};
  for (const questions::FittedTo& c : *left.constants)
    t.rows.push_back({c.constant, c.of, fmt::format("{:.3f}", c.catalog), fmt::format("{:.3f}", c.fitted)});
  const auto words = [](const accuracy::ErrorSummary& e) {
    return fmt::format("mean |error| {:.2f} %, p90 {:.1f} %", e.mean_abs_percent, e.p90_abs_percent);
  };
  t.note =
      fmt::format("With the catalogue's: {}. With the fitted: {}.", words(left.with_catalog), words(left.with_fitted));
  return t;
}

/// The bars of the rows that take part in no fit: mean and largest error without sign.
constexpr double kNeverFittedMean = 3.6, kNeverFittedMax = 8.8;

std::string never_fitted_words(const PartLeftOut& p) {
  const accuracy::ErrorSummary& e = p.without;
  const bool met = e.mean_abs_percent <= kNeverFittedMean && e.max_abs_percent <= kNeverFittedMax;
  return fmt::format("Rows in no fit: {} configurations, mean |error| {:.1f} %, max {:.1f} % (bars {} and {} %: {}).",
                     e.configurations, e.mean_abs_percent, e.max_abs_percent, kNeverFittedMean, kNeverFittedMax,
                     met ? "met" : "not met");
}

void add_left_out(const LeftOutResult& left, report::Document& d) {
  if (left.models) d.add(models_left_out(left));
  const std::pair<const char*, const std::optional<PartsLeftOut>&> parts[] = {{"GPU", left.gpus},
                                                                              {"generation of GPUs", left.generations},
                                                                              {"framework", left.frameworks},
                                                                              {"series", left.series}};
  for (const auto& [words, part] : parts)
    if (part) d.add(parts_left_out(words, *part));
  if (left.constants) d.add(constants_table(left));
  if (left.never_fitted) d.add(report::Paragraph{never_fitted_words(*left.never_fitted)});
}

/// How far predictions are from measurements, in one sentence; empty without any.
std::string errors_in_words(const ErrorsOfTable& s) {
  std::string out;
  for (const auto& [name, e] : s.by_band) {
    if (e.rows == 0) continue;
    out += out.empty() ? "Half of all configurations are predicted within " : ", ";
    out += fmt::format("{} %", format_number(e.median_abs_percent, 2));
    if (name != "no size") out += fmt::format(" ({})", name);
  }
  return out.empty() ? out : out + " of the measured time.";
}

report::Table bands_table(const ValidateResult& r) {
  report::Table out = errors_table("Errors by size", "band", r.summary.by_band);
  out.note =
      "error = predicted / measured - 1. Rows of one configuration and band are reduced to their median first; if the "
      "table has a column 'use', only rows with use=accuracy count.";
  if (std::any_of(r.rows.begin(), r.rows.end(), [](const ValidatedRow& row) { return row.kernels.has_value(); }))
    out.note += " Below 1 MiB inside a node: NCCL without symmetric memory kernels.";
  return out;
}

void add_orders(const ErrorsOfTable& s, report::Document& d) {
  if (s.order.pairs > 0)
    d.add(report::Paragraph{
        fmt::format("Order: of {} pairs of one board or GPU count that differ by more than 15 %, {} are in "
                    "the right order ({:.1f} %).",
                    s.order.pairs, s.order.right, s.order.right_percent)});
  if (s.sweeps.sweeps > 0)
    d.add(report::Paragraph{
        fmt::format("Sweeps: of {} with at least three layouts of one job, the layout predicted fastest was "
                    "measured within 5 % of the fastest in {} ({:.0f} %, target 90).",
                    s.sweeps.sweeps, s.sweeps.found, s.sweeps.found_percent)});
  if (s.layouts.pairs > 0)
    d.add(report::Paragraph{
        fmt::format("Layouts: of {} pairs of layouts of one job ({} jobs, which count equally), the ratio "
                    "of the measured times is within {:.1f} % of the predicted ratio in 9 of 10.",
                    s.layouts.pairs, s.layouts.jobs, s.layouts.p90_percent)});
  if (s.after_one_step.pairs > 0)
    d.add(report::Paragraph{fmt::format(
        "After one step: with the kernels of the machine fitted to one layout, the others of the job are off by "
        "{:.1f} % in the mean, 9 of 10 by less than {:.1f} % (before: {:.1f} %; {} pairs of {} jobs).",
        s.after_one_step.after_percent, s.after_one_step.p90_percent, s.after_one_step.before_percent,
        s.after_one_step.pairs, s.after_one_step.jobs)});
}

report::Table worst_table(const ValidateResult& r) {
  report::Table out{"Farthest off",
                    {report::to_left("configuration"), report::to_left("band"), "error (%)", "predicted", "measured",
                     report::to_left("unit"), report::to_left("how"), report::to_left("bound by")}};
  for (const questions::FarthestRow& w : r.worst)
    out.rows.push_back({w.configuration, w.band, fmt::format("{:+.1f}", w.error_percent), format_number(w.predicted),
                        format_number(w.measured), w.unit, w.how, w.bound_by});
  return out;
}

void add_errors(const ErrorsOfTable& s, report::Document& d) {
  if (!s.twins.empty()) d.add(twins_table(s));
  if (!s.bands.empty()) d.add(coverage_table(s));
  d.add(errors_table("Errors by board", "board", s.by_node));
  d.add(errors_table("Errors by fabric", "fabric", s.by_fabric));
  d.add(errors_table("Errors by kind", "kind", s.by_kind));
  if (s.by_layers.empty()) return;
  d.add(layers_table(s.by_layers));
  d.add(errors_table("Errors by model", "model", s.by_model));
}

report::Document validate_document(const ValidateRequest&, const ValidateResult& r) {
  report::Document d{fmt::format("{} rows of {} predicted", r.all_rows, r.file), {}, {}};
  if (const std::string words = errors_in_words(r.summary); !words.empty())
    d.add(report::Highlight{words}, report::Audience::kPage);
  d.add(draw_scatter(r.rows), report::Audience::kPage);
  d.add(draw_errors(r.rows), report::Audience::kPage);
  d.add(bands_table(r));
  add_errors(r.summary, d);
  add_orders(r.summary, d);
  if (report::Table worst = worst_table(r); !worst.rows.empty()) d.add(std::move(worst));
  if (!r.unsupported.empty()) d.add(counts_table("Not predicted", "reason", r.unsupported));
  if (!r.libraries.empty()) d.add(counts_table("Rows by library", "library", r.libraries));
  if (r.left_out) add_left_out(*r.left_out, d);
  if (r.own_tables && !r.own_tables->lines.empty()) d.add(own_tables_table(*r.own_tables));
  return d;
}

}  // namespace

View validate_view() { return make_view("validate", validate_document); }

}  // namespace busbar::views
