// Measured results compared with the expected ones, or with earlier ones; or the limits to accept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/accuracy/expect_options.h"
#include "busbar/accuracy/thresholds.h"
#include "busbar/predict/predict_options.h"
#include "busbar/questions/context.h"
#include "busbar/questions/fault_findings.h"
#include "busbar/questions/predict_result.h"

namespace busbar::questions {

/// Results and the machine that they were measured on, for expect and calibrate.
struct MeasuredRequest {
  std::string results, cluster, collective;
  std::uint32_t gpus = 0;
  std::vector<std::string> ranks;
  predict::PredictOptions predict;
  std::string engine = "flow";
  spec::Overrides machine;
};
const Record& record_of(const MeasuredRequest*);
/// Without results, the operation is all-reduce unless the request says otherwise.
Result<accuracy::ExpectOptions> options_of(const MeasuredRequest& request, const accuracy::MeasuredResults& results,
                                           const Context& context);

struct ExpectRequest {
  MeasuredRequest measured;
  bool thresholds = false;
  std::string min_bytes = "1M", max_bytes = "16G";  ///< for thresholds
  double step_factor = 4;
  std::string baseline;
  double tolerance = 5;
};
const Record& record_of(const ExpectRequest*);

struct ExpectRow {
  std::uint64_t size_bytes = 0;
  double measured_us = 0, expected_us = 0, low_us = 0, high_us = 0;
  std::string verdict, how, bound_by;
};
const Record& record_of(const ExpectRow*);

struct Plateau {
  std::uint64_t from_bytes = 0;
  double slower_percent = 0, threshold_percent = 0;
};
const Record& record_of(const Plateau*);

struct ExpectFile {
  std::string file, what;
  bool has_results = false;
};
const Record& record_of(const ExpectFile*);

struct ExpectResult {
  std::string cluster, collective, engine;
  std::uint32_t gpus = 0;
  std::vector<ExpectRow> rows;
  std::string verdict, why;
  Plateau plateau;
  bool cluster_proposed = false;
  FaultFindings faults;
  PolicyResult policy;
  std::vector<std::string> unread, assumed;
  std::vector<ExpectFile> read_files;
  bool complete = true;
  std::string inputs_hash;
  int exit_status = 0;
  // For views only:
  collectives::Collective op{};
  accuracy::MeasuredResults results;
  accuracy::Expectation expectation;
  predict::PredictPolicy rules;
};
const Record& record_of(const ExpectResult*);

struct ThresholdRow {
  std::string collective;
  std::uint64_t size_bytes = 0;
  double least_busbw_GBps = 0, expected_busbw_GBps = 0, most_busbw_GBps = 0;
  double expected_us = 0, low_us = 0, high_us = 0;
  std::vector<double> band_percent;
  std::string band_basis, how, bound_by;
};
const Record& record_of(const ThresholdRow*);

struct ThresholdsResult {
  std::string cluster, engine;
  std::uint32_t gpus = 0;
  std::vector<ThresholdRow> rows;
  PolicyResult policy;
  std::string inputs_hash;
  bool complete = true;
};
const Record& record_of(const ThresholdsResult*);

struct BaselineRow {
  std::uint64_t size_bytes = 0;
  double measured_us = 0, baseline_us = 0, change_percent = 0;
  std::string verdict;
};
const Record& record_of(const BaselineRow*);

struct BaselineResult {
  std::string baseline;
  double tolerance_percent = 0;
  std::vector<BaselineRow> rows;
  std::string verdict;
  int exit_status = 0;
};
const Record& record_of(const BaselineResult*);

using ExpectAnswer = std::variant<ExpectResult, ThresholdsResult, BaselineResult>;
Result<ExpectAnswer> answer(const ExpectRequest& request, const Context& context = {});

}  // namespace busbar::questions
