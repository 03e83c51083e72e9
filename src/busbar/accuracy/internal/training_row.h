// A measured training step as the question that `busbar train` answers, from the normalised columns of the table.
#pragma once

#include "busbar/accuracy/internal/row_catalog.h"
#include "busbar/accuracy/scored_row.h"
#include "busbar/base/csv.h"

namespace busbar::accuracy {

/// The cluster is empty: machine_of_row() knows it. Columns: model and its sizes; degrees, batch, precision, zero_fsdp,
/// sequence_parallel, recompute, overlap, loss; framework and framework_release; and `set`, whose words, separated by
/// ';', are as those of --set. What no column says is the default of the framework. What no column says of a model with
/// experts is that of the catalogue's model of the same shape. Error kUnsupported: missing or inexpressible data, with
/// equal words for equal reasons.
Result<StepQuestion> question_of_row(const CsvTable& table, std::size_t row, RowCatalog& catalog);

}  // namespace busbar::accuracy
