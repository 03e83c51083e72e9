// A lower bound for the time of a schedule, from its edges and the rates of GPU and server links, without routing.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/chain.h"
#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar::choice {

class CutTime {
 public:
  CutTime(const topology::Topology& topology, const routing::Placement& placement)
      : topology_(topology), placement_(placement) {}

  /// Lower bound in ps. For each GPU of group 0 of `call`: the bytes it sends, over the rate of all its links; for each
  /// server: the bytes it sends to others, over the rate of all its cables; the same for received bytes; the largest
  /// counts: of all phases together if they pipeline, else summed over the phases. No engine is faster for `call` with
  /// `schedule`. Cost: the edges of one group; for a phase with equal pairs its ranks.
  double least_ps(const program::CollectiveCall& call, const collectives::Schedule& schedule);

 private:
  struct Chunks {
    double out = 0, in = 0;
  };
  double links_of(std::uint32_t rank);
  double cables_of(std::uint32_t block);
  void add(std::uint32_t from, std::uint32_t to, double chunks);
  void add_run(const collectives::Schedule& schedule, collectives::PhaseRun run);
  void add_alike(const collectives::GroupFamily& family, double chunks);
  /// The largest time of the traffic added since the last call, for chunks of one byte.
  double take_most_ps();
  bool place(const program::CollectiveCall& call);

  const topology::Topology& topology_;
  const routing::Placement& placement_;
  collectives::GroupFamily placed_;         ///< the groups for which the next three were computed
  std::vector<topology::DeviceId> gpu_;     ///< per rank of group 0
  std::vector<std::uint32_t> block_of_;     ///< per rank, numbered from 0
  std::vector<topology::BlockId> blocks_;   ///< indexed by that number
  std::vector<double> links_, cables_;      ///< per rank and block: bytes/ps
  std::vector<Chunks> by_rank_, by_block_;  ///< zero between calls
};

}  // namespace busbar::choice
