#include "busbar/questions/validate_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "busbar/accuracy/leave_out.h"
#include "busbar/accuracy/validate.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/predict_request.h"
#include "busbar/questions/question.h"
#include "busbar/questions/request_line.h"

namespace busbar::questions {

const Record& record_of(const ValidateRequest*) {
  using R = ValidateRequest;
  static const Record record(
      "validate request",
      joined({{Field("file", &R::file, "", "table with the columns of data/measured/README.md").takes("FILE").as_word(),
               Field("only", &R::only, "", "only rows with column=value, !=, > or <; join several by ','")
                   .takes("EXPR")
                   .of("Rows"),
               Field("leave_out", &R::leave_out, "",
                     "training steps: also leave each GPU, framework, series and model with experts out of the fits")
                   .of("Output")
                   .undecided(),
               Field("own_table", &R::own_table, "",
                     "collectives: also judge what tables of one's own machine do to its other answers")
                   .of("Output")
                   .undecided(),
               Field("more", &R::more, "", "another table with the same columns; may be given several times")
                   .takes("FILE")
                   .of("Rows"),
               Field("worst", &R::worst, "", "number of worst cases to list (default 12)")
                   .takes("N")
                   .of("Output")
                   .undecided()},
              predict_fields(&R::predict, "as in each row; steps: as their framework"),
              {Field("engine", &R::engine, "",
                     "analytic (default; gives the same as flow, because a row alone shares no links) or flow")
                   .takes("NAME")
                   .of("Machine")
                   .among({"analytic", "flow"})},
              fields_inside(&R::machine)}));
  return record;
}

namespace {

Named<accuracy::ErrorSummary> listed(const std::map<std::string, accuracy::ErrorSummary>& groups) {
  return {groups.begin(), groups.end()};
}

/// In the order of sizes.
template <typename T>
Named<T> by_size(const std::map<std::string, T>& bands) {
  Named<T> out;
  for (const std::string& name : accuracy::band_names())
    if (const auto it = bands.find(name); it != bands.end()) out.emplace_back(name, it->second);
  return out;
}

/// Whether NCCL may have run kernels on symmetric memory, which are not modelled (as in `collective`).
bool lacks_symmetric_kernels(const accuracy::ScoredRow& r) {
  constexpr double kSmall = 1 << 20;
  const bool has_them = r.kind == "all_reduce" || r.kind == "all_gather" || r.kind == "reduce_scatter";
  return has_them && !r.several_nodes && r.size_bytes > 0 && static_cast<double>(r.size_bytes) < kSmall &&
         r.library.starts_with("NCCL");
}

/// What only rows of some kinds of tables have.
void add_of_kind(const accuracy::ScoredRow& r, ValidatedRow& out) {
  if (lacks_symmetric_kernels(r)) out.kernels = "NCCL without symmetric memory kernels";
  if (r.asked) out.command = request_line(*r.asked);
  if (r.step) out.command = request_line(*r.step);
  if (!r.joined.empty()) out.joined = r.joined, out.p2p = r.p2p;
  if (!r.model.empty()) out.model = r.model, out.layers = r.layers;
  if (!r.band.basis.empty()) out.band_percent = {r.band.low_percent, r.band.high_percent};
  if (!r.band_class.empty()) out.band_class = r.band_class;
}

ValidatedRow shown(const accuracy::ScoredRow& r) {
  ValidatedRow out;
  (r.id_key == std::string_view("row_id") ? out.row_id : out.source_id) = r.id;
  if (r.size_bytes > 0) out.size_bytes = r.size_bytes;
  out.predicted = r.predicted;
  out.measured = r.measured;
  out.error_percent = r.error_percent();
  out.unit = r.unit;
  out.node = r.node;
  out.gpu = r.gpu;
  out.several_nodes = r.several_nodes;
  out.fabric = r.fabric;
  out.kind = r.kind;
  out.scored = r.counts;
  out.how = r.how;
  out.bound_by = r.bound_by;
  if (r.memory_share > 0) out.memory_share = r.memory_share;
  out.library = r.library;
  add_of_kind(r, out);
  return out;
}

ErrorsOfTable shown(const accuracy::Summary& s) {
  ErrorsOfTable out;
  out.by_band = by_size(s.by_band);
  out.bands = by_size(s.bands);
  if (out.bands.empty()) out.bands = {s.bands.begin(), s.bands.end()};
  out.twins = {s.twins.begin(), s.twins.end()};
  out.by_node = listed(s.by_node);
  out.by_fabric = listed(s.by_fabric);
  out.by_kind = listed(s.by_kind);
  out.by_layers = listed(s.by_layers);
  out.by_model = listed(s.by_model);
  for (const auto& [node, bands] : s.by_node_band) out.by_node_and_band.emplace_back(node, by_size(bands));
  out.order = {s.order.pairs, s.order.right, s.order.right_percent()};
  out.sweeps = {s.sweeps.sweeps, s.sweeps.found, s.sweeps.found_percent()};
  out.ties = {s.ties.jobs, s.ties.sources, s.ties.percent, s.ties.held_percent, s.ties.tied};
  out.layouts = {s.layouts.jobs, s.layouts.pairs, s.layouts.p90_percent};
  return out;
}

/// "GPT3-175B on 768 H100-SXM-80GB (row 1238)": the key of merged training rows continues after a bar.
std::string words_of(const accuracy::WorstCase& w, const accuracy::ScoredRow& example) {
  const std::size_t bar = w.configuration.find('|');
  if (bar == std::string::npos) return w.configuration;
  return fmt::format("{} (row {})", w.configuration.substr(0, bar), example.id);
}

FarthestRow shown(const accuracy::WorstCase& w, const accuracy::ScoredRow& r) {
  return {words_of(w, r), w.band, w.error_percent, r.how, r.bound_by, r.predicted, r.measured, r.unit};
}

/// Adds the rows and counts them.
void add_rows(const std::vector<accuracy::ScoredRow>& rows, ValidateResult& out) {
  std::map<std::string, std::uint64_t> reasons, libraries;
  for (const accuracy::ScoredRow& r : rows) {
    if (!r.unsupported.empty()) {
      ++reasons[r.unsupported];
      continue;
    }
    out.rows.push_back(shown(r));
    if (!r.library.empty()) ++libraries[r.library];
  }
  out.all_rows = rows.size();
  out.unsupported = {reasons.begin(), reasons.end()};
  out.libraries = {libraries.begin(), libraries.end()};
}

PartLeftOut shown(const accuracy::LeftOutPart& p) { return {p.name, p.with, p.without}; }

PartsLeftOut shown(const accuracy::LeftOutTable& t) {
  PartsLeftOut out{{}, shown(t.all), {t.low_percent, t.high_percent}};
  for (const accuracy::LeftOutPart& p : t.parts) out.parts.push_back(shown(p));
  return out;
}

void add_models(const accuracy::LeftOutModels& left, LeftOutResult& out) {
  if (left.models.empty()) return;
  out.all = left.all;
  out.models.emplace();
  for (const accuracy::LeftOut& m : left.models) out.models->push_back({m.name, m.with, m.launch.in_us(), m.without});
}

/// The member of `out` for the parts of `key`.
std::optional<PartsLeftOut>& parts_of(const std::string& key, LeftOutResult& out) {
  if (key == "gpu") return out.gpus;
  if (key == "generation") return out.generations;
  return key == "framework" ? out.frameworks : out.series;
}

void add_dense(const accuracy::LeftOutDense& dense, LeftOutResult& out) {
  for (const accuracy::LeftOutTable& t : dense.tables) parts_of(t.key, out) = shown(t);
  if (!dense.constants.empty()) out.constants.emplace();
  for (const accuracy::FittedConstant& c : dense.constants) out.constants->push_back({c.key, c.name, c.now, c.fitted});
  if (dense.never_fitted.with.rows > 0) out.never_fitted = shown(dense.never_fitted);
  out.with_catalog = dense.all.with;
  out.with_fitted = dense.all.without;
}

/// Predictions of `rows` without their sources, by the constants of dense steps and by the launch of experts. The
/// errors after one measured step are those of such predictions, since the next user is a new source.
void add_without_source(const accuracy::WithoutSource& dense, const accuracy::WithoutSource& launch,
                        std::vector<accuracy::ScoredRow> rows, ValidateResult& out) {
  const auto factor = [](const accuracy::WithoutSource& of, std::size_t row) {
    const auto it = of.find(row);
    return it == of.end() ? 1 : it->second;
  };
  auto at = out.rows.begin();
  for (accuracy::ScoredRow& r : rows) {
    if (!r.unsupported.empty()) continue;
    r.predicted *= factor(dense, r.row) * factor(launch, r.row);
    if (r.counts) at->without_source = r.predicted;
    ++at;
  }
  const accuracy::AfterOneStep a = accuracy::summarise(rows).after_one_step;
  out.summary.after_one_step = {a.jobs, a.pairs, a.before_percent, a.after_percent, a.p90_percent};
}

/// Empty: the table has too few training steps.
Result<std::optional<LeftOutResult>> left_out(const CsvTable& table, const accuracy::ValidateOptions& options,
                                              const std::vector<accuracy::ScoredRow>& rows, ValidateResult& result) {
  LeftOutResult out;
  BUSBAR_ASSIGN(const accuracy::LeftOutModels models, accuracy::leave_models_out(table, options));
  BUSBAR_ASSIGN(const accuracy::LeftOutDense dense, accuracy::leave_dense_out(table, options));
  add_models(models, out);
  add_dense(dense, out);
  if (!dense.without_source.empty() || !models.without_source.empty())
    add_without_source(dense.without_source, models.without_source, rows, result);
  const bool any = out.models || !dense.tables.empty() || out.constants || out.never_fitted;
  return any ? std::optional<LeftOutResult>(std::move(out)) : std::nullopt;
}

}  // namespace

Result<ValidateResult> answer(const ValidateRequest& q, const Context& context) {
  const auto go_on = [&](std::size_t done, std::size_t total) { return context.go_on("rows", done, total); };
  accuracy::ValidateOptions options{q.machine, q.engine, q.only, q.predict, go_on, context.stop};
  BUSBAR_ASSIGN(CsvTable table, CsvTable::load(q.file));
  BUSBAR_ASSIGN(std::vector<accuracy::ScoredRow> rows, accuracy::validate(table, options));
  std::vector<accuracy::ScoredTable> tables{{std::move(table), rows}};
  for (const std::string& file : q.more) {
    BUSBAR_ASSIGN(table, CsvTable::load(file));
    BUSBAR_ASSIGN(const std::vector<accuracy::ScoredRow> others, accuracy::validate(table, options));
    rows.insert(rows.end(), others.begin(), others.end());
    tables.push_back({std::move(table), others});
  }
  ValidateResult r;
  r.file = q.file;
  r.engine = q.engine;
  r.complete = !context.stopped();
  add_rows(rows, r);
  r.summary = shown(accuracy::summarise(rows));
  for (const accuracy::WorstCase& w : accuracy::worst_cases(rows, q.worst))
    r.worst.push_back(shown(w, rows[w.example]));
  if (q.own_table && r.complete) {
    accuracy::OwnTableJudgement judged = accuracy::judge_own_tables(tables);
    r.own_tables = {std::move(judged.lines), judged.best_is_in_use};
  }
  if (!q.leave_out || !r.complete) return r;
  options.go_on = [](std::size_t, std::size_t) { return true; };
  BUSBAR_ASSIGN(r.left_out, left_out(tables.front().table, options, tables.front().rows, r));
  return r;
}

Question validate_question() {
  return make_question<ValidateRequest, ValidateResult>(
      "validate", "predict every row of a table of measurements and show the errors",
      "  busbar validate data/measured/collectives.csv\n"
      "  busbar validate data/measured/collectives.csv --only node=dgx-h100,nodes=2 --json\n"
      "  busbar validate data/measured/collectives.csv --only 'collective=all_reduce,size_bytes>1048575'\n",
      90);
}

}  // namespace busbar::questions
