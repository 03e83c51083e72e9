// Domains, joined tier by tier by the switches above them, and the rates out of each cluster.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "busbar/base/disjoint_sets.h"
#include "busbar/floors/floor.h"
#include "busbar/topology/topology.h"

namespace busbar::floors {

/// In bytes per ps.
double floor_rate(const topology::Topology& topology, topology::LinkId link, FloorRates rates);

/// Tier 0: domains with a common leaf are one cluster. Tier 1: clusters whose leaves have a common spine. And so on. It
/// is independent of calls, so one object serves many floors. Tiers are made at the first request. Not safe for
/// concurrent calls.
class FloorTiers {
 public:
  struct Tier {
    std::vector<std::uint32_t> cluster_of;  ///< per block: the lowest block of its cluster
    /// By FloorRates and lowest block: bytes per ps of links out of the cluster's switches, and into them.
    std::array<std::vector<double>, 2> up, down;
  };
  explicit FloorTiers(const topology::Topology& topology);
  /// Null above the topmost switches.
  const Tier* at(std::size_t tier);

 private:
  static constexpr std::size_t kMostTiers = 8;
  bool join_next_switches();
  void measure();
  /// The block whose cluster contains `d`; kNone32 for a switch not reached yet.
  std::uint32_t member_of(topology::DeviceId d) const;
  const topology::Topology& t_;
  DisjointSets clusters_;             ///< of blocks
  std::vector<std::uint32_t> owner_;  ///< per device, for switches only: a block
  std::vector<Tier> tiers_;
  bool complete_ = false;
};

}  // namespace busbar::floors
