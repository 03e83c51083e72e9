// Trees of fabric switches that reduce (SHARP), and scale-up switches that reduce (NVLS), on the links of a machine.
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "busbar/lowering/internal/placed_machine.h"
#include "busbar/lowering/send_routes.h"
#include "busbar/program/program.h"
#include "busbar/routing/reduction_tree.h"

namespace busbar::lowering {

/// The edges of one call's trees. A reducer of a domain is its scale-up switches, if these reduce. Then each GPU takes
/// its share of the sum from them and sends it up the tree of its own NIC. Otherwise every rank of the domain sends all
/// it has to the switch above its NIC. Streams of one tree that meet on their way up are added: a link between switches
/// carries one sum, whatever the number of ranks below it.
class SwitchTrees {
 public:
  SwitchTrees(const PlacedMachine& machine, SendRoutes& routes) : machine_(machine), routes_(routes) {}

  /// For the edges of `call` that follow. `call` must outlive them.
  void begin(const program::CollectiveCall& call, const collectives::Schedule& schedule, std::uint32_t per_domain);
  /// For the edges of one run of `channel` that follow, by NIC number `nic` of each rank.
  void begin_run(std::uint32_t channel, std::uint32_t nic);
  /// Whether both ends are in one scale-up domain, so that the edge is one of SendRoutes::next_to.
  bool next_to(std::uint32_t from, std::uint32_t to) const {
    return !on_ || (at_hubs_ && std::min(from, to) < call_->groups.size());
  }
  /// Appends what an edge crosses that the run has not loaded with its sum yet. Returns its latency in ps.
  /// Pre: not next_to(). Errors: kUnsupported if no switches of the fabric reduce, or if they do not meet.
  Result<double> edge(std::uint32_t group, std::uint32_t from, std::uint32_t to,
                      std::vector<routing::CapacityShare>& path);

 private:
  /// Where the trees of a channel meet in a group of ranks.
  struct Roots {
    std::uint32_t group = 0, channel = 0;
    std::vector<topology::DeviceId> at{};  ///< per member of a domain that sends its own share
  };
  topology::DeviceId gpu(std::uint32_t group, std::uint32_t m) const {
    return machine_.placement.gpu(call_->groups.actor(group, m));
  }
  Result<topology::LinkId> uplink(std::uint32_t group, std::uint32_t m) const;
  Status find_roots(std::uint32_t group);
  Result<double> host_leg(std::uint32_t group, std::uint32_t m, bool up, double share,
                          std::vector<routing::CapacityShare>& path);
  Result<double> climb_leg(std::uint32_t group, std::uint32_t m, bool up, double share,
                           std::vector<routing::CapacityShare>& path);

  const PlacedMachine& machine_;
  SendRoutes& routes_;
  std::optional<routing::ReductionTrees> switches_;  ///< made when first needed

  const program::CollectiveCall* call_ = nullptr;
  bool on_ = false;       ///< the schedule has trees
  bool at_hubs_ = false;  ///< a domain's own switches add up first
  std::uint32_t per_tree_ = 1, per_domain_ = 1;
  std::uint32_t channel_ = 0, nic_ = 0;
  Roots roots_{};
  std::unordered_set<std::uint64_t> loaded_;  ///< links and trees of the run that carry a sum
};

}  // namespace busbar::lowering
