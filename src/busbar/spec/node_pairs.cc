#include "busbar/spec/internal/node_pairs.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/spec/internal/node_devices.h"
#include "busbar/spec/internal/node_number.h"
#include "busbar/topology/selector.h"

namespace busbar::spec {
namespace {

using Places = std::vector<std::uint32_t>;

/// Whether `pattern` names a group that has count 0 in this node.
bool names_absent(std::string_view pattern, const NodeFile& node) {
  return std::any_of(node.absent.begin(), node.absent.end(), [&](const std::string& group) {
    const bool stem = pattern.starts_with(group);
    return stem && (pattern.size() == group.size() ||
                    std::string_view("0123456789*?[#").find(pattern[group.size()]) != std::string_view::npos);
  });
}

/// Indices of devices whose names match the glob, ascending. Error at `pattern` if none match, unless the count is 0.
Result<Places> matching(const YamlNode& pattern, const NodeFile& file) {
  BUSBAR_ASSIGN(const std::string glob, pattern.as_string());
  const topology::NodeTemplate& node = file.node;
  Places out;
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
    if (topology::matches_glob(glob, node.devices[i].name)) out.push_back(i);
  }
  if (!out.empty() || names_absent(glob, file)) return out;
  std::vector<std::string> names;
  for (const topology::TemplateDevice& d : node.devices) {
    names.push_back(d.name);
    if (names.size() == 4096) break;  // enough for a suggestion
  }
  const std::string near = nearest(glob, names);
  return pattern.error(fmt::format("no device of this node is called '{}'{}", glob,
                                   near.empty() ? "; see 'devices:'" : fmt::format("; did you mean '{}'?", near)));
}

/// "gpu#" or "pcie#*8/4_a" taken apart.
struct Numbered {
  std::string_view before, after;
  NumberRule rule;
};

Result<Numbered> take_apart(const YamlNode& name) {
  Numbered out;
  const std::string_view text = name.scalar();
  const std::size_t at = text.find('#');
  if (at == std::string_view::npos) return name.error("'#' stands for the same number in both names; write it in both");
  out.before = text.substr(0, at);
  out.after = text.substr(at + 1);
  BUSBAR_ASSIGN(out.rule, take_rule(out.after, name));
  return out;
}

/// The number in `name` if it has the form before<number>after.
std::optional<std::uint64_t> number_in(std::string_view name, const Numbered& n) {
  if (name.size() <= n.before.size() + n.after.size() || !name.starts_with(n.before) || !name.ends_with(n.after)) {
    return std::nullopt;
  }
  name = name.substr(n.before.size(), name.size() - n.before.size() - n.after.size());
  std::uint64_t number = 0;
  if (!is_number(name, number) || number > kMaxDevices) return std::nullopt;
  return number;
}

/// "gpu#" with "nic#/2": gpu0-nic0, gpu1-nic0, gpu2-nic1, ... Every result must exist among the second.
Result<std::vector<LinkPair>> numbered_pairs(const YamlNode& first, const YamlNode& second, const NodeFile& file) {
  std::vector<LinkPair> out;
  if (names_absent(first.scalar(), file) || names_absent(second.scalar(), file)) return out;
  const topology::NodeTemplate& node = file.node;
  BUSBAR_ASSIGN(const Numbered a, take_apart(first));
  BUSBAR_ASSIGN(const Numbered b, take_apart(second));
  std::unordered_map<std::string_view, std::uint32_t> places;  // by local name; never iterated
  places.reserve(node.devices.size());
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) places.emplace(node.devices[i].name, i);
  for (std::uint32_t i = 0; i < node.devices.size(); ++i) {
    const auto number = number_in(node.devices[i].name, a);
    if (!number) continue;
    const std::string peer = fmt::format("{}{}{}", b.before, b.rule(a.rule(*number)), b.after);
    const auto it = places.find(peer);
    if (it == places.end()) {
      return second.error(
          fmt::format("{} has no '{}' to be joined to; give both as many devices", node.devices[i].name, peer));
    }
    if (it->second == i) return second.error(fmt::format("joins {} to itself", peer));
    out.push_back({i, it->second});
  }
  if (out.empty())
    return first.error(fmt::format("no device of this node is called '{}' with a number for '#'", first.scalar()));
  return out;
}

