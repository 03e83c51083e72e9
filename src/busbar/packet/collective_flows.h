// A collective as a list of flows: every move of its schedule, after those that filled what it sends.
#pragma once

#include "busbar/base/result.h"
#include "busbar/packet/packet_list.h"
#include "busbar/program/flow_list.h"
#include "busbar/program/program.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/placement.h"

namespace busbar {

/// What `call` runs on this machine: its own schedule, or that of its algorithm with the orders of its channels.
Result<Schedule> schedule_of(const CollectiveCall& call, const Topology& topology, const Placement& placement);

/// Appends the moves of `call` to `list`. A move starts when all that filled its chunks has arrived; of a pairwise
/// exchange, when the sends of its round before have. The first start after protocol.launch; overheads per send are
/// left out, the network is all there is. Errors: what build_schedule says; kUnsupported for reduction in the network,
/// for GPUs whose memory is slower than their links, and for more moves than kMostMoves.
Status add_collective_flows(const CollectiveCall& call, const Router& router, const Placement& placement,
                            const ProtocolModel& protocol, FlowList& list);
/// kUnsupported for calls that need reduction in the network, or a memory that is slower than the links of its GPU.
Status packets_can_run(const CollectiveCall& call, const Router& router, const Placement& placement);
inline constexpr std::size_t kMostMoves = 4'000'000;

/// `jobs` calls that start at once, job j on ranks [j n, (j + 1) n) and lane j modulo the number of lanes: when the
/// last byte of each has arrived, ascending.
Result<std::vector<Duration>> run_packet_jobs(CollectiveCall call, std::uint32_t jobs, const Router& router,
                                              const Placement& placement, const ProtocolModel& protocol,
                                              const PacketOptions& options);

}  // namespace busbar
