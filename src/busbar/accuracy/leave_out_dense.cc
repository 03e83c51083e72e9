#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "busbar/accuracy/internal/constant_fit.h"
#include "busbar/accuracy/internal/counted_rows.h"
#include "busbar/accuracy/internal/row_catalog.h"
#include "busbar/accuracy/leave_out.h"
#include "busbar/spec/clock_curve.h"
#include "busbar/spec/framework.h"
#include "busbar/spec/kernels_file.h"

namespace busbar::accuracy {
namespace {

constexpr double kSlowerClock = 0.9, kSlowerKernels = 1.1;  // of the two trials
constexpr double kStartHeldShare = 0.9;

struct DenseRow {
  FitRow fit;
  std::size_t row = 0;  ///< of the table
  std::string gpu, generation, framework, series;
  bool fitted = true;  ///< takes part in fits
};

/// Names of the constants and their places in a vector, by name.
struct Constants {
  std::map<std::string, std::size_t> at;
  std::set<std::size_t> generations, reference;  ///< reference: frameworks whose kernel_time is 1 by definition
  std::vector<double> start, now;                ///< where fits begin; in the catalogue

  std::size_t add(const std::string& name, double value, double in_catalog) {
    const auto [it, added] = at.emplace(name, start.size());
    if (added) start.push_back(value), now.push_back(in_catalog);
    return it->second;
  }
};

struct Generation {
  std::string name;  ///< of its curve; empty: none
  double held_share = 1;
};

Result<Generation> generation_of(const std::string& gpu, const spec::Catalog& catalog) {
  BUSBAR_ASSIGN(const std::string name, spec::clock_curve_of(gpu, catalog));
  if (name.empty()) return Generation();
  std::vector<std::string> sources;
  BUSBAR_ASSIGN(const spec::ClockCurve curve, spec::ClockCurve::load(name, catalog, sources));
  return Generation{name, curve.held_share};
}

/// The scored rows, each predicted with the catalogue's constants, with slower clocks, and with slower kernels.
class DenseRows {
 public:
  DenseRows(const CsvTable& table, const ValidateOptions& options)
      : table_(table), options_(options), files_(options.overrides.catalog) {}

  Status predict() {
    BUSBAR_ASSIGN(const std::vector<std::size_t> asked, filter_rows(table_, options_.only));
    if (asked.empty()) return {};
    BUSBAR_ASSIGN(const std::vector<ScoredRow> now, trial({}));
    BUSBAR_ASSIGN(const std::vector<ScoredRow> clock, trial({.held_share = kSlowerClock}));
    BUSBAR_ASSIGN(const std::vector<ScoredRow> software, trial({.kernel_time = kSlowerKernels}));
    if (clock.size() != now.size() || software.size() != now.size()) return {};  // stopped
    for (std::size_t i = 0; i < now.size(); ++i)
      BUSBAR_RETURN_IF_ERROR(add(now[i], clock[i].predicted, software[i].predicted));
    return {};
  }

  std::vector<DenseRow> rows, experts;
  Constants constants;

 private:
  Result<std::vector<ScoredRow>> trial(TrainingFactors factors) {
    options_.factors = factors;
    return counted_rows(table_, options_);
  }
  Status add(const ScoredRow& now, double with_slower_clock, double with_slower_kernels) {
    if (!generations_.contains(now.gpu)) {
      BUSBAR_ASSIGN(generations_[now.gpu], generation_of(now.gpu, files_.catalog()));
    }
    const Generation& generation = generations_[now.gpu];
    if (generation.name.empty()) return {};
    BUSBAR_ASSIGN(const spec::Framework framework, spec::Framework::open(now.kind, {}, files_.catalog()));
    BUSBAR_ASSIGN(const double kernel_time, framework.kernel_time(""));
    FitRow f{.ratio = now.predicted / now.measured, .held = generation.held_share, .time = kernel_time};
    f.clock_share = (with_slower_clock / now.predicted - 1) / (1 / kSlowerClock - 1);
    f.software_share = (with_slower_kernels / now.predicted - 1) / (kSlowerKernels - 1);
    f.generation = constants.add(generation.name, kStartHeldShare, generation.held_share);
    f.framework = constants.add(now.kind, 1, kernel_time);
    constants.generations.insert(f.generation);
    if (kernel_time == 1) constants.reference.insert(f.framework);
    (now.layers == "dense" ? rows : experts)
        .push_back({f, now.row, now.gpu, generation.name, now.kind, table_.cell(now.row, "source_id"),
                    table_.cell(now.row, "fit") != "no"});
    return {};
  }

