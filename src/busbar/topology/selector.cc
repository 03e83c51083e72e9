#include "busbar/topology/selector.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar::topology {
namespace {

/// Whether `c` is in the set that starts after '['. Moves `p` past the ']'. A set without ']' matches nothing.
bool in_set(std::string_view pattern, std::size_t& p, char c) {
  const std::size_t end = pattern.find(']', p + 1);
  if (end == std::string_view::npos) {
    p = pattern.size();
    return false;
  }
  bool hit = false;
  for (std::size_t i = p; i < end; ++i) {
    if (i + 2 < end && pattern[i + 1] == '-') {
      hit = hit || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      hit = hit || pattern[i] == c;
    }
  }
  p = end + 1;
  return hit;
}

constexpr std::string_view kNode = "node";

/// Part of a selector before resolution: "node5" . "gpu3", or a switch ("leaf3", no local part).
struct Pattern {
  std::string_view text, block, local;
  bool in_node = false;
};

Pattern split(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot != std::string_view::npos) return {text, text.substr(0, dot), text.substr(dot + 1), true};
  // "node5" alone: every device of the node. No fabric switch has such a name.
  if (text.starts_with(kNode) && text.size() > kNode.size()) return {text, text, "*", true};
  return {text, {}, text, false};
}

std::optional<std::uint32_t> literal_number(std::string_view block) {
  if (!block.starts_with(kNode) || is_glob(block)) return std::nullopt;
  std::uint32_t number = 0;
  return is_number(block.substr(kNode.size()), number) ? std::optional(number) : std::nullopt;
}

/// The devices that one part names: a mark per device, and the node if there is only one.
struct DeviceSet {
  std::vector<std::uint8_t> in;  ///< per device; empty: every device
  std::optional<std::uint32_t> only_node;
  bool in_nodes = false;
  std::size_t count = 0;
  bool has(DeviceId d) const { return in.empty() || in[index(d)] != 0; }
};

/// Nodes whose name matches, in ascending order.
Result<std::vector<std::uint32_t>> select_nodes(const Topology& t, const Pattern& p, std::string_view selector) {
  const auto count = static_cast<std::uint32_t>(t.blocks().size());
  const auto number = literal_number(p.block);
  std::vector<std::uint32_t> out;
  if (number && *number < count) out.push_back(*number);
  if (!number) {
    for (std::uint32_t b = 0; b < count; ++b) {
      if (matches_glob(p.block, fmt::format("{}{}", kNode, b))) out.push_back(b);
    }
  }
  if (!out.empty()) return out;
  const std::string range =
      count == 1 ? "the only node is node0" : fmt::format("the nodes are node0 to node{}", count - 1);
  return Error{ErrorCode::kNotFound,
               fmt::format("'{}' matches nothing: no node is called '{}'; {}", selector, p.block, range),
               {}};
}

Error no_such_device(const Topology& t, const Pattern& p, std::string_view selector, const NodeTemplate* node) {
  std::vector<std::string> names;
  if (node != nullptr) {
    for (const TemplateDevice& d : node->devices) names.push_back(d.name);
  } else {
    for (const DeviceId d : t.fabric_switches()) names.push_back(t.name(d));
    if (t.blocks().size() > 0) names.emplace_back("node0");
  }
  std::string hint;
  if (const std::string near = nearest(p.local, names); !near.empty()) {
    hint = fmt::format("; did you mean '{}{}{}'?", p.block, p.block.empty() ? "" : ".", near);
  } else if (!names.empty()) {
    constexpr std::size_t kShown = 8;
    hint = "; there are";
    const std::size_t step = std::max<std::size_t>(1, names.size() / kShown);
    for (std::size_t i = 0; i < names.size(); i += step) hint += (i ? ", " : " ") + names[i];
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("'{}' matches nothing: no device is called '{}'{}", selector, p.text, hint),
               {}};
}

/// Marks the devices of the given nodes whose local name matches. Compares names once per template.
void mark_local(const Topology& t, const std::vector<std::uint32_t>& nodes, std::string_view local, DeviceSet& set) {
  std::vector<std::optional<std::vector<std::uint32_t>>> places(t.templates().size());
  for (const std::uint32_t n : nodes) {
    const Block& block = t.blocks()[n];
    auto& hits = places[block.template_index];
    if (!hits) {
      hits.emplace();
      const auto& devices = t.templates()[block.template_index].devices;
      for (std::uint32_t i = 0; i < devices.size(); ++i) {
        if (matches_glob(local, devices[i].name)) hits->push_back(i);
      }
    }
    for (const std::uint32_t i : *hits) set.in[block.first_device + i] = 1;
    set.count += hits->size();
  }
}

