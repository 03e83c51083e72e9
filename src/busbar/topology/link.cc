#include "busbar/topology/link.h"

#include <cmath>
#include <iterator>

namespace busbar::topology {
namespace {

BytesPerSecond scaled(BytesPerSecond rate, double factor) {
  return static_cast<BytesPerSecond>(std::llround(static_cast<double>(per_second(rate)) * factor));
}

}  // namespace

const char* name_of(DeviceKind kind) {
  constexpr const char* kNames[] = {"gpu",      "cpu",  "numa",  "pcie_switch", "root_port", "nic",   "nvme",
                                    "nvswitch", "leaf", "spine", "core",        "ocs",       "switch"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(DeviceKind::kSwitch) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

const char* name_of(LinkKind kind) {
  constexpr const char* kNames[] = {"nvlink", "xgmi", "ici",        "c2c",      "pcie",
                                    "socket", "host", "infiniband", "ethernet", "ideal"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(LinkKind::kIdeal) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

BytesPerSecond LinkClass::payload_rate() const { return scaled(wire_rate, efficiency * health); }
BytesPerSecond LinkClass::floor_rate() const { return scaled(wire_rate, health); }

}  // namespace busbar::topology
