// What a machine is: counts, tiers, bisection, memory, cables, and what its GPUs share on their way out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/spec/cluster.h"
#include "busbar/topology/bisection.h"
#include "busbar/topology/cabling.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/pcie_roots.h"

namespace busbar::questions {

/// How many times less passes a tier than reaches it: 1 or less is non-blocking.
struct TierRatio {
  std::string tier;  ///< "scale-up", "leaf", "spine"; of a dragonfly "groups", half to half
  double ratio = 1;
  /// Rates are rounded to bytes per second.
  bool non_blocking() const { return ratio <= 1 + 1e-6; }
};

/// "gpu0" of "node0.gpu0".
std::string name_in_node(const topology::Topology& topology, topology::DeviceId device);

struct SharedWays {
  std::size_t gpus = 0;                   ///< of the node
  std::vector<topology::DeviceId> nics;   ///< of the node, those that serve GPUs
  std::vector<topology::PcieRoot> roots;  ///< of the node
  std::vector<TierRatio> tiers;           ///< of the machine, from the inside out
};

/// Scale-up links count if the machine is one domain: half of all ports against the narrowest cut into halves.
SharedWays shared_ways(const topology::Topology& topology, topology::BlockId node,
                       const std::vector<topology::Level>& levels, const topology::Bisection& bisection,
                       const topology::ScaleUpDomain& domain);

struct TopoFacts {
  std::vector<std::pair<std::string, std::uint32_t>> counts;  ///< "gpus", 8; in order
  std::vector<topology::Level> levels;
  topology::Bisection bisection;
  Bytes memory{0};
  topology::ScaleUpDomain scale_up;
  SharedWays ways;                      ///< of the node that was asked for
  std::vector<topology::Cable> cables;  ///< of the network; empty without one
  topology::CablingSums cabling;
};
TopoFacts topo_facts(const spec::Cluster& cluster, topology::BlockId node);

/// The largest model that fits the memory of a scale-up domain.
struct LargestModel {
  std::string what;
  double bytes_per_parameter = 0;
  double parameters = 0;
};
std::vector<LargestModel> largest_models(const topology::ScaleUpDomain& domain);

}  // namespace busbar::questions
