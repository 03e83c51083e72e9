// When the memory of a GPU is slower than its links.
#pragma once

#include "busbar/base/shortcuts.h"
#include "busbar/topology/topology.h"

namespace busbar::lowering {

/// Rate of the memory of `gpu` where it can hold up what the links of the GPU carry, else 0: no limit. A byte that
/// leaves is read once, one that arrives is written, and its receiver may read a byte of its own to add: a memory that
/// is three times as fast as all links of the GPU in one direction is never waited for (Shortcut::kFastMemory).
BytesPerSecond memory_limit(const topology::Topology& topology, topology::DeviceId gpu,
                            const Shortcuts& shortcuts = {});

}  // namespace busbar::lowering
