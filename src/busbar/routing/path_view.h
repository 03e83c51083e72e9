// The description of one route: its hops, its bottleneck, and the other traffic on the bottleneck.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/routing/router.h"
#include "busbar/topology/direct_reach.h"
#include "busbar/topology/path_type.h"

namespace busbar::routing {

/// Links at the same distance from the start: several if the payload is split.
struct PathHop {
  std::vector<LinkShare> links;
  double payload_GBps = 0;  ///< of the whole payload: the smallest rate / share
  double wire_GBps = 0;
  Duration latency;                                             ///< of the slowest link
  std::vector<std::pair<std::string, Duration>> latency_parts;  ///< as in PathView
};

struct PathView {
  topology::PathType type = topology::PathType::kLoc;
  topology::PathType nccl_type = topology::PathType::kLoc;  ///< NCCL's type; differs if NCCL relays through a GPU
  std::vector<PathHop> hops;
  double payload_GBps = 0, wire_GBps = 0;  ///< of the narrowest hop; 0 for a device to itself
  Duration latency;                        ///< from first bit in to first bit out at the end, all hops
  topology::LinkId bottleneck =
      kNone<topology::LinkId>;  ///< least payload rate per share; the first if several are equal
  /// The parts of `latency`, from the start: "scale-up", "PCIe", "sockets", "NIC", "switch", "frame", "FEC", "cable",
  /// and "network" if the file states one figure for a cable. No part is zero, except FEC when a cable has other parts.
  /// They sum to `latency`. A NIC's host side belongs to its PCIe link.
  std::vector<std::pair<std::string, Duration>> latency_parts;
  std::vector<topology::DeviceId> copied_in;  ///< host memories in which the payload is copied on its way
  std::vector<std::string> shared_with;       ///< other users of it: "node0.gpu1 -> node0.nic1", "node0.nic3 (by hash)"
  std::uint32_t shared_count = 0;             ///< of all users, including those not in `shared_with`
};

/// Router::spread for one connection of `flow`. Traffic that `reach` does not allow goes over the host memory nearest
/// to the GPU. Links come in order, each once. `copied_in`: those memories, if not null.
Status spread_reaching(const Router& router, const topology::DirectReach& reach, topology::DeviceId from,
                       topology::DeviceId to, topology::DeviceId nic_from, topology::DeviceId nic_to,
                       std::uint64_t flow, std::vector<LinkShare>& out,
                       std::vector<topology::DeviceId>* copied_in = nullptr, const SplitBias& bias = kEqualSplit);

/// The route of one connection from `from` to `to`, both inside blocks (any device except switches of the fabric).
/// Between blocks it uses the nearest NICs, of channel 0. Entries of shared_with:
/// - inside a block: pairs of GPUs, and GPUs with their NICs, whose own route crosses the bottleneck in the same
///   direction (in blocks of more than 128 GPUs only pairs with `from` or `to`);
/// - on a NIC's cable: the GPUs that use this NIC;
/// - on a cable between switches: the devices below it.
///
/// At most 256 are listed. Traffic that `reach` does not allow goes over the host memory nearest to the GPU, as one
/// path whose links are all busy at once.
Result<PathView> view_path(const Router& router, topology::DeviceId from, topology::DeviceId to,
                           const topology::DirectReach& reach = {});
/// The same without `shared_with` and `shared_count`, which cost more than the rest.
Result<PathView> view_route(const Router& router, topology::DeviceId from, topology::DeviceId to,
                            const topology::DirectReach& reach = {});

/// Bytes per second from the first GPU to the nearest CPU of its block, over PCIe or chip to chip; 0 if there is none.
double host_rate(const Router& router);

/// Whether every block describes its host memory.
bool has_host_memory(const topology::Topology& topology);

/// The host memory with the fewest links from `gpu`; of several that of its NUMA node, else the first; kNone: none.
topology::DeviceId nearest_memory(const Router& router, topology::DeviceId gpu);

}  // namespace busbar::routing
