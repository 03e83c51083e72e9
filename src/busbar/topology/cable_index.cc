#include "busbar/topology/cable_index.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/grouped.h"
#include "busbar/base/text.h"
#include "busbar/topology/seen_damage.h"

namespace busbar::topology {

CableIndex::CableIndex(const Topology& topology) : topology_(topology) {
  for (const NodeTemplate& node : topology.templates()) {
    auto& places = places_.emplace_back();
    for (std::uint32_t i = 0; i < node.devices.size(); ++i) places.emplace(node.devices[i].name, i);
  }
  for (const DeviceId d : topology.fabric_switches()) switches_.emplace(topology.name(d), d);
  cables_ = grouped<LinkId>(topology.device_count(), [&](auto&& add) {
    for (std::uint32_t l = 0; l < topology.link_count(); ++l)
      add(index(topology.from(static_cast<LinkId>(l))), static_cast<LinkId>(l & ~1u));
  });
}

std::optional<DeviceId> CableIndex::local(std::uint32_t block, std::string_view name) const {
  const Block& b = topology_.blocks()[block];
  const auto& places = places_[b.template_index];
  const auto at = places.find(name);
  if (at == places.end()) return std::nullopt;
  return static_cast<DeviceId>(b.first_device + at->second);
}

/// "node5": 5, if there is such a node.
std::optional<std::uint32_t> CableIndex::block(std::string_view name) const {
  constexpr std::string_view kNode = "node";
  if (!name.starts_with(kNode)) return std::nullopt;
  std::uint32_t number = 0;
  if (!is_number(name.substr(kNode.size()), number) || number >= topology_.blocks().size()) return std::nullopt;
  return number;
}

std::optional<DeviceId> CableIndex::device(std::string_view name) const {
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos) {
    const auto b = block(name.substr(0, dot));
    return b ? local(*b, name.substr(dot + 1)) : std::nullopt;
  }
  const auto at = switches_.find(std::string(name));
  return at == switches_.end() ? std::nullopt : std::optional(at->second);
}

/// Whether it is the name of a device in some kind of node.
bool CableIndex::is_local(std::string_view name) const {
  return std::any_of(places_.begin(), places_.end(), [&](const auto& places) { return places.contains(name); });
}

Result<std::vector<LinkId>> CableIndex::select(std::string_view selector) const {
  const std::size_t dash = selector.find('-');
  const auto a = is_glob(selector) ? std::nullopt : device(selector.substr(0, dash));
  if (!a) return select_cables(topology_, selector);
  std::optional<DeviceId> b;
  if (dash != std::string_view::npos) {
    const std::string_view rest = selector.substr(dash + 1);
    const BlockId block = topology_.block_of(*a);
    const bool beside = block != kNone<BlockId> && rest.find('.') == std::string_view::npos && is_local(rest);
    b = beside ? local(index(block), rest) : device(rest);
    if (!b) return select_cables(topology_, selector);
  }
  std::vector<LinkId> out;
  for (const LinkId l : cables_.row(index(*a))) {
    const DeviceId far = topology_.from(l) == *a ? topology_.to(l) : topology_.from(l);
    if (!b || far == *b) out.push_back(l);
  }
  if (out.empty()) return select_cables(topology_, selector);  // gives the error with its message
  return out;
}

Status degrade_cables(TopologyBuilder& builder, const CableIndex& index, std::string_view selector, double factor) {
  if (!(factor > 0 && factor < 1)) {
    return invalid(fmt::format("the factor {} for '{}' must lie between 0 and 1, both excluded; a dead cable is 'fail'",
                               factor, selector));
  }
  std::string_view cables = selector;
  if (cables.ends_with(kSeen)) cables.remove_suffix(kSeen.size());
  BUSBAR_ASSIGN(std::vector<LinkId> links, index.select(cables));
  builder.degrade(std::move(links), factor, std::string(selector));
  return {};
}

Status fail_cables(TopologyBuilder& builder, const CableIndex& index, std::string_view selector) {
  BUSBAR_ASSIGN(const std::vector<LinkId> links, index.select(selector));
  for (const LinkId l : links) builder.fail(l);
  return {};
}

Status degrade_cables(TopologyBuilder& builder, std::string_view selector, double factor) {
  return degrade_cables(builder, CableIndex(builder.peek()), selector, factor);
}

Status fail_cables(TopologyBuilder& builder, std::string_view selector) {
  return fail_cables(builder, CableIndex(builder.peek()), selector);
}

}  // namespace busbar::topology
