// What the GPUs of a machine share on their way out: PCIe roots, NICs, and the tiers of the network.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/bisection.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/pcie_roots.h"

namespace busbar {

/// How many times less passes a tier than reaches it: 1 or less is non-blocking.
struct TierRatio {
  std::string tier;  ///< "scale-up", "leaf", "spine"
  double ratio = 1;
  /// Rates are rounded to bytes per second.
  bool non_blocking() const { return ratio <= 1 + 1e-6; }
};

/// "gpu0" of "node0.gpu0".
std::string name_in_node(const Topology& topology, DeviceId device);

struct SharedWays {
  std::size_t gpus = 0;          ///< of the node
  std::vector<DeviceId> nics;    ///< of the node, those that serve GPUs
  std::vector<PcieRoot> roots;   ///< of the node
  std::vector<TierRatio> tiers;  ///< of the machine, from the inside out
};

/// Scale-up links count if the machine is one domain: half of all ports against the narrowest cut into halves.
SharedWays shared_ways(const Topology& topology, BlockId node, const std::vector<Level>& levels,
                       const Bisection& bisection, const ScaleUpDomain& domain);

/// "GPUs per NIC", "PCIe roots", "non-blocking".
std::vector<std::pair<std::string, std::string>> sharing_facts(const Topology& topology, const SharedWays& ways);
/// Keys gpus_per_nic, pcie_roots and tiers.
void add_sharing(const Topology& topology, const SharedWays& ways, Json& out);

}  // namespace busbar
