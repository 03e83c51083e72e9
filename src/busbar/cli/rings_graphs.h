// The graphs of a communicator as NCCL's graph file has them.
#pragma once

#include <vector>

#include "busbar/formats/nccl_graph_xml.h"
#include "busbar/nccl/comm.h"

namespace busbar {

/// Of the first node, its GPUs by CUDA number: what NCCL_GRAPH_DUMP_FILE holds there. Graphs without channels are left
/// out, as if they had not been searched.
std::vector<NcclGraphRecord> graph_records(const NcclComm& comm);

}  // namespace busbar
