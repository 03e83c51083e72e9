// The model and layout of a measured training step, from the normalised columns of the table.
#pragma once

#include <optional>

#include "busbar/accuracy/internal/row_catalog.h"
#include "busbar/base/csv.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

/// Error kUnsupported: missing or inexpressible data, with equal words for equal reasons.
/// What no column says of a model with experts is that of the catalogue's model of the same shape.
Result<ModelSpec> model_of_row(const CsvTable& table, std::size_t row, RowCatalog& catalog);

/// The version of a container in the text of the source, "26.04.01"; empty if there is none.
std::string release_of(const std::string& source);

/// Time of kernels in `framework` against those of Megatron-Core: catalog/frameworks; 1 without a file. Where the file
/// says how it falls from release to release, that of the container `release`; without one, that of the file's own.
Result<double> kernel_time_of(const std::string& framework, const std::string& release, RowCatalog& catalog);

/// `chooses_recompute`: the row does not state what is recomputed; the caller takes the least that fits in memory.
struct MeasuredLayout {
  LayoutSpec layout;
  bool chooses_recompute = false;
};
/// Degrees and batch are the row's; missing data is the default of its framework (docs/accuracy.md has the
/// list).
Result<MeasuredLayout> layout_of_row(const CsvTable& table, std::size_t row, const ModelSpec& model,
                                     RowCatalog& catalog, std::optional<Duration> expert_launch = {});

}  // namespace busbar
