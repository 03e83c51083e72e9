// Which devices reach GPU memory without a copy in host memory.
#pragma once

namespace busbar {

struct DirectReach {
  bool gpudirect = true;  ///< NICs and drives
  bool p2p = true;        ///< GPUs over PCIe
};

}  // namespace busbar
