#include "busbar/topology/topology.h"

#include <fmt/core.h>

#include <charconv>

namespace busbar::topology {

BlockId Topology::block_of(DeviceId d) const { return device_block_[index(d)]; }

const TemplateDevice& Topology::template_device(DeviceId d) const {
  const Block& block = blocks_[index(block_of(d))];
  return templates_[block.template_index].devices[index(d) - block.first_device];
}

std::int16_t Topology::numa(DeviceId d) const {
  return block_of(d) == kNone<BlockId> ? std::int16_t{-1} : template_device(d).numa;
}

std::string Topology::name(DeviceId d) const {
  const BlockId b = block_of(d);
  if (b == kNone<BlockId>) return fabric_names_[fabric_index_.at(index(d))];
  return fmt::format("node{}.{}", index(b), template_device(d).name);
}

std::string Topology::name(LinkId l) const { return name(from(l)) + "->" + name(to(l)); }

Result<DeviceId> Topology::find(std::string_view name) const {
  const Error missing{ErrorCode::kNotFound, fmt::format("no device is called '{}'", name), {}};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) {
    for (std::size_t i = 0; i < fabric_.size(); ++i)
      if (fabric_names_[i] == name) return fabric_[i];
    return missing;
  }
  std::uint32_t number = 0;
  const char* first = name.data() + 4;
  const char* last = name.data() + dot;
  if (!name.starts_with("node") || first == last) return missing;
  const auto parsed = std::from_chars(first, last, number);
  if (parsed.ec != std::errc() || parsed.ptr != last || number >= blocks_.size()) return missing;
  const Block& block = blocks_[number];
  const auto& devices = templates_[block.template_index].devices;
  for (std::uint32_t i = 0; i < devices.size(); ++i)
    if (devices[i].name == name.substr(dot + 1)) return static_cast<DeviceId>(block.first_device + i);
  return missing;
}

}  // namespace busbar::topology
