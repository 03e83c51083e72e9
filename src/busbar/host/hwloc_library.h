// This host as hwloc sees it.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace busbar::host {

/// What `lstopo --of xml` prints, with all PCI devices. Empty if the library is not there or fails.
std::string hwloc_xml_of_host(const char* library = "libhwloc.so.15");

/// By bus id, the NUMA node of each PCI device that hwloc places on exactly one. `xml`: see hwloc_xml_of_host().
std::map<std::string, int> numa_nodes_of_pci(std::string_view xml);

}  // namespace busbar::host
