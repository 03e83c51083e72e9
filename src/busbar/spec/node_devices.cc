#include "busbar/spec/internal/node_devices.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/spec/internal/identity.h"
#include "busbar/spec/internal/node_number.h"

namespace busbar::spec {
namespace {

/// One entry of `devices:`.
struct DeviceGroup {
  std::string name;
  std::uint32_t count = 0;  ///< 0: one device without a number
  topology::DeviceClass device_class;
  std::vector<std::int16_t> numa;  ///< one for all, or one each
  bool cabled = true;
  bool none = false;              ///< `count: 0`
  std::uint32_t lane_budget = 0;  ///< PCIe lanes; 0: not stated
  std::uint32_t ports_per_card = 1;
};

/// Local names are words. Dots, dashes and globs are for selectors; a digit at the end would belong to the number.
Status check_name(const YamlNode& node, const std::string& name, bool numbered) {
  const bool word = !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!word) return node.error(fmt::format("'{}' is not a device name; use letters, digits and '_'", name));
  if (numbered && name.back() >= '0' && name.back() <= '9') {
    return node.error(fmt::format("'{}' ends with a digit and would get a number behind it", name));
  }
  return {};
}

/// The given kind, or the name if it is a word for a kind.
Result<topology::DeviceKind> kind_of(const YamlNode& map, const std::string& name) {
  if (const auto kind = map.find("kind"))
    return as_enum(*kind, topology::DeviceKind::kSwitch, &topology::name_of, "kind of device");
  for (int i = 0; i <= static_cast<int>(topology::DeviceKind::kSwitch); ++i) {
    if (name == topology::name_of(static_cast<topology::DeviceKind>(i))) return static_cast<topology::DeviceKind>(i);
  }
  return map.error(fmt::format("the kind of '{}' is not known; add 'kind: gpu', 'kind: nic', ...", name));
}

/// Reads the memory of a GPU from its catalogue entry `map`.
Status look_up_gpu(const YamlNode& map, Reading& reading, topology::DeviceClass& out) {
  MapReader r = sourced(map);
  for (const char* key : {"name", "kind", "peak", "power", "scale_up", "host", "protocol"}) r.optional(key);
  if (const auto identity = r.optional("identity")) BUSBAR_RETURN_IF_ERROR(read_gpu_identity(*identity, out));
  r.required("memory", &YamlNode::as_size, out.memory);
  r.required("memory_rate", &YamlNode::as_rate, out.memory_rate);
  r.optional("memory_kind", &YamlNode::as_string, out.memory_kind);
  reading.note(fmt::format("{} memory", out.part), map);
  return r.finish();
}

Status read_numa(const YamlNode& node, std::uint32_t count, std::vector<std::int16_t>& out) {
  constexpr std::int64_t kMaxNuma = 1023;
  const auto add = [&](const YamlNode& n) -> Status {
    BUSBAR_ASSIGN(const std::int64_t number, n.as_int(0, kMaxNuma));
    out.push_back(static_cast<std::int16_t>(number));
    return {};
  };
  if (node.kind() == YamlNode::Kind::kScalar && node.scalar().starts_with('#')) {
    std::string_view rest = std::string_view(node.scalar()).substr(1);
    if (count == 0) return {};
    BUSBAR_ASSIGN(const NumberRule rule, take_rule(rest, node));
    if (!rest.empty()) return node.error(fmt::format("'{}' is not a rule; write #/4 or #*2/8", node.scalar()));
    for (std::uint32_t i = 0; i < count; ++i) {
      if (rule(i) > kMaxNuma) return node.error(fmt::format("NUMA node {} is above {}", rule(i), kMaxNuma));
      out.push_back(static_cast<std::int16_t>(rule(i)));
    }
    return {};
  }
  if (node.kind() != YamlNode::Kind::kSequence) return add(node);
  for (std::size_t i = 0; i < node.size(); ++i) BUSBAR_RETURN_IF_ERROR(add(node.item(i)));
  const std::size_t devices = std::max(count, 1u), numbers = out.size();
  if (numbers == 0 || (devices % numbers != 0 && numbers % devices != 0)) {
    return node.error(fmt::format("{} numbers for {} devices; give one each, or one for all", numbers, devices));
  }
  std::vector<std::int16_t> spread(devices);  // numbers are spread evenly over the devices
  for (std::size_t i = 0; i < devices; ++i) spread[i] = out[i * numbers / devices];
  out = std::move(spread);
  return {};
}

Result<DeviceGroup> read_group(const YamlNode& map, Reading& reading) {
  DeviceGroup group;
  MapReader r = sourced(map);
  r.required("name", &YamlNode::as_string, group.name);
  const auto count = r.optional("count"), part = r.optional("part"), numa = r.optional("numa");
  const auto memory = r.optional("memory"), rate = r.optional("memory_rate");
  r.optional("count", &as_count, group.count, 0, std::int64_t{kMaxDevices});
  r.optional("pcie_lanes", &YamlNode::as_int, group.lane_budget, 1, 1024);
  r.optional("ports_per_card", &YamlNode::as_int, group.ports_per_card, 1, 64);
  r.optional("kind");
  r.optional("cabled", &YamlNode::as_bool, group.cabled);
  r.optional("reduces", &YamlNode::as_bool, group.device_class.reduces);
  r.optional("lower_level", &YamlNode::as_bool, group.device_class.lower_level);
  r.optional("reduce_rate", &YamlNode::as_rate, group.device_class.reduce_rate);
  r.optional("transit_rate", &YamlNode::as_rate, group.device_class.transit_rate);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  group.none = count && group.count == 0;
  BUSBAR_RETURN_IF_ERROR(check_name(*map.find("name"), group.name, count.has_value()));
  BUSBAR_ASSIGN(group.device_class.kind, kind_of(map, group.name));
  if (group.device_class.kind == topology::DeviceKind::kGpu && per_second(group.device_class.transit_rate) > 0)
    return map.error("'transit_rate' limits what passes a device on its way; of a GPU, give 'memory_rate'");
  if (part) {
    BUSBAR_ASSIGN(group.device_class.part, part->as_string());
    if (group.device_class.kind == topology::DeviceKind::kCpu) {
      BUSBAR_ASSIGN(group.device_class.processor, find_processor(group.device_class.part, reading));
    }
    const bool known = group.device_class.kind == topology::DeviceKind::kGpu && (!memory || !rate);
    if (known) {
      BUSBAR_ASSIGN(const YamlNode entry, reading.resolve(*part, "gpus"));
      BUSBAR_RETURN_IF_ERROR(look_up_gpu(entry, reading, group.device_class));
    }
  } else if (group.device_class.kind == topology::DeviceKind::kGpu && !reading.gpu.empty()) {
    group.device_class.part = reading.gpu;
    BUSBAR_ASSIGN(const YamlNode entry, reading.open("gpus", reading.gpu));
    BUSBAR_RETURN_IF_ERROR(look_up_gpu(entry, reading, group.device_class));
  }
  r.optional("memory", &YamlNode::as_size, group.device_class.memory);  // over what the part has
  r.optional("memory_rate", &YamlNode::as_rate, group.device_class.memory_rate);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (numa && !group.none) BUSBAR_RETURN_IF_ERROR(read_numa(*numa, group.count, group.numa));
  return group;
}

/// "gpu3" as ("gpu", "3"): names are equal when both parts are.
std::pair<std::string_view, std::string_view> stem_and_number(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  return {name.substr(0, end), name.substr(end)};
}

/// Whether a device of `a` and a device of `b` would have the same name.
bool collide(const DeviceGroup& a, const DeviceGroup& b) {
  if (a.count == 0 && b.count == 0) return a.name == b.name;
  if (a.count > 0 && b.count > 0) return a.name == b.name;  // both have number 0
  const DeviceGroup& many = a.count > 0 ? a : b;
  const auto [stem, number] = stem_and_number(a.count > 0 ? b.name : a.name);
  if (stem != many.name || number.empty() || (number.size() > 1 && number[0] == '0')) return false;
  return number.size() < 9 && std::stoul(std::string(number)) < many.count;
}

void append(const DeviceGroup& group, NodeFile& out) {
  out.node.devices.reserve(out.node.devices.size() + std::max(group.count, 1u));
  for (std::uint32_t i = 0; i < std::max(group.count, 1u); ++i) {
    topology::TemplateDevice device;
    device.device_class = group.device_class;
    device.name = group.count > 0 ? fmt::format("{}{}", group.name, i) : group.name;
    if (!group.numa.empty()) device.numa = group.numa[group.numa.size() > 1 ? i : 0];
    if (group.ports_per_card > 1) device.card = static_cast<std::int16_t>(i / group.ports_per_card);
    const auto place = static_cast<std::uint32_t>(out.node.devices.size());
    if (device.device_class.kind == topology::DeviceKind::kNic && group.cabled) out.nics.push_back(place);
    if (device.device_class.kind == topology::DeviceKind::kGpu) ++out.gpus;
    if (group.lane_budget > 0) out.lane_budgets.emplace_back(place, group.lane_budget);
    out.node.devices.push_back(std::move(device));
  }
  if (group.device_class.kind == topology::DeviceKind::kGpu && out.gpu_part.empty())
    out.gpu_part = group.device_class.part;
}

}  // namespace

Status read_devices(const YamlNode& devices, Reading& reading, NodeFile& out) {
  if (devices.kind() != YamlNode::Kind::kSequence) return devices.error("expected a list of devices");
  std::vector<DeviceGroup> groups;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    BUSBAR_ASSIGN(DeviceGroup group, read_group(devices.item(i), reading));
    if (out.node.devices.size() + std::max(group.count, 1u) > kMaxDevices) {
      return devices.item(i).error(fmt::format("more than {} devices in a node", kMaxDevices));
    }
    for (const DeviceGroup& other : groups) {
      if (!collide(group, other)) continue;
      return devices.item(i).error(fmt::format("two devices would be called '{}{}'; names are unique in a node",
                                               group.name, group.count > 0 && other.count > 0 ? "0" : ""));
    }
    if (group.none) {
      out.absent.push_back(group.name);
      continue;
    }
    append(group, out);
    groups.push_back(std::move(group));
  }
  return {};
}

}  // namespace busbar::spec
