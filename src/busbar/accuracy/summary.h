// Summaries of many rows: errors per configuration, per size band, per board; the order of pairs; the worst cases.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "busbar/accuracy/scored_row.h"
#include "busbar/accuracy/tie_band.h"

namespace busbar::accuracy {

/// Half-open bands of sizes in MiB, and a band for rows without a size: "below 1 MiB", "1-64 MiB", "64 MiB-1 GiB", "1
/// GiB and more", "no size".
std::string band_of(std::uint64_t size_bytes);
std::vector<std::string> band_names();  ///< ascending, "no size" last

/// The median; for an even count, of the middle two. Precondition: not empty.
double median_of(std::vector<double> values);
/// The smallest value that at least 90 % of the values do not exceed (nearest rank). Precondition: not empty.
double p90_of(std::vector<double> values);

/// Errors of configurations; each configuration's error is the median over its rows.
struct ErrorSummary {
  std::size_t configurations = 0, rows = 0;
  double median_percent = 0;  ///< signed: predictions above the measurement are positive
  double median_abs_percent = 0;
  double mean_abs_percent = 0;
  double p90_abs_percent = 0;
  double max_abs_percent = 0;
};
/// The summary of `rows` rows whose configurations have these errors, in percent. All 0 if there are none.
ErrorSummary summarise_errors(const std::vector<double>& errors_percent, std::size_t rows);

/// Pairs of configurations of one board or one GPU count, same collective and size, measured more than 15 % apart.
struct PairOrder {
  std::size_t pairs = 0, right = 0;
  double right_percent() const {
    return pairs == 0 ? 0 : 100.0 * static_cast<double>(right) / static_cast<double>(pairs);
  }
};

/// Sweeps: at least three layouts of one job on one machine, measured by the same people. Found: the layout with the
/// shortest prediction was measured within 5 % of the fastest.
struct SweepOrder {
  std::size_t sweeps = 0, found = 0;
  double found_percent() const {
    return sweeps == 0 ? 0 : 100.0 * static_cast<double>(found) / static_cast<double>(sweeps);
  }
};

/// Pairs of layouts of one job on one machine, measured by the same people: how far the measured ratio of their times
/// is from the predicted one. Errors that both share cancel. All jobs count equally.
struct LayoutPairs {
  std::size_t jobs = 0, pairs = 0;
  double p90_percent = 0;  ///< of the larger ratio of ratios - 1
};

/// One layout of a job measured, the others predicted: over all ordered pairs of layouts of a sweep, the mean error of
/// the second as it is, and with the kernels of the machine fitted to the first. All jobs count equally.
struct AfterOneStep {
  std::size_t jobs = 0, pairs = 0;
  double before_percent = 0, after_percent = 0, p90_percent = 0;  ///< p90: after
};

/// How often measurements are inside the predicted bands. All configurations count equally.
struct BandSummary {
  std::size_t configurations = 0, rows = 0;
  double coverage_percent = 0;      ///< measured inside the band
  double held_percent = 0;          ///< Band::held_percent, the mean: inside when each source in turn is left out
  double median_width_percent = 0;  ///< from lower to upper end, relative to the predicted time
  double p90_percent = 0;           ///< of |measured / predicted - 1|, for comparison with the width
};

/// How far measurements of one thing are apart: of pairs of configurations of one board, collective, size and number of
/// GPUs that are predicted to take equally long, the median of slower / faster - 1. A pair's is the median over sizes.
struct TwinSpread {
  std::size_t pairs = 0;
  double median_percent = 0;
};

struct Summary {
  std::map<std::string, ErrorSummary> by_band, by_node, by_fabric, by_kind;
  std::map<std::string, ErrorSummary> by_layers, by_model;  ///< training steps: dense or with experts; by model
  std::map<std::string, std::map<std::string, ErrorSummary>> by_node_band;
  PairOrder order;
  SweepOrder sweeps;
  LayoutPairs layouts;
  AfterOneStep after_one_step;
  TieBand ties;
  std::map<std::string, BandSummary> bands;  ///< by ScoredRow::band_class, of rows that have a band
  std::map<std::string, TwinSpread> twins;   ///< by size band
};
/// Over the rows that count and have a prediction.
Summary summarise(const std::vector<ScoredRow>& rows);

/// The configurations whose medians are farthest off, worst first: (configuration, band) by absolute error.
struct WorstCase {
  std::string configuration, band;
  double error_percent = 0;
  std::size_t example = 0;  ///< the row nearest to that median, index into `rows`
};
std::vector<WorstCase> worst_cases(const std::vector<ScoredRow>& rows, std::size_t most);

}  // namespace busbar::accuracy
