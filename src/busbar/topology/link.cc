#include "busbar/topology/link.h"

#include <cmath>

namespace busbar {
namespace {

BytesPerSecond scaled(BytesPerSecond rate, double factor) {
  return static_cast<BytesPerSecond>(std::llround(static_cast<double>(per_second(rate)) * factor));
}

}  // namespace

const char* name_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kCpu:
      return "cpu";
    case DeviceKind::kNuma:
      return "numa";
    case DeviceKind::kPcieSwitch:
      return "pcie_switch";
    case DeviceKind::kRootPort:
      return "root_port";
    case DeviceKind::kNic:
      return "nic";
    case DeviceKind::kNvme:
      return "nvme";
    case DeviceKind::kNvSwitch:
      return "nvswitch";
    case DeviceKind::kLeaf:
      return "leaf";
    case DeviceKind::kSpine:
      return "spine";
    case DeviceKind::kCore:
      return "core";
    case DeviceKind::kOcs:
      return "ocs";
    case DeviceKind::kSwitch:
      return "switch";
  }
  return "?";
}

const char* name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::kNvlink:
      return "nvlink";
    case LinkKind::kXgmi:
      return "xgmi";
    case LinkKind::kIci:
      return "ici";
    case LinkKind::kC2c:
      return "c2c";
    case LinkKind::kPcie:
      return "pcie";
    case LinkKind::kSocket:
      return "socket";
    case LinkKind::kHost:
      return "host";
    case LinkKind::kInfiniband:
      return "infiniband";
    case LinkKind::kEthernet:
      return "ethernet";
    case LinkKind::kIdeal:
      return "ideal";
  }
  return "?";
}

BytesPerSecond LinkClass::payload_rate() const { return scaled(wire_rate, efficiency * health); }
BytesPerSecond LinkClass::floor_rate() const { return scaled(wire_rate, health); }

}  // namespace busbar
