// A list of point-to-point flows run to its end on max-min fair rates.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/result.h"
#include "busbar/routing/path_view.h"
#include "busbar/routing/placement.h"

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

/// fct = latency + transfer + sharing, to the picosecond.
struct FlowOutcome {
  SimTime start;
  Duration fct;                    ///< from start to the last byte's arrival
  Duration latency;                ///< of the links on its path
  Duration transfer;               ///< its bytes at the rate of its narrowest link, alone
  Duration sharing;                ///< what the others cost it
  LinkId held_by = kNone<LinkId>;  ///< the link that set its rate at the end
};
struct LinkUse {
  LinkId link{};
  double bytes = 0;
  std::uint32_t flows = 0;
};
struct FlowListResult {
  std::vector<FlowOutcome> flows;
  std::vector<LinkUse> links;  ///< those that carried something, by LinkId
  SimTime end;                 ///< of the last flow
  std::uint64_t events = 0, rate_changes = 0;
};

/// Flows share links max-min fairly, all with weight 1 on their busiest link; every start and end re-solves only the
/// flows whose rates it changes (online_max_min.h). Under adaptive routing it splits them anew (leaning_rates.h);
/// FlowOutcome::latency and transfer are then those of an equal split.
/// Errors: kUnreachable with the pair.
Result<FlowListResult> run_flow_list(const Router& router, const FlowList& list);

}  // namespace busbar
