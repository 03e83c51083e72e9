// What a measured training step ran: model and layout from the normalised columns of the table.
#pragma once

#include "busbar/base/csv.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

/// Error kUnsupported: what the row leaves open or the model cannot express, alike for alike reasons.
Result<ModelSpec> model_of_row(const CsvTable& table, std::size_t row);

/// `chooses_recompute`: the row does not say what is recomputed; the caller takes the least that fits in memory.
struct MeasuredLayout {
  LayoutSpec layout;
  bool chooses_recompute = false;
};
/// Degrees and batch are the row's; what it leaves open is the default of its framework (docs/accuracy.md has the
/// list).
Result<MeasuredLayout> layout_of_row(const CsvTable& table, std::size_t row, const ModelSpec& model);

}  // namespace busbar
