// Errors of a part of the rows if the constants that are set on all of them had been set on the others.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "busbar/accuracy/summary.h"
#include "busbar/accuracy/validate.h"

namespace busbar::accuracy {

/// Row of the table -> its prediction without its source (source_id) in the fits, of that with the catalogue's
/// constants.
using WithoutSource = std::map<std::size_t, double>;

struct LeftOut {
  std::string name;
  ErrorSummary with;     ///< with the catalogue's constant
  Duration launch;       ///< best for all other rows
  ErrorSummary without;  ///< with that
};
struct LeftOutModels {
  std::vector<LeftOut> models;  ///< by name; empty: fewer than two models with experts
  ErrorSummary all;             ///< every configuration with the constant of the others
  WithoutSource without_source;
};

/// Leaves each model with experts out of the fit of `expert_launch` (catalog/frameworks/megatron-core.yaml): the value
/// of a grid from 8 to 36 us that has the least mean error without sign. Cost: 15 times the rows with experts.
Result<LeftOutModels> leave_models_out(const CsvTable& table, const ValidateOptions& options);

/// Dense configurations of one GPU, generation, framework or series.
struct LeftOutPart {
  std::string name;
  ErrorSummary with;     ///< with the catalogue's constants
  ErrorSummary without;  ///< with those that all other configurations give
};
struct LeftOutTable {
  std::string key;                 ///< "gpu", "generation", "framework" or "series" (source_id)
  std::vector<LeftOutPart> parts;  ///< by name
  LeftOutPart all;                 ///< every configuration with the constants of the others
  /// Nine tenths of measured / predicted - 1, in percent, where the part of the configuration is left out.
  double low_percent = 0, high_percent = 0;
};
struct FittedConstant {
  std::string key, name;  ///< "held_share" of a generation (catalog/clocks), "kernel_time" of a framework
  double now = 1;         ///< in the catalogue
  double fitted = 1;      ///< least mean error over all rows that take part in a fit
};
struct LeftOutDense {
  std::vector<FittedConstant> constants;  ///< by key and name; without the frameworks whose kernel_time is 1
  LeftOutPart all;                        ///< every configuration with the constants of the catalogue, and the fitted
  std::vector<LeftOutTable> tables;       ///< those with two or more parts
  LeftOutPart never_fitted;               ///< the rows whose column fit says "no"; 0 rows: none
  WithoutSource without_source;           ///< also of rows with experts, in no fit
};

/// Leaves parts of the dense rows out of the fit of `held_share` (catalog/clocks) and `kernel_time`
/// (catalog/frameworks). A step's time is taken as linear in 1 / held_share and in kernel_time, from three predictions
/// of each row. Rows whose column fit says "no" take part in none. A framework that is left out gets kernel_time 1, as
/// NeMo and Megatron have it, a generation the mean of the others. GPUs without a clock curve take no part. Cost: 3
/// times the rows of `table`.
Result<LeftOutDense> leave_dense_out(const CsvTable& table, const ValidateOptions& options);

}  // namespace busbar::accuracy
