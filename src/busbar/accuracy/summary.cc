#include "busbar/accuracy/summary.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "busbar/accuracy/step_fit.h"

namespace busbar::accuracy {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
struct SizeBand {
  std::uint64_t from;
  const char* name;
};
constexpr SizeBand kSizeBands[] = {
    {0, "below 1 MiB"}, {kMiB, "1-64 MiB"}, {64 * kMiB, "64 MiB-1 GiB"}, {1024 * kMiB, "1 GiB and more"}};
constexpr const char* kNoSize = "no size";

/// (group, configuration, band) -> errors of its rows.
using Key = std::tuple<std::string, std::string, std::string>;
using Errors = std::map<Key, std::vector<double>>;

/// Each (configuration, band) counts once in its group.
std::map<std::string, ErrorSummary> by_group(const Errors& errors) {
  std::map<std::string, std::pair<std::vector<double>, std::size_t>> groups;
  for (const auto& [key, list] : errors) {
    auto& [medians, rows] = groups[std::get<0>(key)];
    medians.push_back(median_of(list));
    rows += list.size();
  }
  std::map<std::string, ErrorSummary> out;
  for (const auto& [name, group] : groups) out[name] = summarise_errors(group.first, group.second);
  return out;
}

/// The smallest value up to which the values have at least `share` of the weight.
double weighted_quantile(std::vector<std::pair<double, double>> values_and_weights, double share) {
  std::sort(values_and_weights.begin(), values_and_weights.end());
  double sum = 0, before = 0;
  for (const auto& [value, weight] : values_and_weights) sum += weight;
  for (const auto& [value, weight] : values_and_weights)
    if ((before += weight) >= share * sum * (1 - 1e-9)) return value;
  return 0;
}

std::map<std::string, BandSummary> summarise_bands(const std::vector<ScoredRow>& rows) {
  std::map<std::string, std::map<std::string, std::vector<const ScoredRow*>>> of;
  for (const ScoredRow& r : rows)
    if (r.counts && r.unsupported.empty() && !r.band.basis.empty() && !r.band.ideal)
      of[r.band_class.empty() ? band_of(r.size_bytes) : r.band_class][r.configuration].push_back(&r);
  std::map<std::string, BandSummary> out;
  for (const auto& [name, configurations] : of) {
    BandSummary& s = out[name];
    std::vector<std::pair<double, double>> widths, errors;
    for (const auto& [configuration, list] : configurations) {
      const double weight = 1.0 / static_cast<double>(list.size());
      for (const ScoredRow* r : list) {
        widths.emplace_back(r->band.high_percent - r->band.low_percent, weight);
        errors.emplace_back(100 * std::abs(r->measured / r->predicted - 1), weight);
        const double share = weight / static_cast<double>(configurations.size());
        s.coverage_percent += r->in_band() ? 100 * share : 0;
        s.held_percent += r->band.held_percent * share;
      }
      s.rows += list.size();
    }
    s.configurations = configurations.size();
    s.median_width_percent = weighted_quantile(std::move(widths), 0.5);
    s.p90_percent = weighted_quantile(std::move(errors), 0.9);
  }
  return out;
}

/// Compares configurations at equal collective and size, by their medians.
PairOrder order_of(const std::vector<ScoredRow>& rows) {
  constexpr double kApart = 1.15;
  std::map<std::tuple<std::string, std::uint64_t>,
           std::map<std::string, std::pair<std::vector<double>, std::vector<double>>>>
      values;
  std::map<std::string, std::pair<std::string, std::uint32_t>> about;
  for (const ScoredRow& r : rows) {
    if (!r.counts || !r.unsupported.empty()) continue;
    auto& [predicted, measured] = values[{r.kind, r.size_bytes}][r.configuration];
    predicted.push_back(r.predicted);
    measured.push_back(r.measured);
    about[r.configuration] = {r.node, r.gpus};
  }
  PairOrder out;
  for (const auto& [key, configurations] : values)
    for (auto a = configurations.begin(); a != configurations.end(); ++a)
      for (auto b = std::next(a); b != configurations.end(); ++b) {
        const auto& [node_a, gpus_a] = about[a->first];
        const auto& [node_b, gpus_b] = about[b->first];
        if (node_a != node_b && (gpus_a != gpus_b || gpus_a == 0)) continue;
        const double ma = median_of(a->second.second), mb = median_of(b->second.second);
        if (std::max(ma, mb) <= kApart * std::min(ma, mb)) continue;
        ++out.pairs;
        out.right += (median_of(a->second.first) < median_of(b->second.first)) == (ma < mb) ? 1 : 0;
      }
  return out;
}

/// The layouts of each sweep, with medians.
std::vector<LayoutSweep> layouts_by_sweep(const std::vector<ScoredRow>& rows) {
  struct Times {
    std::vector<double> predicted, measured, kernel_share;
  };
  std::map<std::string, std::map<std::string, Times>> sweeps;
  for (const ScoredRow& r : rows) {
    if (!r.counts || !r.unsupported.empty() || r.sweep.empty()) continue;
    Times& times = sweeps[r.sweep][r.configuration];
    times.predicted.push_back(r.predicted);
    times.measured.push_back(r.measured);
    times.kernel_share.push_back(r.kernel_share);
  }
  std::vector<LayoutSweep> out;
  for (const auto& [sweep, layouts] : sweeps) {
    out.push_back({sweep.substr(0, sweep.find('|')), {}});
    for (const auto& [layout, t] : layouts)
      out.back().layouts.push_back({median_of(t.predicted), median_of(t.measured), median_of(t.kernel_share)});
  }
  return out;
}

LayoutPairs layout_pairs_of(const std::vector<ScoredRow>& rows) {
  LayoutPairs out;
  std::vector<std::pair<double, double>> apart;
  for (const LayoutSweep& sweep : layouts_by_sweep(rows)) {
    const std::vector<LayoutTimes>& layouts = sweep.layouts;
    if (layouts.size() < 2) continue;
    const std::size_t pairs = layouts.size() * (layouts.size() - 1) / 2;
    for (std::size_t a = 0; a < layouts.size(); ++a)
      for (std::size_t b = a + 1; b < layouts.size(); ++b) {
        const double off = layouts[a].predicted / layouts[b].predicted * layouts[b].measured / layouts[a].measured;
        apart.emplace_back(100 * (std::max(off, 1 / off) - 1), 1.0 / static_cast<double>(pairs));
      }
    ++out.jobs;
    out.pairs += pairs;
  }
  out.p90_percent = weighted_quantile(std::move(apart), 0.9);
  return out;
}

AfterOneStep after_one_step_of(const std::vector<ScoredRow>& rows) {
  AfterOneStep out;
  std::vector<std::pair<double, double>> after;
  double weights = 0;
  for (const LayoutSweep& sweep : layouts_by_sweep(rows)) {
    const std::vector<LayoutTimes>& layouts = sweep.layouts;
    if (layouts.size() < 2) continue;
    const std::size_t pairs = layouts.size() * (layouts.size() - 1);
    const double weight = 1.0 / static_cast<double>(pairs);
    const auto seen = [](const LayoutTimes& l) {
      return StepSeen{l.measured, l.predicted, std::max(1e-6, l.kernel_share)};
    };
    for (const LayoutTimes& a : layouts)
      for (const LayoutTimes& b : layouts) {
        if (&a == &b) continue;
        const double fitted = step_with_kernels(seen(b), fit_kernels({seen(a)}).time);
        after.emplace_back(100 * std::abs(fitted / b.measured - 1), weight);
        out.before_percent += weight * 100 * std::abs(b.predicted / b.measured - 1);
        out.after_percent += weight * after.back().first;
      }
    weights += 1;
    ++out.jobs;
    out.pairs += pairs;
  }
  if (out.jobs == 0) return out;
  out.before_percent /= weights;
  out.after_percent /= weights;
  out.p90_percent = weighted_quantile(std::move(after), 0.9);
  return out;
}

SweepOrder sweeps_of(const std::vector<ScoredRow>& rows) {
  constexpr std::size_t kLeast = 3;  // layouts
  constexpr double kNear = 1.05;
  SweepOrder out;
  for (const LayoutSweep& sweep : layouts_by_sweep(rows)) {
    const std::vector<LayoutTimes>& layouts = sweep.layouts;
    if (layouts.size() < kLeast) continue;
    double shortest = INFINITY, its_time = 0, fastest = INFINITY;
    for (const auto& [predicted, measured, kernel_share] : layouts) {
      fastest = std::min(fastest, measured);
      if (predicted >= shortest) continue;
      shortest = predicted;
      its_time = measured;
    }
    ++out.sweeps;
    out.found += its_time <= kNear * fastest ? 1 : 0;
  }
  return out;
}

std::map<std::string, TwinSpread> twins_of(const std::vector<ScoredRow>& rows) {
  std::map<std::tuple<std::string, std::string, std::uint64_t, std::uint32_t, double>,
           std::map<std::string, std::vector<double>>>
      alike;
  for (const ScoredRow& r : rows)
    if (r.counts && r.unsupported.empty() && r.size_bytes > 0)
      alike[{r.node, r.kind, r.size_bytes, r.gpus, r.predicted}][r.configuration].push_back(r.measured);
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<double>> apart;  // by band and configurations
  for (const auto& [call, measured] : alike)
    for (auto a = measured.begin(); a != measured.end(); ++a)
      for (auto b = std::next(a); b != measured.end(); ++b) {
        const double x = median_of(a->second), y = median_of(b->second);
        apart[{band_of(std::get<2>(call)), a->first, b->first}].push_back(100 * (std::max(x, y) / std::min(x, y) - 1));
      }
  std::map<std::string, std::vector<double>> of_band;
  for (const auto& [pair, percent] : apart) of_band[std::get<0>(pair)].push_back(median_of(percent));
  std::map<std::string, TwinSpread> out;
  for (const auto& [band, percent] : of_band) out[band] = {percent.size(), median_of(percent)};
  return out;
}

}  // namespace

