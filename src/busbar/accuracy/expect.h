// Compares a user's results with the expected times of the machine: `busbar expect`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "busbar/accuracy/results_file.h"
#include "busbar/accuracy/table_verdict.h"
#include "busbar/predict/predictor.h"
#include "busbar/spec/cluster.h"

namespace busbar::accuracy {

struct ExpectOptions {
  std::string cluster;
  spec::Overrides overrides;
  std::string engine = "analytic";
  collectives::Collective op = collectives::Collective::kAllReduce;
  std::uint32_t gpus = 0;            ///< the first GPUs of the machine; 0: all
  std::vector<std::string> ranks{};  ///< instead: one group of them, as text of parse_rank_groups()
  /// Builds the machine of `cluster`; null: load_cluster().
  std::function<Result<spec::Cluster>(const std::string&, const spec::Overrides&)> load = nullptr;
  /// Called before each row with the number done and the total; false: stop and keep those. Null: none.
  std::function<bool(std::size_t, std::size_t)> go_on = nullptr;
  std::vector<nccl::NcclVersion> releases{};  ///< others that search_faults() tries; empty: the results name theirs
  predict::PredictPolicy policy{};            ///< release, variables and launch; expect sets the rest
};

/// The predictor for the machine of `options`, with more changes to its file. `accuracy`: as in PredictPolicy.
Result<std::unique_ptr<predict::Predictor>> predictor_of(const ExpectOptions& options, const spec::Overrides& overrides,
                                                         const predict::AccuracyTable* accuracy = nullptr);

/// The same on a machine that is already built.
Result<std::unique_ptr<predict::Predictor>> predictor_on(const ExpectOptions& options, spec::Cluster cluster,
                                                         const predict::AccuracyTable* accuracy = nullptr);

/// Error kInvalid if the results state another number of ranks.
Status check_ranks(const MeasuredResults& results, const predict::Predictor& machine);

struct Expectation {
  std::vector<ExpectedRow> rows;
  TableVerdict table;
  std::uint32_t ranks = 0;
  double in_place = 1;  ///< MeasuredResults::in_place
  Duration launch;      ///< before the first byte, in all predictions
  std::string inputs;   ///< text read, for a hash
};
Result<Expectation> expect_results(const MeasuredResults& results, const ExpectOptions& options);

/// One size in two measurements.
struct ComparedRow {
  std::uint64_t size_bytes = 0;
  double measured_us = 0, baseline_us = 0;
  double change_percent() const { return (measured_us / baseline_us - 1) * 100; }
};
/// Sizes in both. Error kInvalid if there is none.
Result<std::vector<ComparedRow>> compare_results(const MeasuredResults& now, const MeasuredResults& before);

}  // namespace busbar::accuracy