Result<DeviceSet> select_devices(const Topology& t, const Pattern& p, std::string_view selector) {
  DeviceSet set;
  set.in.assign(t.device_count(), 0);
  set.in_nodes = p.in_node;
  if (!p.in_node) {
    for (const DeviceId d : t.fabric_switches()) {
      if (!matches_glob(p.local, t.name(d))) continue;
      set.in[index(d)] = 1;
      ++set.count;
    }
    if (set.count == 0) return no_such_device(t, p, selector, nullptr);
    return set;
  }
  BUSBAR_ASSIGN(const std::vector<std::uint32_t> nodes, select_nodes(t, p, selector));
  if (nodes.size() == 1) set.only_node = nodes[0];
  mark_local(t, nodes, p.local, set);
  if (set.count == 0) return no_such_device(t, p, selector, &t.templates()[t.blocks()[nodes[0]].template_index]);
  return set;
}

/// Appends the cables in [first, last) that join `a` to `b`.
void scan(const Topology& t, std::uint32_t first, std::uint32_t last, const DeviceSet& a, const DeviceSet& b,
          bool same_node, std::vector<LinkId>& out) {
  for (std::uint32_t l = first; l < last; l += 2) {
    const auto link = static_cast<LinkId>(l);
    const DeviceId from = t.from(link), to = t.to(link);
    if (!(a.has(from) && b.has(to)) && !(a.has(to) && b.has(from))) continue;
    if (same_node && t.block_of(from) != t.block_of(to)) continue;
    out.push_back(link);
  }
}

/// The place that separates the two names of "a-b": the first '-' outside brackets.
std::size_t find_dash(std::string_view s) {
  bool in_brackets = false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '[') in_brackets = true;
    if (s[i] == ']') in_brackets = false;
    if (s[i] == '-' && !in_brackets) return i;
  }
  return std::string_view::npos;
}

/// Whether some device of a node that `block` names has a local name like `local`.
bool is_local_name(const Topology& t, std::string_view local) {
  return std::any_of(t.templates().begin(), t.templates().end(), [&](const NodeTemplate& node) {
    return std::any_of(node.devices.begin(), node.devices.end(),
                       [&](const TemplateDevice& d) { return matches_glob(local, d.name); });
  });
}

}  // namespace

bool is_glob(std::string_view text) { return text.find_first_of("*?[") != std::string_view::npos; }

bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, i = 0, star = std::string_view::npos, resume = 0;
  while (i < text.size() || p < pattern.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = i;
      continue;
    }
    if (i < text.size() && p < pattern.size()) {
      std::size_t next = p + 1;
      const bool hit = pattern[p] == '[' ? in_set(pattern, next, text[i]) : pattern[p] == '?' || pattern[p] == text[i];
      if (hit) {
        p = next;
        ++i;
        continue;
      }
    }
    if (star == std::string_view::npos || resume >= text.size()) return false;
    p = star + 1;
    i = ++resume;
  }
  return true;
}

Result<std::vector<LinkId>> select_cables(const Topology& t, std::string_view selector) {
  const std::size_t dash = find_dash(selector);
  const Pattern first = split(selector.substr(0, dash));
  BUSBAR_ASSIGN(const DeviceSet a, select_devices(t, first, selector));
  DeviceSet b;
  bool same_node = false;
  if (dash != std::string_view::npos) {
    const std::string_view rest = selector.substr(dash + 1);
    Pattern second = split(rest);
    if (first.in_node && rest.find('.') == std::string_view::npos && is_local_name(t, rest)) {
      second = {rest, first.block, rest, true};
      same_node = true;
    }
    BUSBAR_ASSIGN(b, select_devices(t, second, selector));
  }
  std::vector<LinkId> out;
  const std::uint32_t fabric = t.blocks().empty() ? 0 : t.blocks().back().first_link + t.blocks().back().link_count;
  if (a.only_node) {
    const Block& block = t.blocks()[*a.only_node];
    scan(t, block.first_link, block.first_link + block.link_count, a, b, same_node, out);
  } else if (a.in_nodes) {
    scan(t, 0, fabric, a, b, same_node, out);
  }
  scan(t, fabric, t.link_count(), a, b, same_node, out);
  if (out.empty()) {
    return Error{ErrorCode::kNotFound, fmt::format("'{}' matches nothing: no cable joins these devices", selector), {}};
  }
  return out;
}

}  // namespace busbar::topology
