// Predicts the rows of measured tables and compares: `busbar validate`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/accuracy/scored_row.h"
#include "busbar/base/csv.h"
#include "busbar/engine/engine.h"
#include "busbar/predict/predict_options.h"
#include "busbar/spec/cluster.h"

namespace busbar::accuracy {

enum class TableKind : std::uint8_t { kCollectives, kPointToPoint, kTraining, kMemory, kKernels };

/// Factors on constants that are fitted to training steps, for leave_out.h.
struct TrainingFactors {
  double held_share = 1;   ///< on every GPU's rates under load
  double kernel_time = 1;  ///< on every framework's
};

struct ValidateOptions {
  spec::Overrides overrides;          ///< catalogue, and --set for every machine
  std::string engine = "analytic";    ///< or "flow"
  std::string only;                   ///< see row_filter()
  predict::PredictOptions predict{};  ///< overrides the rows' own
  /// Called before each row with the number done and the total; false: skip the rest.
  std::function<bool(std::size_t done, std::size_t total)> go_on{};
  StopFlag stop = nullptr;                  ///< ends a row that is being predicted, and skips the rest
  std::optional<Duration> expert_launch{};  ///< training: instead of the catalogue's (megatron-core)
  TrainingFactors factors{};
};

/// Determined by its columns. Error kUnsupported names the required columns.
Result<TableKind> kind_of_table(const CsvTable& table);

/// The rows that `only` selects: conditions on columns joined by ',', each "column=value", "column!=value",
/// "column>number" or "column<number"; "use=accuracy,node=dgx-h100". Empty: all. Error kInvalid for a missing column.
Result<std::vector<std::size_t>> filter_rows(const CsvTable& table, const std::string& only);

/// A prediction for every selected row, in their order; a row that cannot be predicted has a reason.
Result<std::vector<ScoredRow>> validate(const CsvTable& table, const ValidateOptions& options);

// One function per kind of table.
Result<std::vector<ScoredRow>> validate_collectives(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                    const ValidateOptions& options);
Result<std::vector<ScoredRow>> validate_training(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                 const ValidateOptions& options);
Result<std::vector<ScoredRow>> validate_memory(const CsvTable& table, const std::vector<std::size_t>& rows,
                                               const ValidateOptions& options);
Result<std::vector<ScoredRow>> validate_kernels(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                const ValidateOptions& options);
Result<std::vector<ScoredRow>> validate_point_to_point(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                       const ValidateOptions& options);

}  // namespace busbar::accuracy
