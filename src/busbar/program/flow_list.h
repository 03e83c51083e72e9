// Point-to-point flows between devices, with their starts and what they wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/direct_reach.h"
#include "busbar/topology/link.h"
#include "busbar/base/units.h"

namespace busbar {

/// What must have happened to the flows a flow comes after.
enum class FlowTrigger : std::uint8_t {
  kReceived,  ///< their last byte has arrived
  kAcked,     ///< and word of it has come back: one more latency of their path
};

inline constexpr std::uint8_t kMostFlowLanes = 8;

struct ListedFlow {
  DeviceId from{}, to{};          ///< GPUs, or NICs
  DeviceId nic_from{}, nic_to{};  ///< used between blocks
  Bytes bytes{0};
  SimTime start;  ///< not before then, and not before `after` allows
  FlowTrigger trigger = FlowTrigger::kReceived;
  std::uint8_t lane = 0;  ///< packets: its virtual lane
};
struct FlowList {
  std::vector<ListedFlow> flows;
  Csr<std::uint32_t> after;  ///< per flow: flows it waits for; no cycles
  DirectReach reach{};       ///< what is denied is copied in host memory on the way; the packet engine refuses it
};

/// Per flow, those that come after it, ascending.
Csr<std::uint32_t> successors_of(const FlowList& list);

}  // namespace busbar
