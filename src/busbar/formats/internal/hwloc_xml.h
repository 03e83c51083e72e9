// A machine as hwloc describes it (lstopo --of xml; versions 2 and 3, and the common parts of version 1).
//
// Source: open-mpi/hwloc 2.11, hwloc2.dtd and doc/hwloc.doxy: objects, PCI attributes, distances.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/topology/part_figures.h"

namespace busbar::formats {

/// One CPU per NUMA node. PCI devices are below the (first) NUMA node of the object that contains them. NVLink and xGMI
/// links, with their rates, come from the matrices of bandwidths. Objects inside a package (caches, cores) are counted,
/// not modelled. PCI devices that are no GPU, NIC, drive or bridge are listed as unknown.
Result<ImportedMachine> read_hwloc_xml(std::string_view text, const std::string& name,
                                       const topology::PartFigures& figures = {});

}  // namespace busbar::formats
