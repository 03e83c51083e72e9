// When compressing gradients shortens a step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/result.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

struct CompressionRow {
  std::string gradients;  ///< "int8"
  double bytes = 0;       ///< per gradient on the wire
  double sent_bytes = 0;  ///< by a GPU in one step, for gradients and parameters (mean)
  double kernels_s = 0;   ///< of a GPU of the first stage in one step
  double exposed_dp_s = 0, step_time_s = 0;
  double gain_percent = 0;                ///< of the step without compression; negative: it costs
  std::optional<double> pays_below_GBps;  ///< the rate of a link up to which it pays; none: at none that was tried
  double pays_below_factor = 0;           ///< the same, relative to today's rate
};
struct CompressionTable {
  std::vector<CompressionRow> rows;  ///< the first without compression
  std::string varied;                ///< "the network"; of a machine of one domain "the links between GPUs"
  double rate_GBps = 0;              ///< today's, of one of its links
};
inline constexpr double kMostRateFactor = 16;

/// Rates are tried from 1/16 to 16 times today's; the limit is found within 2 %.
/// Errors: kInvalid without data parallelism, and with whole_tensors.
Result<CompressionTable> compare_compressions(const TrainRun& run, const Context& context);

}  // namespace busbar::step
