#include "busbar/engine/likeness.h"

#include <algorithm>

#include "busbar/base/id.h"
#include "busbar/topology/tiers.h"

namespace busbar::engine {
namespace {

bool same_work(const program::CollectiveCall& a, const program::CollectiveCall& b) {
  return a.op == b.op && a.bytes == b.bytes && a.root == b.root && a.algorithm == b.algorithm &&
         a.protocol == b.protocol && a.chunks == b.chunks && a.channels == b.channels && a.schedule == b.schedule &&
         a.pairs == b.pairs && a.slowdown == b.slowdown && a.groups.groups() == b.groups.groups() &&
         a.groups.size() == b.groups.size() && a.groups.order == b.groups.order &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), same_work);
}

}  // namespace

CallLikeness::CallLikeness(const routing::Router& router, const routing::Placement& placement)
    : router_(router), topology_(router.topology()), placement_(placement) {}

bool CallLikeness::alike(const program::CollectiveCall& a, const program::CollectiveCall& b) {
  if (!same_work(a, b) || hashed_between_servers(a) || !same_nics(a, b)) return false;
  // The pairing depends only on the groups, except for trees of switches, whose roots are chosen by number.
  const bool by_number = program::traits_of(a).reduces_in_fabric;
  if (!by_number && !kept_by_number_ && a.groups == kept_a_ && b.groups == kept_b_) return kept_alike_;
  const bool pairing = kept_alike_ && !kept_by_number_ && !paired_blocks_.empty();
  const bool within = pairing && !by_number && within_kept(a, b);
  if (!within) forget();
  kept_a_ = a.groups;
  kept_b_ = b.groups;
  kept_by_number_ = by_number;
  return kept_alike_ = within || pair_ranks(a, b);
}

/// Whether the call leaves a server by routes that differ from place to place. Ranks without a GPU are in no server.
bool CallLikeness::hashed_between_servers(const program::CollectiveCall& call) const {
  if (!hashed(call)) return false;
  const auto block = [&](std::uint32_t rank) {
    return rank < placement_.ranks() ? topology_.block_of(placement_.gpu(rank)) : kNone<topology::BlockId>;
  };
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 1; m < call.groups.size(); ++m)
      if (block(call.groups.actor(g, m)) != block(call.groups.actor(g, 0))) return true;
  return false;
}

/// Whether ranks that are paired have their NICs, and the GPUs that relay to these, in the same places of a server.
bool CallLikeness::same_nics(const program::CollectiveCall& a, const program::CollectiveCall& b) const {
  for (std::size_t i = 0; i < a.parts.size(); ++i)
    if (!same_nics(a.parts[i], b.parts[i])) return false;
  if (a.nics == b.nics && (!a.nics || a.groups == b.groups)) return true;
  if (!a.nics || !b.nics || a.nics->channels != b.nics->channels) return false;
  const auto place = [&](topology::DeviceId d) {
    return index(d) - topology_.blocks()[index(topology_.block_of(d))].first_device;
  };
  const auto same_device = [&](std::uint32_t x, std::uint32_t y) {
    return place(static_cast<topology::DeviceId>(x)) == place(static_cast<topology::DeviceId>(y));
  };
  const auto same_ports = [&](std::uint32_t x, std::uint32_t y) {
    if (x == kNone32 || y == kNone32) return x == y;
    const auto ports_a = a.nics->ports.row(x), ports_b = b.nics->ports.row(y);
    return std::equal(ports_a.begin(), ports_a.end(), ports_b.begin(), ports_b.end(), same_device);
  };
  const auto same_relay = [&](std::uint32_t x, std::uint32_t y) {
    if (x == kNone32 || y == kNone32) return x == y;
    return place(placement_.gpu(x)) == place(placement_.gpu(y));
  };
  for (std::uint32_t g = 0; g < a.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < a.groups.size(); ++m)
      for (std::uint32_t c = 0; c < a.nics->channels; ++c) {
        const std::size_t x = a.nics->at(c, a.groups.actor(g, m)), y = b.nics->at(c, b.groups.actor(g, m));
        if (!same_ports(a.nics->out[x], b.nics->out[y]) || !same_ports(a.nics->in[x], b.nics->in[y]) ||
            !same_relay(a.nics->proxy[x], b.nics->proxy[y]))
          return false;
      }
  return true;
}

