#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "busbar/accuracy/leave_out.h"
#include "busbar/accuracy/summary.h"
#include "busbar/accuracy/validate.h"
#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/session.h"
#include "busbar/questions/request_line.h"
#include "busbar/views/bandwidth_charts.h"

namespace busbar {
namespace {

struct ValidateFlags {
  CommonOptions common;
  PredictOptions predict;
  std::string file, only;
  std::uint32_t worst = 12;
  bool leave_out = false;
};

Json to_json(const ErrorSummary& e) {
  return {{"configurations", e.configurations},     {"rows", e.rows},
          {"median_percent", e.median_percent},     {"median_abs_percent", e.median_abs_percent},
          {"mean_abs_percent", e.mean_abs_percent}, {"p90_abs_percent", e.p90_abs_percent},
          {"max_abs_percent", e.max_abs_percent}};
}

Json to_json(const std::map<std::string, ErrorSummary>& groups) {
  Json j = Json::object();
  for (const auto& [name, e] : groups) j[name] = to_json(e);
  return j;
}

Json bands_to_json(const std::map<std::string, ErrorSummary>& bands) {
  Json j = Json::object();
  for (const std::string& name : band_names())
    if (const auto it = bands.find(name); it != bands.end()) j[name] = to_json(it->second);
  return j;
}

Json to_json(const BandSummary& b) {
  return {{"configurations", b.configurations},
          {"rows", b.rows},
          {"coverage_percent", b.coverage_percent},
          {"median_width_percent", b.median_width_percent},
          {"p90_percent", b.p90_percent}};
}

/// Whether NCCL may have run kernels on symmetric memory, which are not modelled (as in `collective`).
bool lacks_symmetric_kernels(const ScoredRow& r) {
  constexpr double kSmall = 1 << 20;
  const bool has_them = r.kind == "all_reduce" || r.kind == "all_gather" || r.kind == "reduce_scatter";
  return has_them && !r.several_nodes && r.size_bytes > 0 && static_cast<double>(r.size_bytes) < kSmall &&
         r.library.starts_with("NCCL");
}

Json to_json(const ScoredRow& r) {
  Json j{{r.id_key, r.id},
         {"size_bytes", nullptr},
         {"predicted", r.predicted},
         {"measured", r.measured},
         {"error_percent", r.error_percent()},
         {"unit", r.unit},
         {"node", r.node},
         {"gpu", r.gpu},
         {"several_nodes", r.several_nodes},
         {"fabric", r.fabric},
         {"kind", r.kind},
         {"scored", r.counts},
         {"how", r.how},
         {"bound_by", r.bound_by},
         {"memory_share", r.memory_share > 0 ? Json(r.memory_share) : Json()},
         {"library", r.library}};
  if (r.size_bytes > 0) j["size_bytes"] = r.size_bytes;
  if (lacks_symmetric_kernels(r)) j["kernels"] = "NCCL without symmetric memory kernels";
  if (r.asked) j["command"] = request_line(*r.asked);
  if (r.step) j["command"] = request_line(*r.step);
  if (!r.joined.empty()) j["joined"] = r.joined, j["p2p"] = r.p2p;
  if (!r.model.empty()) j["model"] = r.model, j["layers"] = r.layers;
  if (!r.band.basis.empty()) j["band_percent"] = Json::array({r.band.low_percent, r.band.high_percent});
  return j;
}

std::map<std::string, std::size_t> reasons(const std::vector<ScoredRow>& rows) {
  std::map<std::string, std::size_t> out;
  for (const ScoredRow& r : rows)
    if (!r.unsupported.empty()) ++out[r.unsupported];
  return out;
}

/// Number of rows by the library whose rules predicted them.
std::map<std::string, std::size_t> libraries(const std::vector<ScoredRow>& rows) {
  std::map<std::string, std::size_t> out;
  for (const ScoredRow& r : rows)
    if (r.unsupported.empty() && !r.library.empty()) ++out[r.library];
  return out;
}

Table counts_table(const char* title, const char* what, const std::map<std::string, std::size_t>& counts) {
  Table t{title, {to_left(what), "rows"}};
  for (const auto& [name, n] : counts) t.rows.push_back({name, std::to_string(n)});
  return t;
}

void add_errors(Table& t, const std::string& name, const ErrorSummary& e) {
  t.rows.push_back({name, std::to_string(e.configurations), std::to_string(e.rows),
                    fmt::format("{:+.1f}", e.median_percent), fmt::format("{:.1f}", e.median_abs_percent),
                    fmt::format("{:.1f}", e.mean_abs_percent), fmt::format("{:.1f}", e.p90_abs_percent)});
}

Table errors_table(const char* title, const char* what, const std::map<std::string, ErrorSummary>& groups, bool bands) {
  Table t{title,
          {to_left(what), "configurations", "rows", "median error (%)", "median |error| (%)", "mean |error| (%)",
           "p90 |error| (%)"}};
  if (bands) {
    for (const std::string& name : band_names())
      if (const auto it = groups.find(name); it != groups.end()) add_errors(t, name, it->second);
  } else {
    for (const auto& [name, e] : groups) add_errors(t, name, e);
  }
  return t;
}

Table coverage_table(const std::map<std::string, BandSummary>& bands) {
  Table t{"Measurements inside their bands",
          {to_left("size"), "configurations", "rows", "in the band (%)", "median width (%)", "p90 (%)"}};
  for (const std::string& name : band_names())
    if (const auto it = bands.find(name); it != bands.end())
      t.rows.push_back({name, std::to_string(it->second.configurations), std::to_string(it->second.rows),
                        fmt::format("{:.1f}", it->second.coverage_percent),
                        fmt::format("{:.1f}", it->second.median_width_percent),
                        fmt::format("{:.1f}", it->second.p90_percent)});
  t.note =
      "All configurations count equally. width: from the lower to the upper end of the band, relative to the predicted "
      "time; p90: of |measured / predicted - 1|.";
  return t;
}

/// "GPT3-175B on 768 H100-SXM-80GB (row 1238)": the key of merged training rows continues after a bar.
std::string words_of(const WorstCase& w, const ScoredRow& example) {
  const std::size_t bar = w.configuration.find('|');
  if (bar == std::string::npos) return w.configuration;
  return fmt::format("{} (row {})", w.configuration.substr(0, bar), example.id);
}

/// Bars of collectives by size: the median over configurations of the error without sign.
constexpr double kSizeBarsPercent[] = {15, 9, 5, 2};

/// An error within this many times the spread between equal configurations counts as met: no model sees what differs.
constexpr double kWithinSpread = 1.2;

Table twins_table(const Summary& s) {
  Table t{"Errors next to the spread between equal configurations",
          {to_left("size"), "median |error| (%)", "bar (%)", "spread (%)", "pairs", to_left("")}};
  const std::vector<std::string> names = band_names();
  for (std::size_t i = 0; i < std::size(kSizeBarsPercent); ++i) {
    const auto errors = s.by_band.find(names[i]);
    if (errors == s.by_band.end()) continue;
    const auto it = s.twins.find(names[i]);
    const TwinSpread twins = it == s.twins.end() ? TwinSpread{} : it->second;
    const double error = errors->second.median_abs_percent;
    t.rows.push_back({names[i], fmt::format("{:.1f}", error), fmt::format("{:.0f}", kSizeBarsPercent[i]),
                      twins.pairs == 0 ? "" : fmt::format("{:.1f}", twins.median_percent), std::to_string(twins.pairs),
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

Table layers_table(const std::map<std::string, ErrorSummary>& by_layers) {
  Table t = errors_table("Errors of dense models and of models with experts", "layers", by_layers, false);
  for (const StepBar& bar : kStepBars)
    if (const auto it = by_layers.find(bar.layers); it != by_layers.end())
      t.note += fmt::format(
          "{}{}: bars {} and {} % for mean and p90, {}", t.note.empty() ? "" : "; ", bar.layers, bar.mean_percent,
          bar.p90_percent,
          it->second.mean_abs_percent <= bar.mean_percent && it->second.p90_abs_percent <= bar.p90_percent ? "met"
                                                                                                           : "not met");
  return t;
}

Table left_out_table(const LeftOutModels& left) {
  Table t{"Each model with experts left out of the fit of expert_launch",
          {to_left("model"), "configurations", "mean |error| (%)", "launch without it (us)",
           "mean |error| without it (%)", "p90 |error| without it (%)"}};
  for (const LeftOut& m : left.models)
    t.rows.push_back({m.name, std::to_string(m.with.configurations), fmt::format("{:.1f}", m.with.mean_abs_percent),
                      fmt::format("{:.0f}", m.launch.in_us()), fmt::format("{:.1f}", m.without.mean_abs_percent),
                      fmt::format("{:.1f}", m.without.p90_abs_percent)});
  t.rows.push_back({"all", std::to_string(left.all.configurations), "", "",
                    fmt::format("{:.1f}", left.all.mean_abs_percent), fmt::format("{:.1f}", left.all.p90_abs_percent)});
  return t;
}

Json left_out_json(const LeftOutModels& left) {
  Json j{{"models", Json::array()}, {"all", to_json(left.all)}};
  for (const LeftOut& m : left.models)
    j["models"].push_back({{"model", m.name},
                           {"with", to_json(m.with)},
                           {"launch_us", m.launch.in_us()},
                           {"without", to_json(m.without)}});
  return j;
}

struct LeftOutKey {
  const char *key, *words, *json;
};
constexpr LeftOutKey kLeftOutKeys[] = {{"gpu", "GPU", "gpus"},
                                       {"generation", "generation of GPUs", "generations"},
                                       {"framework", "framework", "frameworks"},
                                       {"series", "series", "series"}};

const LeftOutKey& words_of(const LeftOutTable& t) {
  return *std::find_if(std::begin(kLeftOutKeys), std::end(kLeftOutKeys), [&](auto& k) { return k.key == t.key; });
}

Table left_out_table(const LeftOutTable& left) {
  const std::string words = words_of(left).words;
  Table t{fmt::format("Each {} left out of the fit of held_share and kernel_time (dense models)", words),
          {to_left(words), "configurations", "mean |error| (%)", "median error without it (%)",
           "mean |error| without it (%)", "p90 |error| without it (%)", "max |error| without it (%)"}};
  const auto add = [&t](const LeftOutPart& p) {
    t.rows.push_back(
        {p.name, std::to_string(p.without.configurations), fmt::format("{:.1f}", p.with.mean_abs_percent),
         fmt::format("{:+.1f}", p.without.median_percent), fmt::format("{:.1f}", p.without.mean_abs_percent),
         fmt::format("{:.1f}", p.without.p90_abs_percent), fmt::format("{:.1f}", p.without.max_abs_percent)});
  };
  for (const LeftOutPart& p : left.parts) add(p);
  add(left.all);
  t.note = fmt::format("Without it, 9 of 10 configurations were measured {:+.1f} to {:+.1f} % from the prediction.",
                       left.low_percent, left.high_percent);
  return t;
}

Json to_json(const LeftOutPart& p) {
  return {{"name", p.name}, {"with", to_json(p.with)}, {"without", to_json(p.without)}};
}

Json to_json(const LeftOutTable& left) {
  Json j{{"parts", Json::array()},
         {"all", to_json(left.all)},
         {"measured_percent", Json::array({left.low_percent, left.high_percent})}};
  for (const LeftOutPart& p : left.parts) j["parts"].push_back(to_json(p));
  return j;
}

Table constants_table(const LeftOutDense& dense) {
  Table t{"Constants of training steps, fitted on all dense rows but those in no fit",
          {to_left("constant"), to_left("of"), "in the catalogue", "fitted"}};
  for (const FittedConstant& c : dense.constants)
    t.rows.push_back({c.key, c.name, fmt::format("{:.3f}", c.now), fmt::format("{:.3f}", c.fitted)});
  const auto words = [](const ErrorSummary& e) {
    return fmt::format("mean |error| {:.2f} %, p90 {:.1f} %", e.mean_abs_percent, e.p90_abs_percent);
  };
  t.note =
      fmt::format("With the catalogue's: {}. With the fitted: {}.", words(dense.all.with), words(dense.all.without));
  return t;
}

Json constants_json(const LeftOutDense& dense) {
  Json j = Json::array();
  for (const FittedConstant& c : dense.constants)
    j.push_back({{"constant", c.key}, {"of", c.name}, {"catalog", c.now}, {"fitted", c.fitted}});
  return j;
}

/// The bars of the rows that take part in no fit: mean and largest error without sign.
constexpr double kNeverFittedMean = 3.6, kNeverFittedMax = 8.8;

std::string never_fitted_words(const LeftOutPart& p) {
  const ErrorSummary& e = p.without;
  const bool met = e.mean_abs_percent <= kNeverFittedMean && e.max_abs_percent <= kNeverFittedMax;
  return fmt::format("Rows in no fit: {} configurations, mean |error| {:.1f} %, max {:.1f} % (bars {} and {} %: {}).",
                     e.configurations, e.mean_abs_percent, e.max_abs_percent, kNeverFittedMean, kNeverFittedMax,
                     met ? "met" : "not met");
}

/// Adds the tables and fields of --leave-out.
Status leave_out(const CsvTable& table, const ValidateOptions& options, Json& j, Document& d) {
  BUSBAR_ASSIGN(const LeftOutModels models, leave_models_out(table, options));
  if (!models.models.empty()) {
    j["left_out"] = left_out_json(models);
    d.add(left_out_table(models));
  }
  BUSBAR_ASSIGN(const LeftOutDense dense, leave_dense_out(table, options));
  for (const LeftOutTable& t : dense.tables) {
    j["left_out"][words_of(t).json] = to_json(t);
    d.add(left_out_table(t));
  }
  if (!dense.constants.empty()) {
    j["left_out"]["constants"] = constants_json(dense);
    d.add(constants_table(dense));
  }
  if (dense.never_fitted.with.rows > 0) {
    j["left_out"]["never_fitted"] = to_json(dense.never_fitted);
    d.add(Paragraph{never_fitted_words(dense.never_fitted)});
  }
  return {};
}

/// How far predictions are from measurements, in one sentence; empty without any.
std::string errors_in_words(const Summary& s) {
  std::string out;
  for (const std::string& name : band_names()) {
    const auto it = s.by_band.find(name);
    if (it == s.by_band.end() || it->second.rows == 0) continue;
    const ErrorSummary& e = it->second;
    out += out.empty() ? "Half of all configurations are predicted within " : ", ";
    out += fmt::format("{} %", format_number(e.median_abs_percent, 2));
    if (name != "no size") out += fmt::format(" ({})", name);
  }
  return out.empty() ? out : out + " of the measured time.";
}

Document to_document(const ValidateFlags& o, const std::vector<ScoredRow>& rows, const Summary& s) {
  Document d{fmt::format("{} rows of {} predicted", rows.size(), o.file), o.common.typed, {}};
  Table bands = errors_table("Errors by size", "band", s.by_band, true);
  bands.note =
      "error = predicted / measured - 1. Rows of one configuration and band are reduced to their median first; if the "
      "table has a column 'use', only rows with use=accuracy count.";
  if (std::any_of(rows.begin(), rows.end(), lacks_symmetric_kernels))
    bands.note += " Below 1 MiB inside a node: NCCL without symmetric memory kernels.";
  if (const std::string words = errors_in_words(s); !words.empty()) d.add(Highlight{words}, Audience::kPage);
  d.add(draw_scatter(rows), Audience::kPage);
  d.add(bands);
  if (!s.twins.empty()) d.add(twins_table(s));
  if (!s.bands.empty()) d.add(coverage_table(s.bands));
  d.add(errors_table("Errors by board", "board", s.by_node, false));
  d.add(errors_table("Errors by fabric", "fabric", s.by_fabric, false));
  d.add(errors_table("Errors by kind", "kind", s.by_kind, false));
  if (!s.by_layers.empty()) {
    d.add(layers_table(s.by_layers));
    d.add(errors_table("Errors by model", "model", s.by_model, false));
  }
  if (s.order.pairs > 0)
    d.blocks.push_back(
        {Paragraph{fmt::format("Order: of {} pairs of one board or GPU count that differ by more than 15 %, {} are in "
                               "the right order ({:.1f} %).",
                               s.order.pairs, s.order.right, s.order.right_percent())}});
  if (s.sweeps.sweeps > 0)
    d.blocks.push_back(
        {Paragraph{fmt::format("Sweeps: of {} with at least three layouts of one job, the layout predicted fastest was "
                               "measured within 5 % of the fastest in {} ({:.0f} %, target 90).",
                               s.sweeps.sweeps, s.sweeps.found, s.sweeps.found_percent())}});
  if (s.layouts.pairs > 0)
    d.blocks.push_back(
        {Paragraph{fmt::format("Layouts: of {} pairs of layouts of one job ({} jobs, which count equally), the ratio "
                               "of the measured times is within {:.1f} % of the predicted ratio in 9 of 10.",
                               s.layouts.pairs, s.layouts.jobs, s.layouts.p90_percent)}});
  Table worst{"Farthest off",
              {to_left("configuration"), to_left("band"), "error (%)", "predicted", "measured", to_left("unit"),
               to_left("how"), to_left("bound by")}};
  for (const WorstCase& w : worst_cases(rows, o.worst)) {
    const ScoredRow& r = rows[w.example];
    worst.rows.push_back({words_of(w, r), w.band, fmt::format("{:+.1f}", w.error_percent), format_number(r.predicted),
                          format_number(r.measured), r.unit, r.how, r.bound_by});
  }
  if (!worst.rows.empty()) d.add(worst);
  if (const auto left = reasons(rows); !left.empty()) d.add(counts_table("Not predicted", "reason", left));
  if (const auto used = libraries(rows); !used.empty()) d.add(counts_table("Rows by library", "library", used));
  return d;
}

Result<int> run(const ValidateFlags& o) {
  LongRun watch("rows");
  const auto go_on = [&watch](std::size_t done, std::size_t total) { return watch.go_on(done, total); };
  ValidateOptions options{o.common.overrides, o.common.engine, o.only, o.predict, go_on, LongRun::flag()};
  BUSBAR_ASSIGN(const CsvTable table, CsvTable::load(o.file));
  BUSBAR_ASSIGN(const std::vector<ScoredRow> rows, validate(table, options));
  watch.report_interruption();
  const Summary s = summarise(rows);
  Json j{{"schema", "busbar.validate/1"},    {"file", o.file},        {"engine", o.common.engine},
         {"complete", !watch.interrupted()}, {"rows", Json::array()}, {"unsupported", Json::object()}};
  for (const ScoredRow& r : rows)
    if (r.unsupported.empty()) j["rows"].push_back(to_json(r));
  for (const auto& [reason, n] : reasons(rows)) j["unsupported"][reason] = n;
  j["libraries"] = Json::object();
  for (const auto& [library, n] : libraries(rows)) j["libraries"][library] = n;
  j["summary"] = {
      {"by_band", bands_to_json(s.by_band)},
      {"bands", Json::object()},
      {"twins", Json::object()},
      {"by_node", to_json(s.by_node)},
      {"by_fabric", to_json(s.by_fabric)},
      {"by_kind", to_json(s.by_kind)},
      {"by_layers", to_json(s.by_layers)},
      {"by_model", to_json(s.by_model)},
      {"by_node_and_band", Json::object()},
      {"order", {{"pairs", s.order.pairs}, {"right", s.order.right}, {"right_percent", s.order.right_percent()}}},
      {"sweeps", {{"sweeps", s.sweeps.sweeps}, {"found", s.sweeps.found}, {"found_percent", s.sweeps.found_percent()}}},
      {"layouts", {{"jobs", s.layouts.jobs}, {"pairs", s.layouts.pairs}, {"p90_percent", s.layouts.p90_percent}}}};
  for (const auto& [node, bands] : s.by_node_band) j["summary"]["by_node_and_band"][node] = bands_to_json(bands);
  for (const auto& [name, b] : s.bands) j["summary"]["bands"][name] = to_json(b);
  for (const auto& [name, t] : s.twins)
    j["summary"]["twins"][name] = {{"pairs", t.pairs}, {"median_percent", t.median_percent}};
  j["worst"] = Json::array();
  for (const WorstCase& w : worst_cases(rows, o.worst))
    j["worst"].push_back({{"configuration", words_of(w, rows[w.example])},
                          {"band", w.band},
                          {"error_percent", w.error_percent},
                          {"how", rows[w.example].how},
                          {"bound_by", rows[w.example].bound_by}});
  Document d = to_document(o, rows, s);
  if (o.leave_out && !watch.interrupted()) {
    options.go_on = [](std::size_t, std::size_t) { return true; };
    BUSBAR_RETURN_IF_ERROR(leave_out(table, options, j, d));
  }
  return deliver(o.common, j, d, watch.status());
}

}  // namespace

Command validate_command(const std::string& typed) {
  const auto o = std::make_shared<ValidateFlags>();
  o->common.engine = "analytic";
  Command c =
      new_command(o->common, typed, "validate", "predict every row of a table of measurements and show the errors");
  c.examples =
      "  busbar validate data/measured/collectives.csv\n"
      "  busbar validate data/measured/collectives.csv --only node=dgx-h100,nodes=2 --json\n"
      "  busbar validate data/measured/collectives.csv --only 'collective=all_reduce,size_bytes>1048575'\n";
  c.positionals = {{"FILE", "table with the columns of data/measured/README.md", &o->file}};
  c.flags = {{"--only", "EXPR", "only rows with column=value, !=, > or <; join several by ','", "Rows", &o->only},
             {"--leave-out", "",
              "training steps: also leave each GPU, framework, series and model with experts out of the fits", "Output",
              &o->leave_out},
             {"--worst", "N", "number of worst cases to list (default 12)", "Output", &o->worst}};
  for (Flag& f : predict_flags(o->predict, "as in each row; steps: as their framework"))
    c.flags.push_back(std::move(f));
  add_common_flags(c, o->common, Engines::kFluids, false);
  for (Flag& f : c.flags)
    if (f.names == "--engine")
      f.help = "analytic (default; gives the same as flow, because a row alone shares no links) or flow";
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
