// What a schedule cannot take less than, from its edges and the links of GPUs and servers, without routing anything.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/chain.h"
#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar {

class CutTime {
 public:
  CutTime(const Topology& topology, const Placement& placement) : topology_(topology), placement_(placement) {}

  /// What the GPUs of group 0 of `call` send over what all links of the GPU pass, what its servers send to each other
  /// over what all cables of the server pass, the same of what they receive, and the largest of these, in ps: of all
  /// phases together where they pipeline, else of each and then their sum. No engine takes less for `call` with
  /// `schedule`. Cost: the edges of one group; a phase whose pairs are alike its ranks.
  double least_ps(const CollectiveCall& call, const Schedule& schedule);

 private:
  struct Chunks {
    double out = 0, in = 0;
  };
  double links_of(std::uint32_t rank);
  double cables_of(std::uint32_t block);
  void add(std::uint32_t from, std::uint32_t to, double chunks);
  void add_run(const Schedule& schedule, PhaseRun run);
  void add_alike(const GroupFamily& family, double chunks);
  /// Of what was added since the last time, for chunks of one byte.
  double take_most_ps();
  bool place(const CollectiveCall& call);

  const Topology& topology_;
  const Placement& placement_;
  GroupFamily placed_;                       ///< the groups that the next three are of
  std::vector<DeviceId> gpu_;                ///< per rank of group 0
  std::vector<std::uint32_t> block_of_;      ///< per rank, numbered from 0
  std::vector<BlockId> blocks_;              ///< by that number
  std::vector<double> links_, cables_;       ///< per rank and block: bytes/ps
  std::vector<Chunks> by_rank_, by_block_;   ///< zero in between
};

}  // namespace busbar
