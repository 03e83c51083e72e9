// A run of phases on the links of a machine, connection by connection.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/lowering/internal/run_loads.h"

namespace busbar::lowering {

/// One connection of a run.
struct Connection {
  static constexpr std::uint32_t kHub = 0xffff'ffffu;
  std::uint32_t begin, end;  ///< its run in the path
  double bytes;
  double latency_ps;
  double transfer_ps = 0;               ///< of all but rings: of the send, while its round is under way
  std::uint32_t from = 0;               ///< actor
  std::uint32_t toward_root = kNone32;  ///< trees and chains: the connection of the run that is one closer to the root
  std::uint64_t chunks = 0;             ///< stepwise phases
  double turn_ps = 0, slot_ps = 0;      ///< rings: of the receiver's processor, and of the buffer, for each message
};

/// Bytes on the links per payload byte.
struct SentBytes {
  double straight = 1;   ///< by the flags of the protocol
  double to_switch = 1;  ///< of what switches reduce or multiply
  double of(const Connection& c) const { return c.from == Connection::kHub ? to_switch : straight; }
};

/// What became of the sends of a ring that was followed message by message; nothing if it was not.
struct FollowedRing {
  double end_ps = 0;                    ///< when its last piece was there
  std::vector<std::int64_t> left_ps{};  ///< per connection and round: when the piece had left
  bool known() const { return end_ps > 0; }
};

/// A run that was routed before its turn. `loads`: of all its connections together.
struct RoutedRun {
  std::vector<routing::CapacityShare> path{};
  std::vector<Connection> connections{};
  RunLoads::Kept loads{};
  std::uint32_t equal = 1;  ///< rings: number of rings of the step with these connections
  FollowedRing followed{};
};

/// The run whose sends are being routed or timed. One after the other uses this work space.
struct OpenRun {
  std::vector<routing::CapacityShare> path{};
  std::vector<Connection> connections{};
  std::vector<std::uint32_t> connection_of{};  ///< actor -> its connection, in phases in which it has one
  RunLoads loads{};
  std::uint32_t equal = 1;  ///< as RoutedRun
  FollowedRing followed{};
  /// Loads of all runs of the step, this one included; null: no other run is known.
  const RunLoads* step_loads = nullptr;
  std::vector<RunLoads> spare{};  ///< cleared, for loads of steps
  std::vector<double> sent{};     ///< work space of busiest_bytes(), per rank

  void begin_call(std::uint32_t ranks, std::uint32_t reducers);
  void clear_routes();
  /// Bytes on `c` while all runs of the step are under way.
  double step_load(routing::CapacityId c) const { return step_loads ? std::max((*step_loads)[c], loads[c]) : loads[c]; }
  /// The bytes of the connection that carries most.
  double most_bytes() const;
  /// Bytes of the connection that carries most. With `stepwise`: or of all sends of one rank together.
  double busiest_bytes(bool stepwise);
  /// Returns the run and clears it.
  RoutedRun take();
};

}  // namespace busbar::lowering
