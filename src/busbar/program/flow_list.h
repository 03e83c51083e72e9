// Point-to-point flows between devices, with their starts and dependencies.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/units.h"
#include "busbar/topology/direct_reach.h"
#include "busbar/topology/link.h"

namespace busbar::program {

/// The event of earlier flows that a dependent flow waits for.
enum class FlowTrigger : std::uint8_t {
  kReceived,  ///< their last byte has arrived
  kAcked,     ///< and the acknowledgement is back: one more latency of their path
  kSent,      ///< of those of the same sender the last byte has left, while its overhead runs; of others as kReceived
};

inline constexpr std::uint8_t kMostFlowLanes = 8;

struct ListedFlow {
  topology::DeviceId from{}, to{};          ///< GPUs, or NICs
  topology::DeviceId nic_from{}, nic_to{};  ///< used between blocks
  Bytes bytes{0};
  SimTime start;  ///< no earlier than this, and no earlier than `after` allows
  FlowTrigger trigger = FlowTrigger::kReceived;
  std::uint8_t lane = 0;  ///< packets: its virtual lane
  Duration overhead{};    ///< of software, from when it may start until its first byte leaves
  /// Work of a device between flows: it lasts for `overhead`, and crosses nothing.
  bool is_work() const { return from == to; }
};

/// Shares of the links' rates that the senders reach, by kind of link.
struct RateShares {
  double scale_up = 1, server = 1, network = 1;
  bool operator==(const RateShares&) const = default;
  double of(topology::LinkKind kind) const {
    return topology::is_scale_up(kind) ? scale_up : topology::is_in_server(kind) ? server : network;
  }
};
struct FlowList {
  std::vector<ListedFlow> flows;
  Csr<std::uint32_t> after;       ///< per flow: the flows it waits for; no cycles
  topology::DirectReach reach{};  ///< data it does not allow are copied in host memory; the packet engine refuses those
  RateShares shares{};
};

/// Per flow, the flows that depend on it, ascending.
Csr<std::uint32_t> successors_of(const FlowList& list);

}  // namespace busbar::program
