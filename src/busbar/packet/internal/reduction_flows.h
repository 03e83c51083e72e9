// Reduction in the network as flows: to and from scale-up switches, and up and down trees of fabric switches.
//
// A switch that adds sends a sum when all its operands have arrived. So calls are cut into segments that follow each
// other through the phases. The reducers of a domain are its scale-up switches if these reduce (NVLS), in proportion to
// the rates of the links to them; otherwise (SHARP) the switches above the NICs of its members.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/collectives/moves.h"
#include "busbar/program/flow_list.h"
#include "busbar/program/program.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/placement.h"
#include "busbar/routing/reduction_tree.h"
#include "busbar/routing/router.h"

namespace busbar::packet {

class ReductionFlows {
 public:
  using Flows = std::vector<std::uint32_t>;
  /// Appends a flow that starts when all of `after` have arrived, and returns its number.
  using Emit = std::function<std::uint32_t(const program::ListedFlow& flow, const Flows& after)>;
  /// The flows that filled the chunks of a move at its source.
  using Filled = std::function<Flows(const collectives::Move& move)>;
  /// Bytes of a move in the current segment.
  using SizeOf = std::function<std::uint64_t(const collectives::Move& move)>;

  ReductionFlows(const program::CollectiveCall& call, const collectives::Schedule& schedule,
                 const topology::Topology& topology, const routing::Placement& placement,
                 const program::ProtocolModel& protocol, std::uint32_t per_domain, Emit emit);
  /// Appends one round of a phase with a hub, among the members of `group`. Returns each move's last flows.
  Result<std::vector<Flows>> round(const collectives::Phase& phase, std::uint32_t group,
                                   std::span<const collectives::Move> moves, const Filled& filled,
                                   const SizeOf& size_of);

 private:
  /// One tree, from the switches above some members to their meeting point: links by distance from the leaves.
  struct Climb {
    topology::DeviceId root = kNone<topology::DeviceId>;
    std::vector<std::vector<topology::LinkId>> levels;
  };
  topology::DeviceId gpu(std::uint32_t group, std::uint32_t member) const;
  topology::DeviceId nic(std::uint32_t group, std::uint32_t member, std::uint32_t channel) const;
  Result<topology::DeviceId> leaf(std::uint32_t group, std::uint32_t member, std::uint32_t channel);
  Result<Flows> to_scale_up(topology::DeviceId gpu, bool up, std::uint64_t bytes, Duration overhead,
                            const Flows& after);
  Result<Flows> to_leaf(std::uint32_t group, std::uint32_t member, std::uint32_t channel, bool up, std::uint64_t bytes,
                        const Flows& after);
  Result<Climb> climb_of(std::uint32_t group, std::uint32_t channel, std::uint32_t lane,
                         std::span<const std::uint32_t> members);
  Result<std::vector<Flows>> up_the_trees(const collectives::Phase& phase, std::uint32_t group,
                                          std::span<const collectives::Move> moves, const Filled& filled,
                                          const SizeOf& size_of);
  Result<std::vector<Flows>> down_the_trees(const collectives::Phase& phase, std::uint32_t group,
                                            std::span<const collectives::Move> moves, const Filled& filled,
                                            const SizeOf& size_of);
  /// Members that belong to `lane`, of the domain whose reducer is `actor`.
  std::vector<std::uint32_t> members_of(const collectives::Phase& phase, std::uint32_t actor, std::uint32_t lane) const;
  std::vector<std::uint32_t> members_of_lane(std::uint32_t lane) const;

  const program::CollectiveCall& call_;
  const collectives::Schedule& s_;
  const topology::Topology& t_;
  const routing::Placement& placement_;
  const double share_switch_;
  const Duration step_switch_, step_network_;
  const std::uint32_t per_domain_;
  const Emit emit_;
  bool at_hubs_ = true;      ///< reducers of domains are scale-up switches
  std::uint32_t lanes_ = 1;  ///< parts of a payload, each with a separate tree
  std::optional<routing::ReductionTrees> trees_;
};

}  // namespace busbar::packet