/// One number for both ends, or [left, right]; {0, 0} when absent.
Result<std::pair<std::uint32_t, std::uint32_t>> two_sizes(const std::optional<YamlNode>& node) {
  std::pair<std::uint32_t, std::uint32_t> out{0, 0};
  if (!node) return out;
  const bool list = node->kind() == YamlNode::Kind::kSequence;
  if (list && node->size() != 2) return node->error("expected one number, or one for each end");
  BUSBAR_ASSIGN(const std::int64_t left, (list ? node->item(0) : *node).as_int(1, kMaxDevices));
  BUSBAR_ASSIGN(const std::int64_t right, (list ? node->item(1) : *node).as_int(1, kMaxDevices));
  return std::pair{static_cast<std::uint32_t>(left), static_cast<std::uint32_t>(right)};
}

/// Every device of `left` with every device of `right` in the same island and plane.
Result<std::vector<LinkPair>> all_pairs(const YamlNode& map, const Places& left, const Places& right) {
  BUSBAR_ASSIGN(const auto islands, two_sizes(map.find("islands")));
  BUSBAR_ASSIGN(const auto planes, two_sizes(map.find("planes")));
  std::vector<LinkPair> out;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::size_t island = islands.first ? i / islands.first : 0;
    const std::size_t from = islands.first ? island * islands.second : 0;
    const std::size_t to = islands.first ? std::min(right.size(), from + islands.second) : right.size();
    if (out.size() + (to > from ? to - from : 0) > kMaxLinks) {
      return map.error(fmt::format("{} x {} links are more than {}", left.size(), right.size(), kMaxLinks));
    }
    for (std::size_t j = from; j < to; ++j) {
      const std::uint32_t a = left[i], b = right[j];
      if (a == b || (planes.first && i % planes.first != j % planes.second)) continue;
      // If both patterns match both ends, each pair occurs twice: keep the ascending one.
      const bool twice =
          a > b && std::binary_search(left.begin(), left.end(), b) && std::binary_search(right.begin(), right.end(), a);
      if (!twice) out.push_back({a, b});
    }
  }
  return out;
}

Result<std::vector<LinkPair>> pairs_between(const YamlNode& map, const YamlNode& between, const NodeFile& node) {
  if (between.kind() != YamlNode::Kind::kSequence || between.size() != 2) {
    return between.error("expected two device names, for example [gpu*, nvswitch0]");
  }
  const YamlNode first = between.item(0), second = between.item(1);
  if ((first.scalar() + second.scalar()).find('#') != std::string::npos) return numbered_pairs(first, second, node);
  BUSBAR_ASSIGN(const Places left, matching(first, node));
  BUSBAR_ASSIGN(const Places right, matching(second, node));
  if (left.empty() || right.empty()) return std::vector<LinkPair>();
  BUSBAR_ASSIGN(std::vector<LinkPair> out, all_pairs(map, left, right));
  // A mesh of one card has no links, and a parameter may set the number of cards to one.
  if (out.empty() && first.scalar() != second.scalar()) return between.error("joins no two devices");
  if (out.empty() && !topology::is_glob(first.scalar())) return between.error("joins a device to itself");
  return out;
}

Result<std::vector<LinkPair>> listed_pairs(const YamlNode& list, const NodeFile& node) {
  if (list.kind() != YamlNode::Kind::kSequence)
    return list.error("expected a list of pairs: [[gpu0, gpu1], [gpu2, gpu3]]");
  std::vector<LinkPair> out;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const YamlNode pair = list.item(i);
    if (pair.kind() != YamlNode::Kind::kSequence || pair.size() != 2) {
      return pair.error("expected two device names, for example [gpu0, gpu3]");
    }
    BUSBAR_ASSIGN(const Places a, matching(pair.item(0), node));
    BUSBAR_ASSIGN(const Places b, matching(pair.item(1), node));
    if (a.size() != 1 || b.size() != 1 || a[0] == b[0]) return pair.error("a pair is two different devices, no globs");
    out.push_back({a[0], b[0]});
  }
  return out;
}