  const CsvTable& table_;
  ValidateOptions options_;
  RowCatalog files_;
  std::map<std::string, Generation> generations_;  // by GPU
};

std::vector<double> fit_on(const std::vector<const FitRow*>& rows, const Constants& c) {
  std::set<std::size_t> generations, used;
  for (const FitRow* r : rows) generations.insert(r->generation), used.insert(r->framework);
  std::vector<std::size_t> free;
  for (const auto& [name, i] : c.at)  // by name
    if (generations.contains(i) || (used.contains(i) && !c.reference.contains(i))) free.push_back(i);
  std::vector<double> out = fit_constants(rows, c.start, free);
  double mean = 0;
  for (const std::size_t g : generations) mean += out[g] / static_cast<double>(generations.size());
  for (const std::size_t g : c.generations)
    if (!generations.contains(g)) out[g] = mean;
  return out;
}

double now_percent(const FitRow& r) { return 100 * (r.ratio - 1); }

/// The values between which the middle nine tenths of `values` are.
void middle_nine_tenths(std::vector<double> values, double& low, double& high) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  low = values[static_cast<std::size_t>(0.05 * last)];
  high = values[static_cast<std::size_t>(0.95 * last)];
}

struct LeftOutErrors {
  std::vector<double> with, without;  ///< percent
  void append(const LeftOutErrors& more) {
    with.insert(with.end(), more.with.begin(), more.with.end());
    without.insert(without.end(), more.without.begin(), more.without.end());
  }
  LeftOutPart part(const std::string& name) const {
    return {name, summarise_errors(with, with.size()), summarise_errors(without, without.size())};
  }
};

/// Errors of the rows that `left` names when none of them takes part in the fit; none if no other row does.
LeftOutErrors leave(const DenseRows& all, const std::function<bool(const DenseRow&)>& left) {
  std::vector<const FitRow*> others;
  for (const DenseRow& r : all.rows)
    if (r.fitted && !left(r)) others.push_back(&r.fit);
  LeftOutErrors out;
  if (others.empty()) return out;
  const std::vector<double> constants = fit_on(others, all.constants);
  for (const DenseRow& r : all.rows)
    if (left(r)) out.with.push_back(now_percent(r.fit)), out.without.push_back(100 * r.fit.error(constants));
  return out;
}

LeftOutTable leave_each(const DenseRows& all, const char* title, std::string DenseRow::*key) {
  LeftOutTable out;
  out.key = title;
  std::set<std::string> names;
  for (const DenseRow& r : all.rows) names.insert(r.*key);
  if (names.size() < 2) return out;
  LeftOutErrors every;
  for (const std::string& name : names) {
    const LeftOutErrors one = leave(all, [&](const DenseRow& r) { return r.*key == name; });
    if (one.with.empty()) continue;
    out.parts.push_back(one.part(name));
    every.append(one);
  }
  if (every.with.empty()) return out;
  out.all = every.part("all");
  std::vector<double> truths;
  for (const double e : every.without) truths.push_back(100 * (1 / (1 + e / 100) - 1));
  middle_nine_tenths(std::move(truths), out.low_percent, out.high_percent);
  return out;
}

/// The constants of each series with experts come from the dense rows of all others too.
void leave_sources(const DenseRows& all, LeftOutDense& out) {
  std::map<std::string, std::vector<double>> constants;
  for (const auto* const rows : {&all.rows, &all.experts})
    for (const DenseRow& r : *rows) {
      if (!constants.contains(r.series)) {
        std::vector<const FitRow*> others;
        for (const DenseRow& o : all.rows)
          if (o.fitted && o.series != r.series) others.push_back(&o.fit);
        if (others.empty()) continue;
        constants[r.series] = fit_on(others, all.constants);
      }
      out.without_source[r.row] = (1 + r.fit.error(constants[r.series])) / r.fit.ratio;
    }
}

/// The constants that all rows of fits give, and every row's error with them.
void fit_all(const DenseRows& all, LeftOutDense& out) {
  std::vector<const FitRow*> rows;
  for (const DenseRow& r : all.rows)
    if (r.fitted) rows.push_back(&r.fit);
  if (rows.empty()) return;
  const Constants& c = all.constants;
  const std::vector<double> fitted = fit_on(rows, c);
  for (const bool clock : {true, false})
    for (const auto& [name, i] : c.at)
      if (c.generations.contains(i) == clock && !c.reference.contains(i))
        out.constants.push_back({clock ? "held_share" : "kernel_time", name, c.now[i], fitted[i]});
  LeftOutErrors every;
  for (const DenseRow& r : all.rows)
    every.with.push_back(now_percent(r.fit)), every.without.push_back(100 * r.fit.error(fitted));
  out.all = every.part("all");
}

}  // namespace

Result<LeftOutDense> leave_dense_out(const CsvTable& table, const ValidateOptions& options) {
  DenseRows all(table, options);
  BUSBAR_RETURN_IF_ERROR(all.predict());
  LeftOutDense out;
  const std::pair<const char*, std::string DenseRow::*> keys[] = {{"gpu", &DenseRow::gpu},
                                                                  {"generation", &DenseRow::generation},
                                                                  {"framework", &DenseRow::framework},
                                                                  {"series", &DenseRow::series}};
  for (const auto& [title, key] : keys)
    if (LeftOutTable t = leave_each(all, title, key); !t.parts.empty()) out.tables.push_back(std::move(t));
  out.never_fitted = leave(all, [](const DenseRow& r) { return !r.fitted; }).part("rows in no fit");
  leave_sources(all, out);
  fit_all(all, out);
  return out;
}

}  // namespace busbar::accuracy
