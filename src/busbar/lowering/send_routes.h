// What one send crosses on a machine, and how long its last byte takes: for schedules and for messages.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "busbar/lowering/capacity_table.h"
#include "busbar/lowering/crossings.h"

namespace busbar::lowering {

/// A send from one rank to another.
struct SendEnds {
  std::uint32_t from = 0, to = 0;         ///< ranks
  std::span<const std::uint32_t> nics{};  ///< between servers: numbers of the NICs, or channels of `chosen`, that share
                                          ///< the bytes evenly
  const program::ChannelNics* chosen = nullptr;           ///< null: each rank uses the NICs nearest to its GPU
  const routing::SplitBias& bias = routing::kEqualSplit;  ///< between servers, of adaptive routing
  double arrival_cost = 1;                                ///< bytes that memory moves for one that arrives
};

/// Routes sends. Paths grow by what a send crosses, in order: links or bundles, limits of the devices that it enters,
/// memory of its GPUs. Every share is per byte of the send. Latencies are in ps, of links and overhead together.
/// What is not allowed to go straight is staged in host memory (ProtocolModel::peer_access, gpudirect, ...).
class SendRoutes {
 public:
  SendRoutes(const routing::Router& router, const routing::Placement& placement, const program::ProtocolModel& protocol,
             const CapacityTable& table)
      : router_(router), placement_(placement), protocol_(protocol), table_(table) {}

  /// Returns the latency. Errors: kUnreachable with the pair.
  Result<double> between(const SendEnds& send, program::Protocol protocol, std::vector<routing::CapacityShare>& path);
  /// From `gpu` up to the scale-up switches next to it that reduce, or down from them; in proportion to the rates of
  /// the links. Returns the latency. Loads of such a send count ProtocolCosts::share_switch times less than its shares.
  /// Errors: kUnsupported if no switch there reduces.
  Result<double> next_to(topology::DeviceId gpu, bool up, program::Protocol protocol,
                         std::vector<routing::CapacityShare>& path);

  // The parts of such routes.
  Status inside(topology::DeviceId a, topology::DeviceId b,
                std::vector<routing::CapacityShare>& path);  ///< of one server, straight
  Status to_switches(topology::DeviceId gpu, bool up, double share, std::vector<routing::CapacityShare>& path);
  /// The latency of path[begin..), whose shares of one hop sum to `whole`; overheads left out.
  double latency_ps(std::span<const routing::CapacityShare> path, std::size_t begin, double whole) const;
  /// Appends the limits of the devices that path[begin..) enters. Those of switches that add count only if they add
  /// this send, and those of GPUs never: what passes a GPU on its way does not touch its memory.
  void add_limits(std::size_t begin, bool adds, std::vector<routing::CapacityShare>& path) const;
  /// Appends the memory of `gpu`, if it is a capacity. It moves `bytes` for every byte of the send.
  void add_memory(topology::DeviceId gpu, double bytes, std::vector<routing::CapacityShare>& path) const;
  /// A GPU that writes to host memory and reads from it at the same time does each more slowly: in its slot a byte
  /// takes some room of the other direction, so that each reaches ProtocolModel::staged_both_ways of its rate alone.
  void share_host_way(std::size_t begin, std::vector<routing::CapacityShare>& path) const;
  /// Memory channels carry one direction at a time (JEDEC JESD79-5): both directions load one capacity, this.
  routing::CapacityId memory_bus(routing::CapacityId on) const;
  /// The memory that `gpu` stages in: the NUMA node with the fewest hops, the first of several; kNone: there is none.
  topology::DeviceId host_memory(topology::DeviceId gpu);

 private:
  void share_memory_bus(std::size_t begin, std::vector<routing::CapacityShare>& path) const;
  const topology::Topology& topology() const { return router_.topology(); }
  /// Returns whether it is staged.
  Result<bool> straight_or_staged(topology::DeviceId a, topology::DeviceId b,
                                  std::vector<routing::CapacityShare>& path);
  Status across(const SendEnds& send, std::vector<routing::CapacityShare>& path);
  Status cross_by(const Crossing& way, const SendEnds& send, std::uint64_t flow,
                  std::vector<routing::CapacityShare>& path);
  Status spread(topology::DeviceId a, topology::DeviceId b, const Crossing& way, std::uint64_t flow,
                const routing::SplitBias& bias, std::vector<routing::CapacityShare>& path);

  const routing::Router& router_;
  const routing::Placement& placement_;
  const program::ProtocolModel& protocol_;
  const CapacityTable& table_;
  std::map<topology::DeviceId, topology::DeviceId> host_of_;  ///< once sought
  std::vector<routing::LinkShare> links_;                     ///< work space
  std::vector<Crossing> crossings_;                           ///< work space
};

}  // namespace busbar::lowering
