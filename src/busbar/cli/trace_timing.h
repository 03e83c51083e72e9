// Collectives of a trace on a machine, each compared with its own bound.
#pragma once

#include "busbar/base/json.h"
#include "busbar/cli/session.h"
#include "busbar/formats/comm_trace.h"
#include "busbar/predict/predictor.h"

namespace busbar {

/// Predicts every kind of collective of the trace on `machine` and adds a table to `document`. Rank r of a group is on
/// GPU r if the trace lists the group's ranks; otherwise the group is on the first GPUs.
Status time_trace(const CommTrace& trace, Predictor& machine, Json& json, Document& document);

}  // namespace busbar
