#include "busbar/host/internal/verbs.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>

#include "busbar/base/loaded_library.h"

namespace busbar::host {
namespace {

// Names, types and values: rdma-core 44, libibverbs/verbs.h.
using VerbsDevice = struct VerbsDeviceTag*;
using VerbsContext = struct VerbsContextTag*;
struct VerbsPort {  // the beginning of ibv_port_attr
  int state, max_mtu, active_mtu;
  std::array<unsigned char, 128> rest;
};
constexpr std::uint8_t kMostPorts = 8;
constexpr std::array<int, 6> kMtus{0, 256, 512, 1024, 2048, 4096};  // ibv_mtu

int mtu(int code) {
  return code > 0 && code < static_cast<int>(kMtus.size()) ? kMtus[static_cast<std::size_t>(code)] : 0;
}

std::string ports_of(const LoadedLibrary& verbs, VerbsContext context) {
  std::string out;
  for (std::uint8_t port = 1; port <= kMostPorts; ++port) {
    VerbsPort p{};
    if (!verbs.call("ibv_query_port", context, port, &p)) break;
    if (mtu(p.max_mtu) == 0 || mtu(p.active_mtu) == 0) continue;
    out += fmt::format("    port: {}\n        max_mtu: {} ({})\n        active_mtu: {} ({})\n", port, mtu(p.max_mtu),
                       p.max_mtu, mtu(p.active_mtu), p.active_mtu);
  }
  return out;
}

}  // namespace

std::string read_verbs(const char* library) {
  const LoadedLibrary verbs(library);
  const auto list = verbs.find<VerbsDevice*(int*)>("ibv_get_device_list");
  const auto name = verbs.find<const char*(VerbsDevice)>("ibv_get_device_name");
  const auto open = verbs.find<VerbsContext(VerbsDevice)>("ibv_open_device");
  const auto free_list = verbs.find<void(VerbsDevice*)>("ibv_free_device_list");
  if (list == nullptr || name == nullptr || open == nullptr || free_list == nullptr) return {};
  int count = 0;
  VerbsDevice* const devices = list(&count);
  if (devices == nullptr) return {};
  std::string out;
  for (int i = 0; i < count; ++i) {
    const VerbsContext context = open(devices[i]);
    if (context == nullptr) continue;
    if (const std::string ports = ports_of(verbs, context); !ports.empty())
      out += fmt::format("hca_id: {}\n{}", name(devices[i]), ports);
    verbs.call("ibv_close_device", context);
  }
  free_list(devices);
  return out;
}

}  // namespace busbar::host
