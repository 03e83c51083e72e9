// What no search can exceed, from sums over links alone: it tells trials that are vain before they are made.
#pragma once

#include <array>
#include <optional>

#include "busbar/nccl/graph.h"

namespace busbar {

/// Bandwidth as the search counts it: NCCL rounds what is left of a link to 1e-3 GB/s each time it takes or gives back.
constexpr std::int32_t thousandths_of_GBps(float gigabytes_per_s) {
  return static_cast<std::int32_t>(gigabytes_per_s * 1000 + (gigabytes_per_s < 0 ? -.5f : .5f));
}

class ChannelBound {
 public:
  explicit ChannelBound(const NcclSystem& system) : s_(system) {}
  /// Channels of the trial's speeds that fit on the first links of its paths between GPUs, all GPUs together, and on
  /// the network devices that they start from; at most its own limit. Patterns other than chains: that limit.
  std::uint32_t most_channels(const NcclGraph& trial);
  /// Links that one channel crosses at least, network included. 0 for patterns other than chains.
  int least_hops(const NcclGraph& trial);
  /// Whether a search of `trial` could find something that it would rather have than `best`. What it could not, it
  /// cannot later: `best` only becomes better.
  bool may_improve(const NcclGraph& trial, const NcclGraph& best);

 private:
  struct Inside {
    std::vector<std::int32_t> first_links;  ///< bandwidth of those that allowed paths between GPUs start with
    std::size_t hops = SIZE_MAX;            ///< of the shortest; SIZE_MAX: there is none
  };
  struct Outside {
    std::vector<std::uint32_t> nets;  ///< with an allowed path to a GPU
    std::size_t in_hops = SIZE_MAX, out_hops = SIZE_MAX;
  };
  static constexpr std::size_t kTypes = static_cast<std::size_t>(PathType::kDis) + 1;

  const Inside& inside(PathType most);
  const Outside& outside(PathType most);
  std::uint64_t legs(const NcclGraph& trial) const;
  std::uint64_t fit_on_nets(const NcclGraph& trial);

  const NcclSystem& s_;
  std::array<std::optional<Inside>, kTypes> inside_;  ///< per worst type allowed, made when asked for
  std::array<std::optional<Outside>, kTypes> outside_;
};

}  // namespace busbar