/// Whether routes depend on more than the classes of what is there.
bool CallLikeness::hashed(const program::CollectiveCall& a) const {
  const topology::RoutingPolicy policy = router_.policy();
  return policy == topology::RoutingPolicy::kStatic || policy == topology::RoutingPolicy::kValiant ||
         program::traits_of(a).reduces_in_fabric;
}

/// Whether the current pairing, of as many servers or more, pairs these ranks too: the calls of one pipeline stage by
/// its tensor and its data groups, for instance.
bool CallLikeness::within_kept(const program::CollectiveCall& a, const program::CollectiveCall& b) const {
  const std::uint32_t ranks = placement_.ranks();
  for (std::uint32_t g = 0; g < a.groups.groups(); ++g) {
    topology::BlockId home = kNone<topology::BlockId>;
    for (std::uint32_t m = 0; m < a.groups.size(); ++m) {
      const std::uint32_t rank_a = a.groups.actor(g, m), rank_b = b.groups.actor(g, m);
      if (rank_a >= ranks || rank_b >= ranks) return false;
      const topology::DeviceId da = placement_.gpu(rank_a), db = placement_.gpu(rank_b);
      const topology::BlockId ba = topology_.block_of(da), bb = topology_.block_of(db);
      if (ba == kNone<topology::BlockId> || bb == kNone<topology::BlockId> || block_image_[index(ba)] != bb)
        return false;
      if (index(da) - topology_.blocks()[index(ba)].first_device !=
          index(db) - topology_.blocks()[index(bb)].first_device)
        return false;
      if (m == 0) home = ba;
      if (home != ba && !kept_cables_) return false;
    }
  }
  return true;
}

routing::CapacityId CallLikeness::image(routing::CapacityId c) const {
  if (c == routing::CapacityId()) return c;
  if (c.is_link()) return image_of_link(c.link());
  if (c.is_device()) return image_of_device(c.device());
  const routing::FabricBundles& bundles = *router_.bundles();
  const topology::LinkId to = image_of_link(bundles.first(c.number()));
  return to == kNone<topology::LinkId> ? routing::CapacityId() : routing::CapacityId::bundle(bundles.of(to));
}

routing::CapacityId CallLikeness::image_of_device(topology::DeviceId d) const {
  const topology::BlockId block = topology_.block_of(d);
  if (block == kNone<topology::BlockId>) {
    const topology::DeviceId to = device_image_.empty() ? kNone<topology::DeviceId> : device_image_[index(d)];
    return to == kNone<topology::DeviceId> ? routing::CapacityId() : routing::CapacityId::limit_of(to);
  }
  const topology::BlockId to = block_image_[index(block)];
  if (to == kNone<topology::BlockId>) return {};
  const std::uint32_t place = index(d) - topology_.blocks()[index(block)].first_device;
  return routing::CapacityId::limit_of(
      static_cast<topology::DeviceId>(topology_.blocks()[index(to)].first_device + place));
}

topology::LinkId CallLikeness::image_of_link(topology::LinkId link) const {
  const topology::BlockId block = topology_.block_of(topology_.from(link));
  if (block != kNone<topology::BlockId> && block == topology_.block_of(topology_.to(link))) {
    const topology::BlockId to = block_image_[index(block)];
    if (to == kNone<topology::BlockId>) return kNone<topology::LinkId>;
    return static_cast<topology::LinkId>(index(link) - topology_.blocks()[index(block)].first_link +
                                         topology_.blocks()[index(to)].first_link);
  }
  return cable_image_.empty() ? kNone<topology::LinkId> : cable_image_[index(link)];
}

