// The memory of a machine's GPUs.
#pragma once

#include "busbar/topology/topology.h"

namespace busbar {

/// Of the first GPU; all are taken to be alike. Pre: there is a GPU.
inline Bytes gpu_memory(const Topology& t) { return t.device_class(t.gpus().front()).memory; }

}  // namespace busbar
