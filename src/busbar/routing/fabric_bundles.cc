#include "busbar/routing/fabric_bundles.h"

#include <algorithm>
#include <span>
#include <utility>

#include "busbar/topology/tiers.h"

namespace busbar::routing {

namespace {

/// Calls f(device, its cables that leave the block) for every device that has some.
template <typename F>
void for_each_cabled(const topology::Topology& t, F f) {
  std::vector<topology::LinkId> cables;
  for (const topology::Block& block : t.blocks())
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const auto d = static_cast<topology::DeviceId>(block.first_device + p);
      cables.clear();
      for (const topology::LinkId l : t.out_links(d))
        if (t.block_of(t.to(l)) != t.block_of(d)) cables.push_back(l);
      if (!cables.empty()) f(d, std::span<const topology::LinkId>(cables));
    }
}

bool ports_are_on_leaves(const topology::Topology& t, const std::vector<std::uint8_t>& tier) {
  bool all = true;
  for_each_cabled(t, [&](topology::DeviceId, std::span<const topology::LinkId> cables) {
    for (const topology::LinkId l : cables) all = all && tier[index(t.to(l))] == 1;
  });
  return all;
}

/// Whether the ports of each NIC have one rate and are on planes of their own. `plane`: per device that is a leaf.
bool ports_are_on_planes(const topology::Topology& t, const std::vector<std::uint32_t>& plane) {
  bool all = true;
  std::vector<std::uint32_t> seen;
  for_each_cabled(t, [&](topology::DeviceId, std::span<const topology::LinkId> cables) {
    seen.clear();
    for (const topology::LinkId l : cables) {
      all = all && t.link_class(l).wire_rate == t.link_class(cables.front()).wire_rate;
      seen.push_back(plane[index(t.to(l))]);
    }
    std::sort(seen.begin(), seen.end());
    all = all && std::adjacent_find(seen.begin(), seen.end()) == seen.end();
  });
  return all;
}

/// Whether no cable of the fabric is damaged and all NICs have equally many: then no split over planes beats an equal
/// one.
bool planes_are_alike(const topology::Topology& t) {
  bool all = true;
  std::size_t each = 0;
  for_each_cabled(t, [&](topology::DeviceId, std::span<const topology::LinkId> cables) {
    if (each == 0) each = cables.size();
    all = all && cables.size() == each;
  });
  for (std::uint32_t l = 0; l < t.link_count() && all; ++l) {
    const topology::LinkClass& c = t.link_class(static_cast<topology::LinkId>(l));
    all = !topology::is_fabric(c.kind) || c.health == 1;
  }
  return all;
}

}  // namespace

FabricBundles::FabricBundles(const topology::Topology& topology) { valid_ = build(topology); }

topology::LinkId FabricBundles::link(std::uint32_t bundle, std::uint32_t i) const {
  const topology::LinkId up = up_.row(bundle / 2)[i];
  return bundle % 2 == 0 ? up : topology::reverse(up);
}
topology::LinkId FabricBundles::first(std::uint32_t bundle) const { return link(bundle, 0); }

bool FabricBundles::nics_have_one_port(const topology::Topology& t, const std::vector<std::uint8_t>& tier) const {
  for (const topology::Block& block : t.blocks())
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const auto d = static_cast<topology::DeviceId>(block.first_device + p);
      std::uint32_t ports = 0;
      for (const topology::LinkId l : t.out_links(d)) {
        if (t.block_of(t.to(l)) == t.block_of(d)) continue;
        if (++ports > 1 || tier[index(t.to(l))] != 1) return false;
      }
    }
  return true;
}

bool FabricBundles::same_but_for_health(const topology::Topology& t, topology::LinkId a, topology::LinkId b) {
  if (t.link_class_index(a) == t.link_class_index(b)) return true;
  alike_ = false;
  topology::LinkClass x = t.link_class(a);
  x.health = t.link_class(b).health;
  return x == t.link_class(b);
}

