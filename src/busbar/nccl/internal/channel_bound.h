// Upper bounds for the result of a search, from sums over links. They show which trials cannot improve the result.
#pragma once

#include <array>
#include <optional>

#include "busbar/nccl/graph.h"

namespace busbar::nccl {

/// Bandwidth in the search's unit: NCCL rounds the free bandwidth of a link to 1e-3 GB/s at every change.
constexpr std::int32_t thousandths_of_GBps(float gigabytes_per_s) {
  return static_cast<std::int32_t>(gigabytes_per_s * 1000 + (gigabytes_per_s < 0 ? -.5f : .5f));
}

class ChannelBound {
 public:
  explicit ChannelBound(const NcclSystem& system) : s_(system) {}
  /// Upper bound for a trial's channels: those that fit, at its speeds, on the first links of the GPUs' paths and on
  /// the network devices where they start; at most the trial's own limit. For patterns other than chains: this limit.
  std::uint32_t most_channels(const NcclGraph& trial);
  /// Least number of links that one channel crosses, network included. 0 for patterns other than chains.
  int least_hops(const NcclGraph& trial);
  /// Whether a search of `trial` could find a better graph than `best`. If it could not, it never will: `best` only
  /// improves.
  bool may_improve(const NcclGraph& trial, const NcclGraph& best);

 private:
  struct Inside {
    std::vector<std::int32_t> first_links;  ///< bandwidth of the links with which allowed paths between GPUs start
    std::size_t hops = SIZE_MAX;            ///< of the shortest allowed path; SIZE_MAX: there is none
  };
  struct Outside {
    std::vector<std::uint32_t> nets;  ///< the network devices with an allowed path to a GPU
    std::size_t in_hops = SIZE_MAX, out_hops = SIZE_MAX;
  };
  static constexpr std::size_t kTypes = static_cast<std::size_t>(topology::PathType::kDis) + 1;

  const Inside& inside(topology::PathType most);
  const Outside& outside(topology::PathType most);
  std::uint64_t legs(const NcclGraph& trial) const;
  std::uint64_t fit_on_nets(const NcclGraph& trial);

  const NcclSystem& s_;
  std::array<std::optional<Inside>, kTypes> inside_;  ///< per worst allowed type, computed on first use
  std::array<std::optional<Outside>, kTypes> outside_;
};

}  // namespace busbar::nccl