/// The grid of a torus entry.
struct TorusGrid {
  std::vector<std::uint32_t> shape;
  std::int64_t full = 1;    ///< a dimension closes if its size is a multiple of `full`
  std::uint32_t twist = 0;  ///< the shorter extent n of a twisted torus; 0: not twisted

  bool closed(std::size_t d) const { return shape[d] > 2 && shape[d] % full == 0; }
  /// The neighbour after the last device along dimension `d`: position 0; a twist shifts the long dimensions by half.
  std::uint64_t round(std::uint64_t place, std::size_t d) const {
    std::uint64_t out = 0, stride = 1;
    for (std::size_t e = 0; e < shape.size(); ++e) {
      std::uint64_t at = place / stride % shape[e];
      if (e == d) at = 0;
      if (twist > 0 && e != d && shape[d] == twist && shape[e] == 2 * twist) at = (at + twist) % shape[e];
      out += at * stride;
      stride *= shape[e];
    }
    return out;
  }
};

/// Source: Camara et al., Twisted Torus Topologies for Enhanced Interconnection Networks, IEEE TPDS 21 (2010); used as
/// n x n x 2n and n x 2n x 2n by Jouppi et al., TPU v4, ISCA 2023, section 2.8.
Status read_twist(const YamlNode& twisted, const YamlNode& shape, TorusGrid& grid) {
  BUSBAR_ASSIGN(const bool wanted, twisted.as_bool());
  if (!wanted) return {};
  const auto [shortest, longest] = std::minmax_element(grid.shape.begin(), grid.shape.end());
  const std::uint32_t n = *shortest;
  const bool fits = *longest == 2 * n && std::all_of(grid.shape.begin(), grid.shape.end(),
                                                     [&](std::uint32_t e) { return e == n || e == 2 * n; });
  for (std::size_t d = 0; fits && d < grid.shape.size(); ++d) {
    if (!grid.closed(d)) return shape.error("only a torus that closes in all dimensions can be twisted");
  }
  if (!fits) return shape.error("a twisted torus is n x 2n, n x n x 2n or n x 2n x 2n, for example 4x4x8");
  grid.twist = n;
  return {};
}

/// Neighbours in a grid whose first dimension is the fastest. A dimension closes to a ring if its size is a multiple of
/// `full` and above 2. With two devices the ring's second cable would be the same as its first.
Result<std::vector<LinkPair>> torus_pairs(const YamlNode& map, const YamlNode& devices, const NodeFile& node) {
  BUSBAR_ASSIGN(const Places places, matching(devices, node));
  const auto shape_node = map.find("shape"), full = map.find("full"), twisted = map.find("twisted");
  if (!shape_node) return map.error("a torus needs 'shape', for example 4x4x4");
  TorusGrid grid;
  BUSBAR_ASSIGN(grid.shape, as_shape(*shape_node));
  if (full) {
    BUSBAR_ASSIGN(grid.full, full->as_int(1, 65'536));
  }
  if (twisted) BUSBAR_RETURN_IF_ERROR(read_twist(*twisted, *shape_node, grid));
  std::uint64_t size = 1;
  for (const std::uint32_t n : grid.shape) size *= n;
  if (size != places.size()) {
    return shape_node->error(
        fmt::format("the shape {} has {} places for {} devices", shape_node->scalar(), size, places.size()));
  }
  std::vector<LinkPair> out;
  std::uint64_t stride = 1;
  for (std::size_t d = 0; d < grid.shape.size(); ++d) {
    const std::uint32_t n = grid.shape[d];
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t at = i / stride % n;
      if (at + 1 < n) out.push_back({places[i], places[i + stride]});
      if (at + 1 == n && grid.closed(d)) out.push_back({places[grid.round(i, d)], places[i]});
    }
    stride *= n;
  }
  return out;
}

}  // namespace

Result<std::vector<LinkPair>> link_pairs(const YamlNode& map, const NodeFile& node) {
  const auto between = map.find("between"), pairs = map.find("pairs"), torus = map.find("torus");
  if (between.has_value() + pairs.has_value() + torus.has_value() != 1) {
    return map.error("a link entry has one of 'between', 'pairs' and 'torus'");
  }
  if (pairs) return listed_pairs(*pairs, node);
  return torus ? torus_pairs(map, *torus, node) : pairs_between(map, *between, node);
}

}  // namespace busbar::spec
