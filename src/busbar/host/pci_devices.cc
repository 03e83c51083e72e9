#include "busbar/host/pci_devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "busbar/base/text.h"
#include "busbar/host/hwloc_library.h"

namespace busbar::host {
namespace {

// PCI Code and ID Assignment Specification 1.16: base class and subclass.
constexpr std::uint32_t kEthernet = 0x0200, kInfiniband = 0x0207, kVga = 0x0300, k3d = 0x0302, kDisplay = 0x0380,
                        kBridge = 0x0604, kAccelerator = 0x1200;
// pci.ids: vendors whose VGA controllers compute. Controllers of management processors are VGA controllers, too.
constexpr std::uint32_t kNvidia = 0x10de, kAmd = 0x1002;

std::uint32_t hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint32_t out = 0;
  return is_number(text, out, 16) ? out : 0;
}

PciRole role_of(std::uint32_t class_code, std::uint32_t vendor) {
  const std::uint32_t kind = class_code >> 8;
  if (kind == kBridge) return PciRole::kBridge;
  if (kind == kEthernet || kind == kInfiniband) return PciRole::kNic;
  if (vendor != kNvidia && vendor != kAmd) return PciRole::kOther;
  return kind == kVga || kind == k3d || kind == kDisplay || kind == kAccelerator ? PciRole::kGpu : PciRole::kOther;
}

/// "0000:17:00.0"
bool is_bus_id(std::string_view name) {
  return name.size() >= 12 && name[name.size() - 2] == '.' && name[name.size() - 5] == ':' &&
         name[name.size() - 8] == ':';
}

/// Firmware may not say where devices are. hwloc knows some such boards.
void ask_hwloc(std::vector<PciDevice>& devices) {
  if (std::all_of(devices.begin(), devices.end(), [](const PciDevice& d) { return d.numa_node >= 0; })) return;
  const std::map<std::string, int> nodes = numa_nodes_of_pci(hwloc_xml_of_host());
  for (PciDevice& d : devices)
    if (const auto at = nodes.find(d.id); d.numa_node < 0 && at != nodes.end()) d.numa_node = at->second;
}

}  // namespace

std::vector<PciDevice> pci_devices(const HostFiles& files) {
  std::vector<PciDevice> out;
  for (const std::string& id : files.names("/sys/bus/pci/devices")) {
    PciDevice d;
    d.id = id;
    d.class_code = hexadecimal(files.line(d.path() + "/class"));
    d.vendor = hexadecimal(files.line(d.path() + "/vendor"));
    d.role = role_of(d.class_code, d.vendor);
    if (const std::string numa = files.line(d.path() + "/numa_node"); !is_number(numa, d.numa_node)) d.numa_node = -1;
    const std::string place = files.target(d.path());
    for (const std::string_view name : split_at(place, '/')) {
      if (name.starts_with("pci") && name.find(':') != name.npos) d.root = name;
      if (is_bus_id(name) && name != id) d.above.emplace_back(name);
    }
    out.push_back(std::move(d));
  }
  std::sort(out.begin(), out.end(), [](const PciDevice& a, const PciDevice& b) { return a.id < b.id; });
  if (files.is_this_host()) ask_hwloc(out);
  return out;
}

bool has_gpu(const HostFiles& files) {
  const std::vector<PciDevice> all = pci_devices(files);
  return std::any_of(all.begin(), all.end(), [](const PciDevice& d) { return d.role == PciRole::kGpu; });
}

const char* distance_of(const PciDevice& a, const PciDevice& b) {
  if (!a.root.empty() && a.root == b.root) {
    const auto [in_a, in_b] = std::mismatch(a.above.begin(), a.above.end(), b.above.begin(), b.above.end());
    if (in_a == a.above.begin()) return "PHB";
    // Two ports of one switch: a downstream port each below the common upstream port.
    return a.above.end() - in_a <= 1 && b.above.end() - in_b <= 1 ? "PIX" : "PXB";
  }
  if (a.numa_node < 0 || b.numa_node < 0) return "";
  return a.numa_node == b.numa_node ? "NODE" : "SYS";
}

std::string access_control(const HostFiles& files, const PciDevice& device) {
  // PCI Express Base Specification 5.0, sections 7.6.3 and 7.7.8: extended capabilities are a list from byte 256 on;
  // the one of number 13 has its control register in bytes 6 and 7.
  constexpr std::size_t kFirst = 0x100, kAcs = 0x000d, kControl = 6;
  constexpr std::array<const char*, 7> kBits{"SrcValid",    "TransBlk",   "ReqRedir",   "CmpltRedir",
                                             "UpstreamFwd", "EgressCtrl", "DirectTrans"};
  const std::string config = files.text(device.path() + "/config");
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(config[at])); };
  std::size_t at = kFirst;
  for (int hops = 0; at >= kFirst && at + 8 <= config.size() && hops < 64; ++hops) {
    const std::uint32_t head = byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24;
    if ((head & 0xffff) != kAcs) {
      at = head >> 20;
      continue;
    }
    std::string out;
    for (std::size_t bit = 0; bit < kBits.size(); ++bit)
      out +=
          fmt::format("{}{}{}", out.empty() ? "" : " ", kBits[bit], (byte(at + kControl) >> bit & 1) != 0 ? '+' : '-');
    return out;
  }
  return {};
}

}  // namespace busbar::host
