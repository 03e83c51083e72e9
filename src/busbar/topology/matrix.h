// The table that `nvidia-smi topo -m` prints, for one block of any machine.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// Rows and columns are the GPUs, then the NICs, in their order.
struct RelationMatrix {
  std::vector<DeviceId> devices;
  std::vector<std::string> names;                           ///< "GPU0", "NIC3"
  std::vector<std::vector<std::string>> cells;              ///< " X ", "NV18", "PIX", ...
  std::vector<std::string> cpu_affinity;                    ///< per row: the nearest socket, "cpu1", or "N/A"
  std::vector<std::string> numa_affinity;                   ///< per row: "1", or "N/A"
  std::vector<std::pair<std::string, std::string>> legend;  ///< of the words that occur
};

/// NV# counts bonded NVLinks, XG# those of AMD's xGMI, ICI# those of TPUs. A pair without links of its own gets its
/// relation over PCIe and sockets, as in nvidia-smi, though NCCL may relay through a GPU; NVB if nothing else joins it.
/// A path through one socket is NODE if the block has several sockets, PHB if it has one. Cost: O(rows x links) of the
/// block.
RelationMatrix relation_matrix(const Topology& topology, BlockId block);

}  // namespace busbar::topology
