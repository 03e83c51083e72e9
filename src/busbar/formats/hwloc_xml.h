// A machine as hwloc saw it (lstopo --of xml; versions 2 and 3, and what of 1 is alike).
//
// Source: open-mpi/hwloc 2.11, hwloc2.dtd and doc/hwloc.doxy: objects, PCI attributes, distances.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/topology/part_figures.h"

namespace busbar {

/// One CPU per NUMA node; PCI devices below the NUMA node of the object that holds them, the first of several. NVLink
/// and xGMI come from the matrices of bandwidths, with their rates. Objects inside a package (caches, cores) are
/// counted, not modelled; PCI devices that are no GPU, NIC, drive or bridge are listed as unknown.
Result<ImportedMachine> read_hwloc_xml(std::string_view text, const std::string& name, const PartFigures& figures = {});

}  // namespace busbar
