// A user's results compared with what the machine should give: `busbar expect`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "busbar/accuracy/results_file.h"
#include "busbar/predict/predictor.h"
#include "busbar/spec/cluster.h"

namespace busbar {

struct ExpectOptions {
  std::string cluster;
  Overrides overrides;
  std::string engine = "analytic";
  Collective op = Collective::kAllReduce;
  std::uint32_t gpus = 0;  ///< the first of the machine; 0: all
  /// Makes the machine of `cluster`; null: load_cluster().
  std::function<Result<Cluster>(const std::string&, const Overrides&)> load = nullptr;
  /// Called before each row with how many are known of how many; false: stop and keep those. Null: none.
  std::function<bool(std::size_t, std::size_t)> go_on = nullptr;
  PredictPolicy policy{};  ///< release, variables and launch; the rest is expect's own
};

/// What answers for calls on the machine of `options`, with more changes to its file. `accuracy`: as of PredictPolicy.
Result<std::unique_ptr<Predictor>> predictor_of(const ExpectOptions& options, const Overrides& overrides,
                                                bool nvls = true, const AccuracyTable* accuracy = nullptr);

/// The same on a machine that is already built.
Result<std::unique_ptr<Predictor>> predictor_on(const ExpectOptions& options, Cluster cluster, bool nvls = true,
                                                const AccuracyTable* accuracy = nullptr);

/// Error kInvalid where the results say that they are of another number of ranks.
Status check_ranks(const MeasuredResults& results, const Predictor& machine);

enum class Verdict : std::uint8_t {
  kGood,        ///< inside the band
  kLow,         ///< slower than the band allows
  kSuspicious,  ///< faster than the band allows, or than physics does
};
const char* name_of(Verdict verdict);

struct ExpectedRow {
  std::uint64_t size_bytes = 0;
  double measured_us = 0, expected_us = 0, low_us = 0, high_us = 0;
  Verdict verdict = Verdict::kGood;
  std::string how, bound_by;
};

struct Expectation {
  std::vector<ExpectedRow> rows;
  /// Of the largest size that is not good, where these are more than one of ten or one is below a floor; else good.
  Verdict verdict = Verdict::kGood;
  std::size_t outside = 0;  ///< sizes that are not good
  std::vector<std::string> explanations;  ///< what would make the machine give what was measured there
  std::uint32_t ranks = 0;
  Duration launch;     ///< before the first byte, in all predictions
  std::string inputs;  ///< text that was read, for a hash
};
Result<Expectation> expect_results(const MeasuredResults& results, const ExpectOptions& options);

/// One size of two measurements.
struct ComparedRow {
  std::uint64_t size_bytes = 0;
  double measured_us = 0, baseline_us = 0;
  double change_percent() const { return (measured_us / baseline_us - 1) * 100; }
};
/// Sizes that both have. Error kInvalid when there is none.
Result<std::vector<ComparedRow>> compare_results(const MeasuredResults& now, const MeasuredResults& before);

}  // namespace busbar
