// A run of phases on the links of a machine, connection by connection.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/lowering/internal/run_loads.h"

namespace busbar {

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
};

/// Bytes on the links per payload byte.
struct SentBytes {
  double straight = 1;   ///< by the flags of the protocol
  double to_switch = 1;  ///< of what switches reduce or multiply
  double of(const Connection& c) const { return c.from == Connection::kHub ? to_switch : straight; }
};

/// A run that was routed before its turn. `loads`: of all its connections together.
struct RoutedRun {
  std::vector<CapacityShare> path{};
  std::vector<Connection> connections{};
  RunLoads::Kept loads{};
};

}  // namespace busbar