ErrorSummary summarise_errors(const std::vector<double>& errors_percent, std::size_t rows) {
  ErrorSummary out;
  out.configurations = errors_percent.size();
  out.rows = rows;
  if (errors_percent.empty()) return out;
  std::vector<double> absolute;
  for (const double e : errors_percent) absolute.push_back(std::abs(e));
  out.median_percent = median_of(errors_percent);
  out.median_abs_percent = median_of(absolute);
  for (const double e : absolute) out.mean_abs_percent += e / static_cast<double>(absolute.size());
  out.p90_abs_percent = p90_of(absolute);
  out.max_abs_percent = *std::max_element(absolute.begin(), absolute.end());
  return out;
}

std::string band_of(std::uint64_t size) {
  if (size == 0) return kNoSize;
  const SizeBand* band = kSizeBands;
  for (const SizeBand& b : kSizeBands)
    if (size >= b.from) band = &b;
  return band->name;
}

std::vector<std::string> band_names() {
  std::vector<std::string> out;
  for (const SizeBand& b : kSizeBands) out.emplace_back(b.name);
  out.emplace_back(kNoSize);
  return out;
}

double median_of(std::vector<double> v) {
  const std::size_t half = v.size() / 2;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(half), v.end());
  if (v.size() % 2 == 1) return v[half];
  return (v[half] + *std::max_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(half))) / 2;
}

