// Collectives of a trace on a machine: predicted and measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/formats/comm_trace.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/bound_by.h"

namespace busbar::questions {

struct TraceRow {
  std::string collective;
  std::uint64_t size_bytes = 0;
  std::optional<std::uint32_t> ranks;  ///< empty: all
  std::uint64_t times = 0;
  std::optional<double> measured_us, measured_median_us;
  double predicted_us = 0;
  std::string algorithm;
  double floor_us = 0;
  std::optional<double> above_floor_percent;
  BoundBy bound_by;
  // For views only:
  lowering::Bound bound;
};
const Record& record_of(const TraceRow*);

struct TraceTimes {
  std::string cluster;
  std::vector<TraceRow> results;
  Named<std::uint64_t> not_timed;  ///< why, and how often
  std::optional<double> measured_over_floor;
  // For views only:
  double measured_us = 0;   ///< of all kernels
  bool suspicious = false;  ///< some were faster than their floor
};
const Record& record_of(const TraceTimes*);

/// Every kind of collective of the trace. Rank r of a group is on GPU r if the trace lists the group's ranks;
/// otherwise the group is on the first GPUs.
TraceTimes time_trace(const formats::CommTrace& trace, predict::Predictor& machine);

}  // namespace busbar::questions
