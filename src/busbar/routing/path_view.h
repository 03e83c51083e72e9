// One route put in words: its hops, what binds it, and who else crosses the narrowest link.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/routing/router.h"
#include "busbar/topology/direct_reach.h"
#include "busbar/topology/path_type.h"

namespace busbar {

/// Links crossed at the same distance from the start: more than one where the payload is split.
struct PathHop {
  std::vector<LinkShare> links;
  double payload_GBps = 0;  ///< of the whole payload: the smallest of rate / share
  double wire_GBps = 0;
  Duration latency;                                             ///< of the slowest of them
  std::vector<std::pair<std::string, Duration>> latency_parts;  ///< as in PathView
};

struct PathView {
  PathType type = PathType::kLoc;
  PathType nccl_type = PathType::kLoc;  ///< what NCCL would find; differs where it relays through a GPU
  std::vector<PathHop> hops;
  double payload_GBps = 0, wire_GBps = 0;  ///< of the narrowest hop; 0 for a device to itself
  Duration latency;                        ///< first bit in to first bit out at the end, all hops
  LinkId bottleneck = kNone<LinkId>;       ///< least payload rate per share; the first of equals
  /// What `latency` is made of, outwards: "scale-up", "PCIe", "sockets", "NIC", "switch", "frame", "FEC", "cable", and
  /// "network" where the file states one figure for a cable. No zeros, but for FEC where there are other parts of a
  /// cable. They sum to `latency`. A NIC's host side belongs to its PCIe link.
  std::vector<std::pair<std::string, Duration>> latency_parts;
  std::vector<DeviceId> copied_in;       ///< host memories in which the payload is copied on its way
  std::vector<std::string> shared_with;  ///< "node0.gpu1 -> node0.nic1", "node0.nic3 (by hash)": others on it
  std::uint32_t shared_count = 0;        ///< of all, also those that `shared_with` leaves out
};

/// Router::spread for one connection of `flow`: what `reach` denies goes to the host memory nearest to the GPU and on
/// from there. Links come in order, each once. `copied_in`: those memories, if asked for.
Status spread_reaching(const Router& router, const DirectReach& reach, DeviceId from, DeviceId to, DeviceId nic_from,
                       DeviceId nic_to, std::uint64_t flow, std::vector<LinkShare>& out,
                       std::vector<DeviceId>* copied_in = nullptr, const SplitBias& bias = kEqualSplit);

/// How the payload of one connection from `from` to `to` travels, both inside blocks (any device that is not a switch
/// of the fabric). Between blocks it uses the nearest NICs, of channel 0. shared_with: inside a block, pairs of GPUs
/// and GPUs with their NICs whose own route crosses the bottleneck the same way (in blocks of more than 128 GPUs only
/// pairs with `from` or `to`); on a NIC's cable the GPUs that use this NIC; on a cable between switches whatever hangs
/// below. At most 256 are listed. What `reach` denies goes to the host memory nearest to the GPU and on from there, as
/// one path whose links are all busy at once.
Result<PathView> view_path(const Router& router, DeviceId from, DeviceId to, const DirectReach& reach = {});

/// Bytes per second from the first GPU to the nearest CPU of its block, over PCIe or chip to chip; 0 where there is
/// none.
double host_rate(const Router& router);

}  // namespace busbar
