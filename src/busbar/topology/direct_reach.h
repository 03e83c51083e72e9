// Which devices reach GPU memory without a copy in host memory.
#pragma once

namespace busbar::topology {

struct DirectReach {
  bool gpudirect = true;  ///< NICs and drives
  bool p2p = true;        ///< GPUs over PCIe
  bool relays = true;     ///< GPUs over the NVLink of a GPU between them, as NCCL passes data on; the hardware does not
};

}  // namespace busbar::topology