/// Works tier by tier: the groups of one tier determine those of the next.
bool FabricBundles::build(const topology::Topology& t) {
  const std::vector<std::uint8_t> tier = topology::switch_tiers(t);
  const bool one_port = nics_have_one_port(t, tier);
  if (!one_port && !ports_are_on_leaves(t, tier)) return false;
  bundle_.assign(t.link_count(), kNoBundle);
  group_of_.assign(t.device_count(), kNoBundle);
  std::vector<std::uint32_t> owner(t.device_count(), kNoBundle);  // the group of a switch
  std::vector<std::vector<topology::DeviceId>> members;           // per group
  std::vector<std::uint32_t> now, next;
  for (const topology::DeviceId d : t.fabric_switches()) {
    if (tier[index(d)] != 1) continue;
    group_of_[index(d)] = owner[index(d)] = static_cast<std::uint32_t>(groups_.size());
    now.push_back(owner[index(d)]);
    groups_.emplace_back();
    members.push_back({d});
  }
  std::vector<std::uint32_t> cables(t.device_count(), 0);  // from the current group; zero in between
  for (std::uint8_t height = 1; !now.empty(); ++height, std::swap(now, next), next.clear())
    for (const std::uint32_t g : now) {
      std::vector<topology::LinkId> up;
      std::vector<topology::DeviceId> above;
      std::size_t each = 0;
      for (std::size_t m = 0; m < members[g].size(); ++m) {
        const std::size_t before = up.size();
        for (const topology::LinkId l : t.out_links(members[g][m])) {
          const topology::DeviceId to = t.to(l);
          if (t.block_of(to) != kNone<topology::BlockId> || tier[index(to)] + 1 == height) continue;
          if (tier[index(to)] != height + 1) return false;
          if (!up.empty() && !(same_but_for_health(t, l, up[0]) &&
                               same_but_for_health(t, topology::reverse(l), topology::reverse(up[0]))))
            return false;
          up.push_back(l);
          if (cables[index(to)]++ == 0) above.push_back(to);
        }
        if (m == 0) each = up.size();
        if (up.size() - before != each) return false;
      }
      if (up.empty()) continue;
      std::sort(up.begin(), up.end());
      std::sort(above.begin(), above.end());
      const std::uint32_t to_each = cables[index(above[0])];
      for (const topology::DeviceId d : above)
        if (std::exchange(cables[index(d)], 0) != to_each) return false;
      std::uint32_t& over = owner[index(above[0])];
      if (over == kNoBundle) {
        over = static_cast<std::uint32_t>(groups_.size());
        next.push_back(over);
        groups_.emplace_back();
        members.push_back(above);
        for (const topology::DeviceId d : above)
          if (owner[index(d)] == kNoBundle || d == above[0])
            owner[index(d)] = over;
          else
            return false;
      } else if (members[over] != above) {
        return false;
      }
      groups_[g] = {2 * up_.rows(), over};
      for (const topology::LinkId l : up) {
        bundle_[index(l)] = groups_[g].bundle;
        bundle_[index(topology::reverse(l))] = groups_[g].bundle + 1;
        up_.values.push_back(l);
      }
      up_.close_row();
    }
  if (one_port) return true;
  alike_ = alike_ && planes_are_alike(t);
  std::vector<std::uint32_t> plane = group_of_;  // the highest group above a leaf
  for (std::uint32_t& g : plane)
    while (g != kNoBundle && groups_[g].above != kNoBundle) g = groups_[g].above;
  return ports_are_on_planes(t, plane);
}

bool FabricBundles::between(topology::DeviceId from_leaf, topology::DeviceId to_leaf,
                            std::vector<std::uint32_t>& out) const {
  std::uint32_t a = group_of_[index(from_leaf)], b = group_of_[index(to_leaf)];
  std::uint32_t down[256], depth = 0;
  while (a != b) {
    const Group &x = groups_[a], &y = groups_[b];
    if (x.above == kNoBundle || y.above == kNoBundle) return false;
    out.push_back(x.bundle);
    down[depth++] = y.bundle + 1;
    a = x.above;
    b = y.above;
  }
  while (depth > 0) out.push_back(down[--depth]);
  return true;
}

}  // namespace busbar::routing
