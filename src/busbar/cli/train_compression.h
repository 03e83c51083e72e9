// When compressing gradients shortens a step.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/long_run.h"
#include "busbar/report/document.h"
#include "busbar/step/train_run.h"

namespace busbar {

struct CompressionRow {
  std::string name;         ///< "int8"
  double bytes = 0;         ///< per gradient on the wire
  double sent_bytes = 0;    ///< by a GPU in one step, for gradients and parameters (mean)
  Duration kernels;         ///< of a GPU of the first stage in one step
  Duration exposed, step;   ///< exposed DP
  double gain_percent = 0;  ///< of the step without compression; negative: it costs
  /// The network's rate, relative to today's, up to which it pays: 0 at none that was tried.
  double pays_below = 0;
};
struct CompressionTable {
  std::vector<CompressionRow> rows;  ///< the first without compression
  std::string network;               ///< "the network"; of a machine of one domain "the links between GPUs"
  double rate_bytes_per_s = 0;       ///< today's, of one of its links
};
/// Rates are tried from 1/16 to 16 times today's; the limit is found within 2 %.
/// Errors: kInvalid without data parallelism, and with whole_tensors.
Result<CompressionTable> compare_compressions(const TrainRun& run, LongRun& watch);

Table compression_table(const CompressionTable& t);
Json compression_json(const CompressionTable& t);

}  // namespace busbar
