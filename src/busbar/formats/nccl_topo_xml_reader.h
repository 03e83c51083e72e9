// A topology file of NCCL or RCCL (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE) as a machine.
//
// Source: NVIDIA NCCL 2.30.7, src/graph/xml.cc and topo.cc: elements, attributes, PCI classes, defaults.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/topology/part_figures.h"

namespace busbar::formats {

/// `name`: the file's name in messages. Devices: one CPU per `cpu` element (a NUMA node for NCCL), linked with all
/// other CPUs of its host; GPUs in the order of rank, then dev; NICs in the order of dev, named after their first port
/// if that is a valid name; one NVSwitch per bus id that links of class 0x068000 name. A PCI function without class and
/// without children is listed as unknown. Links of GPUs name a peer at both ends; the larger count holds. Cost: linear
/// in the file.
Result<ImportedMachine> read_nccl_topo_xml(std::string_view text, const std::string& name,
                                           const topology::PartFigures& figures = {});

}  // namespace busbar::formats
