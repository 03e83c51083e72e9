#include "busbar/spec/internal/fabric_sizes.h"

#include <algorithm>

namespace busbar::spec {
namespace {

constexpr std::int64_t kMostParts = 1'000'000;  ///< switches, ports or cables of one kind: more than any fabric has

/// One value for the leaves, or a list: leaves, spines, ...
Result<std::vector<YamlNode>> per_tier(const YamlNode& node, std::uint32_t tiers) {
  std::vector<YamlNode> out;
  if (node.kind() != YamlNode::Kind::kSequence) {
    out.push_back(node);
    return out;
  }
  constexpr std::uint32_t kWithoutAsking = 3;
  if (node.size() < 1 || node.size() >= std::max(tiers, kWithoutAsking))
    return node.error("one number per tier below the top: [leaf, spine], or more with more 'tiers'");
  for (std::size_t i = 0; i < node.size(); ++i) out.push_back(node.item(i));
  return out;
}

/// Tiers that the list does not name keep their values.
topology::TierSpec& tier_of(topology::FabricSpec& spec, std::size_t k) {
  if (k >= spec.levels.size()) spec.levels.resize(k + 1);
  return spec.levels[k];
}

Status read_tiers(MapReader& r, topology::FabricSpec& spec) {
  constexpr double kThinnest = 1000;
  r.optional("tiers", &YamlNode::as_int, spec.tiers, 2, topology::kMostTiers);
  if (const auto node = r.optional("oversubscription")) {
    BUSBAR_ASSIGN(const auto tiers, per_tier(*node, spec.tiers));
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      BUSBAR_ASSIGN(tier_of(spec, i).oversubscription, tiers[i].as_number(1, kThinnest));
    }
  }
  if (const auto node = r.optional("parallel")) {
    BUSBAR_ASSIGN(const auto tiers, per_tier(*node, spec.tiers));
    for (std::size_t i = 0; i < tiers.size(); ++i) {
      BUSBAR_ASSIGN(const std::int64_t n, tiers[i].as_int(1, kMostParts));
      tier_of(spec, i).parallel = static_cast<std::uint32_t>(n);
    }
  }
  if (spec.levels.size() < spec.tiers) spec.levels.resize(spec.tiers);
  return {};
}

Status read_planes(MapReader& r, topology::FabricSpec& spec) {
  r.optional("planes", &YamlNode::as_int, spec.planes, 1, 64);
  r.optional("split", &YamlNode::as_int, spec.split, 1, 8);
  if (const auto order = r.optional("plane_order")) {
    BUSBAR_ASSIGN(const std::size_t i, as_one_of(*order, {"by-port", "by-nic"}, "order of planes"));
    spec.plane_order = static_cast<topology::PlaneOrder>(i);
  }
  return {};
}

Status read_dragonfly(const YamlNode& map, topology::DragonflySpec& out) {
  constexpr std::int64_t kWidest = 4096;  // of a group: its switches are linked all to all
  MapReader r = sourced(map);
  r.optional("groups", &YamlNode::as_int, out.groups, 1, kMostParts);
  r.optional("switches_per_group", &YamlNode::as_int, out.routers, 1, kWidest);
  r.optional("nics_per_switch", &YamlNode::as_int, out.nics, 1, kWidest);
  r.optional("globals_per_switch", &YamlNode::as_int, out.globals, 1, kWidest);
  return r.finish();
}

Status read_dims(const YamlNode& list, topology::FabricSpec& spec) {
  if (list.kind() != YamlNode::Kind::kSequence || list.size() < 1 || list.size() > spec.dims.size()) {
    return list.error("the sizes of a ring, a 2D or a 3D torus in switches, for example [8, 8, 4]");
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    BUSBAR_ASSIGN(const std::int64_t n, list.item(i).as_int(1, 1024));
    spec.dims[i] = static_cast<std::uint32_t>(n);
  }
  return {};
}

}  // namespace

Status read_fabric_sizes(MapReader& r, topology::FabricSpec& spec) {
  if (const auto order = r.optional("nic_order")) {
    BUSBAR_ASSIGN(const std::size_t i, as_one_of(*order, {"by-node", "dealt"}, "order of NICs"));
    spec.nic_order = static_cast<topology::NicOrder>(i);
  }
  r.optional("leaf_down", &YamlNode::as_int, spec.leaf_down, 1, kMostParts);
  BUSBAR_RETURN_IF_ERROR(read_tiers(r, spec));
  BUSBAR_RETURN_IF_ERROR(read_planes(r, spec));
  if (const auto map = r.optional("dragonfly")) BUSBAR_RETURN_IF_ERROR(read_dragonfly(*map, spec.dragonfly));
  if (const auto list = r.optional("dims")) BUSBAR_RETURN_IF_ERROR(read_dims(*list, spec));
  return {};
}

}  // namespace busbar::spec