double p90_of(std::vector<double> v) {
  const std::size_t at = (9 * v.size() + 9) / 10 - 1;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(at), v.end());
  return v[at];
}

Summary summarise(const std::vector<ScoredRow>& rows) {
  Errors band, node, fabric, kind, layers, model;
  std::map<std::string, Errors> node_band;
  for (const ScoredRow& r : rows) {
    if (!r.counts || !r.unsupported.empty()) continue;
    const std::string b = band_of(r.size_bytes);
    const double e = r.error_percent();
    band[{b, r.configuration, b}].push_back(e);
    node[{r.node, r.configuration, b}].push_back(e);
    fabric[{r.fabric, r.configuration, b}].push_back(e);
    kind[{r.kind, r.configuration, b}].push_back(e);
    if (!r.layers.empty()) layers[{r.layers, r.configuration, b}].push_back(e);
    if (!r.model.empty()) model[{r.model, r.configuration, b}].push_back(e);
    node_band[r.node][{b, r.configuration, b}].push_back(e);
  }
  Summary out{by_group(band),
              by_group(node),
              by_group(fabric),
              by_group(kind),
              by_group(layers),
              by_group(model),
              {},
              order_of(rows),
              sweeps_of(rows),
              layout_pairs_of(rows),
              after_one_step_of(rows),
              tie_band_of(layouts_by_sweep(rows)),
              summarise_bands(rows),
              twins_of(rows)};
  for (const auto& [name, errors] : node_band) out.by_node_band[name] = by_group(errors);
  return out;
}

std::vector<WorstCase> worst_cases(const std::vector<ScoredRow>& rows, std::size_t most) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> cases;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].counts && rows[i].unsupported.empty())
      cases[{rows[i].configuration, band_of(rows[i].size_bytes)}].push_back(i);
  std::vector<WorstCase> out;
  for (const auto& [key, list] : cases) {
    std::vector<double> errors;
    for (const std::size_t i : list) errors.push_back(rows[i].error_percent());
    WorstCase w{key.first, key.second, median_of(errors), list.front()};
    for (const std::size_t i : list)
      if (std::abs(rows[i].error_percent() - w.error_percent) <
          std::abs(rows[w.example].error_percent() - w.error_percent))
        w.example = i;
    out.push_back(std::move(w));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return std::abs(a.error_percent) > std::abs(b.error_percent); });
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace busbar::accuracy