/// Links of one server mostly come one after the other.
bool CallLikeness::move(std::vector<routing::CapacityId>& on) const {
  std::uint32_t first = 0, count = 0, to = 0;  // the run of links inside the last server, and where it goes
  for (routing::CapacityId& c : on) {
    if (c.is_link() && c.number() - first < count) {
      c = static_cast<topology::LinkId>(c.number() - first + to);
      continue;
    }
    const routing::CapacityId from = c;
    c = image(from);
    if (c == routing::CapacityId()) return false;
    if (!from.is_link()) continue;
    const topology::BlockId block = topology_.block_of(topology_.from(from.link()));
    if (block == kNone<topology::BlockId> || block_image_[index(block)] == kNone<topology::BlockId>) continue;
    const topology::Block& x = topology_.blocks()[index(block)];
    first = x.first_link;
    count = x.link_count;
    to = topology_.blocks()[index(block_image_[index(block)])].first_link;
  }
  return true;
}

bool CallLikeness::pair_ranks(const program::CollectiveCall& a, const program::CollectiveCall& b) {
  const std::uint32_t n = a.groups.size(), groups = a.groups.groups(), ranks = placement_.ranks();
  bool inside = true;  // no group leaves its server
  for (std::uint32_t g = 0; g < groups; ++g) {
    topology::BlockId home = kNone<topology::BlockId>;
    for (std::uint32_t m = 0; m < n; ++m) {
      const std::uint32_t rank_a = a.groups.actor(g, m), rank_b = b.groups.actor(g, m);
      if (rank_a >= ranks || rank_b >= ranks) return false;
      const topology::DeviceId da = placement_.gpu(rank_a), db = placement_.gpu(rank_b);
      const topology::BlockId ba = topology_.block_of(da), bb = topology_.block_of(db);
      if (ba == kNone<topology::BlockId> || bb == kNone<topology::BlockId> || !pair_blocks(ba, bb)) return false;
      if (index(da) - topology_.blocks()[index(ba)].first_device !=
          index(db) - topology_.blocks()[index(bb)].first_device)
        return false;
      if (m == 0) home = ba;
      inside = inside && home == ba;
      if (!inside && hashed(a)) return false;
    }
  }
  return inside || (kept_cables_ = pair_cables());
}

bool CallLikeness::pair_blocks(topology::BlockId a, topology::BlockId b) {
  if (block_image_.empty()) {
    block_image_.assign(topology_.blocks().size(), kNone<topology::BlockId>);
    block_origin_ = block_image_;
  }
  if (block_image_[index(a)] == b) return true;
  if (block_image_[index(a)] != kNone<topology::BlockId> || block_origin_[index(b)] != kNone<topology::BlockId>)
    return false;
  const topology::Block &x = topology_.blocks()[index(a)], &y = topology_.blocks()[index(b)];
  if (x.shape != y.shape || x.template_index != y.template_index || x.link_count != y.link_count) return false;
  for (std::uint32_t l = 0; l < x.link_count; ++l)
    if (topology_.link_class_index(static_cast<topology::LinkId>(x.first_link + l)) !=
        topology_.link_class_index(static_cast<topology::LinkId>(y.first_link + l)))
      return false;
  block_image_[index(a)] = b;
  block_origin_[index(b)] = a;
  paired_blocks_.push_back(a);
  return true;
}

/// The cables of the paired servers, the switches they lead to, and so on upwards.
bool CallLikeness::pair_cables() {
  find_tiers();
  if (level_) return false;
  for (const topology::BlockId a : paired_blocks_) {
    const topology::BlockId b = block_image_[index(a)];
    const topology::Block &x = topology_.blocks()[index(a)], &y = topology_.blocks()[index(b)];
    const auto ports_a = ports_.row(index(a)), ports_b = ports_.row(index(b));
    if (ports_a.size() != ports_b.size()) return false;
    for (std::size_t i = 0; i < ports_a.size(); ++i) {
      if (index(ports_a[i]) - x.first_device != index(ports_b[i]) - y.first_device) return false;
      if (!pair_up_links(ports_a[i], ports_b[i])) return false;
    }
  }
  for (std::size_t i = 0; i < paired_devices_.size(); ++i)  // grows on the way
    if (tier_[index(paired_devices_[i])] < top_ &&
        !pair_up_links(paired_devices_[i], device_image_[index(paired_devices_[i])]))
      return false;
  return true;
}

