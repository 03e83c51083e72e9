// The PCIe tree of a host, as Linux shows it in /sys/bus/pci.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/host/host_files.h"

namespace busbar::host {

enum class PciRole : std::uint8_t { kGpu, kNic, kBridge, kOther };

struct PciDevice {
  std::string id;                  ///< "0000:17:00.0"
  std::string root;                ///< its root complex: "pci0000:16"
  std::vector<std::string> above;  ///< ids of the bridges from the root complex down, without the device
  PciRole role = PciRole::kOther;
  std::uint32_t class_code = 0;  ///< base class, subclass and interface, as in 0x030200
  std::uint32_t vendor = 0;
  int numa_node = -1;  ///< -1: unknown
  std::string path() const { return "/sys/bus/pci/devices/" + id; }
};

/// All devices, in the order of their ids. Where Linux does not know the NUMA node, hwloc is asked, if it is there.
std::vector<PciDevice> pci_devices(const HostFiles& files);
bool has_gpu(const HostFiles& files);

/// How far two devices are apart, in the words of nvidia-smi topo -m: PIX, PXB, PHB, NODE or SYS. Empty: not known,
/// because the devices are below different root complexes and a NUMA node is unknown.
const char* distance_of(const PciDevice& a, const PciDevice& b);

/// "ReqRedir+ CmpltRedir- ..." as lspci writes it, from the device's configuration; empty if it has no access control
/// or only its first bytes may be read (without root).
std::string access_control(const HostFiles& files, const PciDevice& device);

}  // namespace busbar::host
