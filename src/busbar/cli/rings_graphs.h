// The graphs of a communicator in the form of NCCL's graph file.
#pragma once

#include <vector>

#include "busbar/formats/nccl_graph_xml.h"
#include "busbar/nccl/comm.h"

namespace busbar {

/// The graphs of the first node, with GPUs by CUDA number, as in NCCL_GRAPH_DUMP_FILE. Graphs without channels are
/// omitted, as if they had not been searched.
std::vector<NcclGraphRecord> graph_records(const NcclComm& comm);

}  // namespace busbar
