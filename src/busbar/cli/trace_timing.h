// Collectives of a trace on a machine, each against its own bound.
#pragma once

#include "busbar/base/json.h"
#include "busbar/cli/session.h"
#include "busbar/formats/comm_trace.h"
#include "busbar/predict/predictor.h"

namespace busbar {

/// Predicts every kind of collective of the trace on `machine` and adds a table to `document`. Ranks of a group sit on
/// the GPUs of their numbers where the trace lists them, else on the first ones.
Status time_trace(const CommTrace& trace, Predictor& machine, Json& json, Document& document);

}  // namespace busbar
