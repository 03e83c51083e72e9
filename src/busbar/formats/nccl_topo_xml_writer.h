// Writes one block as a topology file for NCCL (NCCL_TOPO_FILE).
//
// Source: NVIDIA NCCL 2.30.7, src/graph/xml.cc and topo.cc: elements, attributes and limits. Its reader is no XML
// parser: no text, no entities, no space before "/>".
#pragma once

#include <string>

#include "busbar/base/result.h"
#include "busbar/topology/topology.h"

namespace busbar::formats {

inline constexpr std::size_t kMostNcclNodes = 256;  ///< elements that NCCL reads from one file

/// Bus ids are invented, in the order of the tree. Attributes that the topology does not know (compute capability of an
/// unknown GPU, speed of a NIC without cable, cores of a socket) are left out; NCCL detects them on a live machine. A
/// `cpu` is a NUMA node, as in NCCL. NICs without a cable carry storage and are left out if others of the block have a
/// cable. If one link per switch makes too many elements, a GPU names one switch for all its NVLinks; NCCL counts all
/// switches as one anyway. Error kUnsupported above kMostNcclNodes.
Result<std::string> write_nccl_topo_xml(const topology::Topology& topology, topology::BlockId block);

}  // namespace busbar::formats
