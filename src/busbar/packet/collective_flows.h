// A collective as a list of flows: one flow per message of its schedule, with its dependencies.
#pragma once

#include <span>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/packet/packet_chain.h"
#include "busbar/packet/packet_list.h"
#include "busbar/program/flow_list.h"
#include "busbar/program/program.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/placement.h"

namespace busbar::packet {

/// The schedule that `call` runs on this machine: the call's own, or that of its algorithm with its channels' orders.
Result<collectives::Schedule> schedule_of(const program::CollectiveCall& call, const topology::Topology& topology,
                                          const routing::Placement& placement);

/// The software's part of a send. Of a pair without a way 0, which run_packet_list() refuses.
Duration overhead_between(const routing::Router& router, const program::ProtocolCosts& costs, topology::DeviceId from,
                          topology::DeviceId to);

/// Appends the moves of `call` to `list`. Moves of a round from one rank to another are one flow. It starts when all
/// flows that filled its chunks have arrived; in phases with rounds, when all that its rank received in earlier rounds
/// has arrived and all that it sent has left; in direct ones, when what its rank last sent the same rank has left. The
/// first one starts after protocol.launch. Each waits for its overhead before its first packet; flags of the protocol
/// are bytes more. Errors: those of build_schedule; kUnsupported for reduction in the network, for GPUs whose memory is
/// slower than their links, and for more moves than kMostMoves.
Status add_collective_flows(const program::CollectiveCall& call, const routing::Router& router,
                            const routing::Placement& placement, const program::ProtocolModel& protocol,
                            program::FlowList& list);
/// kUnsupported for calls that need reduction in the network, or if a GPU's memory is slower than its links.
Status packets_can_run(const program::CollectiveCall& call, const routing::Router& router,
                       const routing::Placement& placement);
inline constexpr std::size_t kMostMoves = 4'000'000;

struct PacketJobs {
  std::vector<Duration> ends;  ///< when the last byte of each job has arrived, ascending
  PacketCounts counts;
};
/// Runs calls that start at once, job j on lane j modulo the number of lanes. `chain`: what the last end waited for.
Result<PacketJobs> run_packet_jobs(std::span<const program::CollectiveCall> jobs, const routing::Router& router,
                                   const routing::Placement& placement, const program::ProtocolModel& protocol,
                                   const PacketOptions& options, std::vector<lowering::ChainPart>* chain = nullptr);

}  // namespace busbar::packet
