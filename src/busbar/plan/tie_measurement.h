// What decides between two layouts whose steps are too close: the measurement of the term that leaves most open.
#pragma once

#include <optional>
#include <string>

#include "busbar/plan/search.h"
#include "busbar/step/train_run.h"

namespace busbar::plan {

struct TieMeasurement {
  std::string term;                ///< "all_gather of 64 MiB over 64 GPUs in 8 nodes"
  double best_s = 0, other_s = 0;  ///< how long each of the steps waits for it
  double band_percent = 0;         ///< half the width of its band
  std::string command;  ///< nccl-tests under mpirun; nvbandwidth for copies to hosts; Python for matrix products
};

/// A layout and the machine as it uses it.
struct TiedLayout {
  const step::TrainRun& machine;
  const PlannedLayout& planned;
};

/// Terms are the exposed time of each kind of collective (operation, ranks, one node or several, band of sizes), and
/// compute with the bubble if the matrix products have other shapes. The error of a term is common to both layouts, so
/// what it leaves open of their difference is the difference of its times x its band; the term with most counts.
/// Empty: no term leaves open a tenth of the difference. Errors: those of build_program().
Result<std::optional<TieMeasurement>> tie_measurement(const TiedLayout& best, const TiedLayout& other,
                                                      const predict::AccuracyTable& accuracy);

/// nccl-tests on as few GPUs as run this call's groups at the same time as on the whole machine. `per_node`: GPUs.
std::string nccl_tests_command(const program::CollectiveCall& call, std::uint32_t per_node);

}  // namespace busbar::plan
