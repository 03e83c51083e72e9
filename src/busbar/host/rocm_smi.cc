#include "busbar/host/internal/rocm_smi.h"

#include <fmt/core.h>

#include <cstdint>
#include <vector>

#include "busbar/base/loaded_library.h"

namespace busbar::host {
namespace {

// Names, types and values: ROCm SMI library 5 to 7, rocm_smi.h.
constexpr int kPcie = 1, kXgmi = 2;  // RSMI_IO_LINK_TYPE

/// "0000:0c:00.0". Bits 63 to 32: domain, 15 to 8: bus, 7 to 3: device, 2 to 0: function.
std::string bus_id(std::uint64_t bdf) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", bdf >> 32, bdf >> 8 & 0xff, bdf >> 3 & 0x1f, bdf & 7);
}

}  // namespace

std::string read_rocm_smi(const char* library) {
  const LoadedLibrary smi(library);
  std::uint32_t count = 0;
  if (!smi.call("rsmi_init", std::uint64_t{0})) return {};
  std::vector<std::string> ids;
  if (smi.call("rsmi_num_monitor_devices", &count))
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint64_t bdf = 0;
      ids.push_back(smi.call("rsmi_dev_pci_id_get", i, &bdf) ? bus_id(bdf) : "");
    }
  std::string out;
  for (std::uint32_t i = 0; i < ids.size() && ids.size() > 1; ++i) {
    for (std::uint32_t j = 0; j < ids.size(); ++j) {
      std::uint64_t hops = 0;
      int type = 0;
      if (i == j || ids[i].empty() || ids[j].empty() || !smi.call("rsmi_topo_get_link_type", i, j, &hops, &type))
        continue;
      if (type == kXgmi || type == kPcie)
        out += fmt::format("host part {} reaches GPU {} by {}\n", ids[i], ids[j], type == kXgmi ? "xGMI" : "PCIe");
    }
    int errors = 0;
    if (smi.call("rsmi_dev_xgmi_error_status", i, &errors) && errors != 0)
      out += fmt::format("host part {} has errors on xGMI\n", ids[i]);
  }
  smi.call("rsmi_shut_down");
  return out;
}

std::string read_any_rocm_smi() {
  for (const char* const name : {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5"})
    if (std::string out = read_rocm_smi(name); !out.empty()) return out;
  return {};
}

}  // namespace busbar::host
