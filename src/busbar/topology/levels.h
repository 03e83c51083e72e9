// The machine as a table: the levels that a byte crosses on its way out of a GPU, and the rate of each.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// One level, per GPU and per direction.
struct Level {
  std::string name;  ///< "hbm", "scale-up", "c2c", "pcie", "nic", "leaf", "spine", "core"
  double wire_GBps = 0;
  double payload_GBps = 0;  ///< wire x efficiency x health
  Duration latency;         ///< one way to a peer, this level the farthest on the path; 0 for HBM: not modelled
  std::string note;         ///< what the figures include
  double ratio = 0;         ///< how many times narrower (wire) than the level before; 0 for the first
  bool from_above = false;  ///< the cables of the level before, counted at their upper end
};

/// The existing levels, from the inside out. HBM, scale-up and PCIe are those of the first GPU. NIC and fabric are the
/// sum of all live cables divided by the number of GPUs: the share of each GPU if all send at once.
std::vector<Level> machine_levels(const Topology& topology);

/// What one NIC has, payload in one direction.
struct NicRates {
  double slot_GBps = 0;   ///< its links inside the server
  double cable_GBps = 0;  ///< its cables
  /// The server cannot fill the cables.
  bool starved() const { return slot_GBps > 0 && slot_GBps < cable_GBps; }
};
/// Of the first NIC with a cable to a switch; zeros without one.
NicRates nic_rates(const Topology& topology);

/// The number of devices of each kind, in the order of DeviceKind, without absent kinds. A switch chip that shows two
/// levels counts once.
std::vector<std::pair<DeviceKind, std::uint32_t>> device_counts(const Topology& topology);

/// The HBM of all GPUs.
Bytes total_memory(const Topology& topology);

/// GPUs that reach each other over scale-up links alone, and their total HBM.
struct ScaleUpDomain {
  std::uint32_t gpus = 0;
  Bytes memory{0};
  double ports_GBps = 0;  ///< scale-up ports of all its GPUs, one direction, wire
};
/// The domain of the first GPU; one GPU alone if it has no such links. Links to CPUs do not count.
ScaleUpDomain scale_up_domain(const Topology& topology);

}  // namespace busbar::topology
