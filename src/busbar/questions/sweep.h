// The sizes and ranks of a sweep of collectives.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/topology/link.h"

namespace busbar::questions {

/// Sizes from `first` to `last` (empty: 16G, or `first` if that is larger), each `factor` times the previous one.
/// Errors give the flag.
Result<std::vector<Bytes>> sweep_sizes(const std::string& first, const std::string& last, double factor);

/// The GPUs of all ranks: the first ones in order ("packed"), or drawn at random ("random" or "random:SEED").
Result<std::vector<topology::DeviceId>> place_ranks(const std::string& placement,
                                                    std::span<const topology::DeviceId> all, std::size_t ranks);

}  // namespace busbar::questions
