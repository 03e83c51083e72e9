#include "busbar/host/internal/nvml.h"

#include <fmt/core.h>

#include <array>
#include <iterator>
#include <utility>

#include "busbar/base/loaded_library.h"

namespace busbar::host {
namespace {

// Names, types and values: NVML API reference 550. Nothing of NVML is needed to build.
using Device = struct DeviceTag*;
constexpr unsigned kMostLinks = 18;  // NVML_NVLINK_MAX_LINKS
struct PciInfo {                     // nvmlPciInfo_t
  char legacy_id[16];
  unsigned domain, bus, device, pci_id, subsystem_id;
  char id[32];
};
struct FabricInfo {  // nvmlGpuFabricInfo_t
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
};
constexpr std::array<const char*, 4> kFabricStates{"N/A", "Not Started", "In Progress", "Completed"};
constexpr std::pair<unsigned long long, const char*> kSlowdowns[] = {  // nvmlClocksEventReason...
    {0x08, "HW Slowdown"},
    {0x20, "SW Thermal Slowdown"},
    {0x40, "HW Thermal Slowdown"},
    {0x80, "HW Power Brake Slowdown"}};

class Gpu {
 public:
  Gpu(const LoadedLibrary& nvml, Device device) : nvml_(nvml), device_(device) {}

  std::string text() {
    PciInfo pci{};
    if (!nvml_.call("nvmlDeviceGetPciInfo_v3", device_, &pci)) return {};
    pci.id[std::size(pci.id) - 1] = '\0';
    out_ = fmt::format("GPU {}\n", pci.id);
    char name[96] = {};
    if (nvml_.call("nvmlDeviceGetName", device_, &name[0], static_cast<unsigned>(sizeof name - 1)))
      out_ += fmt::format("    Product Name : {}\n", &name[0]);
    int state = 0;
    if (nvml_.call("nvmlDeviceGetPerformanceState", device_, &state))
      out_ += fmt::format("    Performance State : P{}\n", state);
    unsigned now = 0, pending = 0;
    if (nvml_.call("nvmlDeviceGetMigMode", device_, &now, &pending))
      out_ += fmt::format("    MIG Mode\n        Current : {}\n", now != 0 ? "Enabled" : "Disabled");
    add_link("PCIe Generation", "", "nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetCurrPcieLinkGeneration");
    add_link("Link Width", "x", "nvmlDeviceGetMaxPcieLinkWidth", "nvmlDeviceGetCurrPcieLinkWidth");
    add_fabric();
    add_slowdowns();
    add_nvlinks();
    return std::move(out_);
  }

 private:
  void add_link(const char* heading, const char* unit, const char* most, const char* current) {
    unsigned max = 0, now = 0;
    if (nvml_.call(most, device_, &max) && nvml_.call(current, device_, &now))
      out_ += fmt::format("    {0}\n        Max : {2}{1}\n        Current : {3}{1}\n", heading, unit, max, now);
  }

  void add_fabric() {
    FabricInfo fabric{};
    if (nvml_.call("nvmlDeviceGetGpuFabricInfo", device_, &fabric) && fabric.state < kFabricStates.size())
      out_ += fmt::format("    Fabric\n        State : {}\n", kFabricStates[fabric.state]);
  }

  void add_slowdowns() {
    unsigned long long reasons = 0;
    if (!nvml_.call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons)) return;
    out_ += "    Clocks Event Reasons\n";
    for (const auto& [bit, name] : kSlowdowns)
      out_ += fmt::format("        {} : {}\n", name, (reasons & bit) != 0 ? "Active" : "Not Active");
  }

  void add_nvlinks() {
    for (unsigned link = 0; link < kMostLinks; ++link) {
      int active = 0;
      if (nvml_.call("nvmlDeviceGetNvLinkState", device_, link, &active))
        out_ += fmt::format("    Link {}: {}\n", link, active != 0 ? "active" : "<inactive>");
    }
  }

  const LoadedLibrary& nvml_;
  Device device_;
  std::string out_;
};

}  // namespace

std::string read_nvml(const char* library) {
  const LoadedLibrary nvml(library);
  if (!nvml.call("nvmlInit_v2")) return {};
  unsigned count = 0;
  std::string out;
  char version[96] = {};
  if (nvml.call("nvmlSystemGetDriverVersion", &version[0], static_cast<unsigned>(sizeof version - 1)))
    out += fmt::format("Driver Version : {}\n", &version[0]);
  if (!nvml.call("nvmlDeviceGetCount_v2", &count)) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device)) out += Gpu(nvml, device).text();
  }
  nvml.call("nvmlShutdown");
  return out;
}

}  // namespace busbar::host