bool CallLikeness::pair_devices(topology::DeviceId a, topology::DeviceId b) {
  if (device_image_[index(a)] == b) return true;
  if (device_image_[index(a)] != kNone<topology::DeviceId> || device_origin_[index(b)] != kNone<topology::DeviceId>)
    return false;
  if (!(topology_.device_class(a) == topology_.device_class(b)) || tier_[index(a)] != tier_[index(b)] ||
      topology_.out_links(a).size() != topology_.out_links(b).size())
    return false;
  device_image_[index(a)] = b;
  device_origin_[index(b)] = a;
  paired_devices_.push_back(a);
  return true;
}

/// Of two devices that are paired.
bool CallLikeness::pair_up_links(topology::DeviceId a, topology::DeviceId b) {
  const auto up_a = topology_.out_links(a), up_b = topology_.out_links(b);
  if (up_a.size() != up_b.size()) return false;
  const std::uint8_t tier = tier_[index(a)];
  for (std::size_t i = 0; i < up_a.size(); ++i) {
    const topology::DeviceId over_a = topology_.to(up_a[i]), over_b = topology_.to(up_b[i]);
    if (tier_[index(over_a)] <= tier) {
      if (tier_[index(over_b)] > tier) return false;
      continue;  // inside the server, or down
    }
    if (topology_.link_class_index(up_a[i]) != topology_.link_class_index(up_b[i])) return false;
    if (!pair_devices(over_a, over_b)) return false;
    for (const auto& [l, to] :
         {std::pair(up_a[i], up_b[i]), std::pair(topology::reverse(up_a[i]), topology::reverse(up_b[i]))}) {
      cable_image_[index(l)] = to;
      paired_cables_.push_back(l);
    }
  }
  return true;
}

void CallLikeness::find_tiers() {
  if (tiers_known_) return;
  tiers_known_ = true;
  tier_ = topology::switch_tiers(topology_);
  device_image_.assign(topology_.device_count(), kNone<topology::DeviceId>);
  device_origin_ = device_image_;
  cable_image_.assign(topology_.link_count(), kNone<topology::LinkId>);
  for (const topology::Block& block : topology_.blocks()) {
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const auto d = static_cast<topology::DeviceId>(block.first_device + p);
      const auto links = topology_.out_links(d);
      if (std::any_of(links.begin(), links.end(),
                      [&](topology::LinkId l) { return topology_.block_of(topology_.to(l)) != topology_.block_of(d); }))
        ports_.values.push_back(d);
    }
    ports_.close_row();
  }
  for (const topology::DeviceId s : topology_.fabric_switches()) {
    top_ = std::max(top_, tier_[index(s)]);
    for (const topology::LinkId l : topology_.out_links(s))
      level_ = level_ || tier_[index(topology_.to(l))] == tier_[index(s)];
  }
  for (const topology::DeviceId d : ports_.values)  // cables from server to server
    for (const topology::LinkId l : topology_.out_links(d))
      level_ = level_ ||
               (tier_[index(topology_.to(l))] == 0 && topology_.block_of(topology_.to(l)) != topology_.block_of(d));
}

void CallLikeness::forget() {
  for (const topology::BlockId b : paired_blocks_) {
    block_origin_[index(block_image_[index(b)])] = kNone<topology::BlockId>;
    block_image_[index(b)] = kNone<topology::BlockId>;
  }
  for (const topology::DeviceId d : paired_devices_) {
    device_origin_[index(device_image_[index(d)])] = kNone<topology::DeviceId>;
    device_image_[index(d)] = kNone<topology::DeviceId>;
  }
  for (const topology::LinkId l : paired_cables_) cable_image_[index(l)] = kNone<topology::LinkId>;
  kept_cables_ = false;
  paired_blocks_.clear();
  paired_devices_.clear();
  paired_cables_.clear();
}

}  // namespace busbar::engine
