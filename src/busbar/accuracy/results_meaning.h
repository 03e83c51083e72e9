// What the figures of a user's results say about the call and the machine, where the file does not name them.
#pragma once

#include <string>

#include "busbar/accuracy/results_file.h"
#include "busbar/collectives/schedule.h"
#include "busbar/spec/cluster.h"

namespace busbar::accuracy {

/// The operation that the file names, or the only one with its busbw / algbw, reduction and root over `ranks` ranks (0:
/// as in the file). Error kInvalid, which asks for --collective, if several or none have them.
/// Source of the factors: NVIDIA nccl-tests, doc/PERFORMANCE.md.
Result<collectives::Collective> collective_of(const MeasuredResults& results, std::uint32_t ranks);

/// The preset with these GPUs, as many per host, on as many hosts: "dgx-h100:4"; empty: none, or the file does not say.
std::string proposed_cluster(const MeasuredResults& results);

/// Error kInvalid if the results name GPUs of another product than the cluster's. `catalog`: as in spec::Overrides.
Status check_product(const MeasuredResults& results, const spec::Cluster& cluster, const std::string& catalog);

}  // namespace busbar::accuracy
