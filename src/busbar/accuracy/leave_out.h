// Errors of a part of the rows if the constant that is set on all of them had been set on the others.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/summary.h"
#include "busbar/accuracy/validate.h"

namespace busbar {

struct LeftOut {
  std::string name;
  ErrorSummary with;         ///< with the catalogue's constant
  Duration launch;           ///< best for all other rows
  ErrorSummary without;      ///< with that
};
struct LeftOutModels {
  std::vector<LeftOut> models;  ///< by name; empty: fewer than two models with experts
  ErrorSummary all;             ///< every configuration with the constant of the others
};

/// Leaves each model with experts out of the fit of `expert_launch` (catalog/frameworks/megatron-core.yaml): the value of
/// a grid from 8 to 36 us that has the least mean error without sign. Cost: 15 times the rows with experts of `table`.
Result<LeftOutModels> leave_models_out(const CsvTable& table, const ValidateOptions& options);

}  // namespace busbar
