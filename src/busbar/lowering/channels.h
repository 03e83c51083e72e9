// How a call is spread over channels: the orders of rings and trees, so that each channel enters and leaves every
// server by a NIC of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/collectives/builders.h"
#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar::lowering {

/// Members of one group of `call` that stand next to each other in one scale-up domain; 1 where domains differ.
std::uint32_t ranks_per_domain(const program::CollectiveCall& call, const topology::Topology& topology,
                               const routing::Placement& placement);

/// Orders of the members of `call` for its rings, one per channel; empty when one channel in natural order uses every
/// NIC. In every server (scale-up domain of `per_domain` consecutive members) channel c begins at a member whose NIC
/// for it no other channel has; it goes on upwards, or downwards where only the member below shares that NIC. There are
/// as many channels as the server with the fewest NICs has, at most `most` (0: no limit). Source: what NCCL 2.30.7
/// arrives at on servers with rails (src/graph/search.cc; crossNic 0). Cost: linear in the ranks of all groups x NICs
/// of a server, plus orders x members.
std::vector<std::vector<std::uint32_t>> ring_orders(const program::CollectiveCall& call,
                                                    const topology::Topology& topology,
                                                    const routing::Placement& placement, std::uint32_t per_domain,
                                                    std::uint32_t most);

// Lowering cuts a call into no more chunks, and fills a channel with kBytesPerChannel before it takes the next, up to
// kFilledChannels; then all. Source of the bytes: NVIDIA NCCL 2.30.7, src/enqueue.cc, 512 threads of 8 bytes, the least
// of all protocols.
inline constexpr std::uint32_t kMostChunks = 4096;
inline constexpr std::uint64_t kBytesPerChannel = 4096, kFilledChannels = 64;

/// The channels of a tree and its mate in all, where the call names no count: a pod of 1,024 NICs would have 2,048,
/// which takes longer to time and is no faster. Source: NVIDIA NCCL 2.30.7, src/include/device.h, MAXCHANNELS.
inline constexpr std::uint32_t kMostTreeChannels = 64;

/// The schedule that `call.algorithm` builds over domains of `per_domain` ranks: algorithms that take orders over
/// those that use every NIC, on at most `most_channels` channels (0: no limit), reducing switches within their limits.
Result<collectives::Schedule> build_for_call(const program::CollectiveCall& call, const topology::Topology& topology,
                                             const routing::Placement& placement, std::uint32_t per_domain,
                                             std::uint32_t most_channels);

/// ScheduleSpec::dimensions: of the torus or grid of chips that every group of `call`, or its part in each domain,
/// fills alike; empty: none.
std::vector<std::uint32_t> torus_dimensions(const program::CollectiveCall& call, const topology::Topology& topology,
                                            const routing::Placement& placement);

/// The dimension that each channel of one direction of a torus starts with, so that links of different `rates` per
/// dimension are about as busy; empty: each dimension once, where that is as good.
std::vector<std::uint32_t> torus_starts(std::span<const std::uint32_t> extents, std::span<const double> rates);

/// Pieces that pipeline through the phases of the call's schedule: the call's own count; 0: pieces of protocol.chunk on
/// each of `all_channels`.
std::uint32_t pipeline_chunks(const program::CollectiveCall& call, const collectives::Schedule& schedule,
                              const program::ProtocolModel& protocol, std::uint32_t all_channels);

/// Whether a switch that reduces is next to the GPU.
bool has_reducing_switch(const topology::Topology& topology, topology::DeviceId gpu);

}  // namespace busbar::lowering
