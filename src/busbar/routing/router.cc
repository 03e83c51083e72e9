#include "busbar/routing/router.h"

#include <algorithm>
#include <optional>

#include "busbar/base/random.h"
#include "busbar/routing/internal/router_state.h"

namespace busbar::routing {

bool Router::State::cabled(topology::DeviceId nic) const {
  const auto links = topology.out_links(nic);
  return std::any_of(links.begin(), links.end(),
                     [&](topology::LinkId l) { return topology.block_of(topology.to(l)) != topology.block_of(nic); });
}

/// Whether live cables lead from one NIC to the other.
bool Router::State::joined(topology::DeviceId nic_a, topology::DeviceId nic_b) {
  for (const topology::LinkId la : topology.out_links(nic_a)) {
    if (topology.to(la) == nic_b) return true;
    const std::int32_t a = fabric.number(topology.to(la));
    for (const topology::LinkId lb : topology.out_links(nic_b)) {
      const std::int32_t b = fabric.number(topology.to(lb));
      if (a >= 0 && b >= 0 && fabric.joined(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b))) return true;
    }
  }
  return false;
}

/// A NIC in `gpu`'s block that is joined to `far_nic`; GPUs take turns over several. kNone: there is none.
topology::DeviceId Router::State::relay_nic(topology::DeviceId gpu, topology::DeviceId far_nic) {
  const topology::Block& block = block_of(gpu);
  std::vector<topology::DeviceId> found;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    if (topology.kind(d) == topology::DeviceKind::kNic && joined(d, far_nic)) found.push_back(d);
  }
  return found.empty() ? kNone<topology::DeviceId> : found[blocks.ordinal(block, gpu) % found.size()];
}

/// For each port of one NIC the nearest port of the other NIC.
std::vector<Router::State::Ports> Router::State::ports_between(topology::DeviceId from, topology::DeviceId to) {
  std::vector<Ports> out;
  for (const topology::LinkId up : topology.out_links(from)) {
    const std::int32_t a = fabric.number(topology.to(up));
    if (!topology::is_fabric(topology.link_class(up).kind) || a < 0) continue;
    std::optional<Ports> best;
    int fewest = FabricTable::kFar;
    for (const topology::LinkId l : topology.out_links(to)) {
      const std::int32_t b = fabric.number(topology.to(l));
      if (b < 0) continue;
      const int hops = fabric.distance(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
      if (hops >= fewest) continue;
      fewest = hops;
      best = Ports{up, topology::reverse(l), static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)};
    }
    if (best) out.push_back(*best);
  }
  return out;
}

/// From each port to the port on the same plane; over the planes with the fewest hops, in equal shares.
bool Router::State::across_bundled(topology::DeviceId from, topology::DeviceId to, std::vector<LinkShare>& out) {
  hops.clear();
  const std::size_t begin = out.size();
  const auto is_port = [&](topology::LinkId l) { return topology::is_fabric(topology.link_class(l).kind); };
  std::vector<topology::LinkId>& downs = front.candidates;
  downs.clear();
  std::size_t fewest = SIZE_MAX;
  for (const topology::LinkId up : topology.out_links(from))
    for (const topology::LinkId down : topology.out_links(to)) {
      one_way.clear();
      if (!is_port(up) || !is_port(down) || !bundles->between(topology.to(up), topology.to(down), one_way)) continue;
      if (one_way.size() > fewest) continue;
      if (one_way.size() < fewest) out.resize(begin), hops.clear(), downs.clear();
      fewest = one_way.size();
      out.push_back({up, 1});
      downs.push_back(topology::reverse(down));
      for (const std::uint32_t b : one_way) hops.push_back({CapacityId::bundle(b), 1});
    }
  if (downs.empty()) return false;
  hops_at = out.size();
  for (const topology::LinkId down : downs) out.push_back({down, 1});
  const auto planes = static_cast<double>(downs.size());
  if (downs.size() == 1) return true;
  for (std::size_t i = begin; i < out.size(); ++i) out[i].share /= planes;
  for (CapacityShare& hop : hops) hop.share /= planes;
  return true;
}

bool Router::State::across(topology::DeviceId from, topology::DeviceId to, const Crossing& how,
                           std::vector<LinkShare>& out) {
  if (how.bundled) return across_bundled(from, to, out);
  if (policy == topology::RoutingPolicy::kValiant && around(from, to, how.bias, out)) return true;
  const std::size_t begin = out.size();
  if (!across_straight(from, to, how, out)) return false;
  if (policy == topology::RoutingPolicy::kAdaptive && !how.bias.empty() && fabric.flat())
    take_detours(from, to, how.bias, begin, out);
  return true;
}

bool Router::State::across_straight(topology::DeviceId from, topology::DeviceId to, const Crossing& how,
                                    std::vector<LinkShare>& out) {
  const bool keeps_one = policy == topology::RoutingPolicy::kStatic || policy == topology::RoutingPolicy::kValiant;
  const auto choose = [&](topology::DeviceId at) {  // a static hash keeps one of the equal candidates
    if (!keeps_one || front.candidates.size() < 2) return;
    const std::uint64_t h = mix64(how.flow ^ mix64(seed ^ index(at)));
    front.candidates.assign(1, front.candidates[h % front.candidates.size()]);
  };
  const auto left = [&](std::uint32_t x) {
    int best = FabricTable::kFar;
    for (const topology::LinkId l : topology.out_links(to)) {
      const std::int32_t last = fabric.number(topology.to(l));
      if (last >= 0) best = std::min(best, fabric.distance(x, static_cast<std::uint32_t>(last)) + 1);
    }
    return best;
  };
  const auto nearer = [&](std::uint32_t x) {
    int best = FabricTable::kFar;
    for (const topology::LinkId l : topology.out_links(to)) {
      const std::int32_t last = fabric.number(topology.to(l));
      if (last >= 0) best = std::min(best, fabric.nearer(static_cast<std::uint32_t>(last), x) + 1);
    }
    return best;
  };
  front.candidates.clear();
  int best = FabricTable::kFar;
  for (const topology::LinkId l : topology.out_links(from)) {
    if (!topology::is_fabric(topology.link_class(l).kind)) continue;
    const std::int32_t x = fabric.number(topology.to(l));
    const int hops = topology.to(l) == to ? 0 : x < 0 ? FabricTable::kFar : left(static_cast<std::uint32_t>(x));
    if (hops < best) front.candidates.clear();
    best = std::min(best, hops);
    if (hops == best && hops < FabricTable::kFar) front.candidates.push_back(l);
  }
  if (front.candidates.empty()) return false;
  const bool single = keeps_one && best > 0 && front.candidates.size() == 1;
  if (const std::int32_t last = single ? only_switch(to) : -1; last >= 0) {
    out.push_back({front.candidates[0], 1});
    return across_hashed(topology.to(front.candidates[0]), to, static_cast<std::uint32_t>(last), best, how.flow, out);
  }
  const auto next_of = [&](topology::DeviceId at, int hops, auto&& take) {
    if (hops == 1) {
      for (const topology::LinkId l : topology.out_links(to))
        if (topology.to(l) == at) take(topology::reverse(l));
    } else {
      for (const FabricTable::Hop& hop : fabric.hops(static_cast<std::uint32_t>(fabric.number(at))))
        if (nearer(hop.to) == hops - 1) take(hop.link);
    }
  };
  std::unordered_map<std::uint32_t, double> ahead;  // switch -> pull of all that follows it; only looked up
  const auto drawn = [&](auto&& self, topology::LinkId l, int hops) -> double {
    if (hops == 0) return pull(l, how.bias);
    const topology::DeviceId at = topology.to(l);
    auto it = ahead.find(index(at));
    if (it == ahead.end()) {
      double sum = 0;
      next_of(at, hops, [&](topology::LinkId next) { sum += self(self, next, hops - 1); });
      it = ahead.emplace(index(at), sum).first;
    }
    return 1 / (1 / pull(l, how.bias) + 1 / it->second);
  };
  const auto split = [&](double share, int hops) {
    if (how.bias.empty()) return front.split(topology, share, out);
    front.split_by([&](topology::LinkId l) { return drawn(drawn, l, hops); }, topology, share, out);
  };
  front.start();
  split(1.0, best);
  for (int hops = best; hops > 0; --hops) {
    for (const Front::At& f : front.advance()) {
      front.candidates.clear();
      next_of(f.device, hops, [&](topology::LinkId l) { front.candidates.push_back(l); });
      choose(f.device);
      split(f.share, hops - 1);
    }
  }
  return true;
}

/// Between NICs that no fabric joins: over scale-up links to the GPU next to a NIC on the receiver's rail. If the
/// sender's server has no such NIC, the same on the receiver's side.
bool Router::State::over_relays(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                                topology::DeviceId nic_to, const Crossing& how, std::vector<LinkShare>& out) {
  const topology::Block &a = block_of(from), &b = block_of(to);
  const std::size_t before = out.size();
  if (const topology::DeviceId near = relay_nic(from, nic_to); near != kNone<topology::DeviceId>) {
    if (blocks.over_owner(a, from, near, out) && across(near, nic_to, how, out) && blocks.enter(b, nic_to, to, out)) {
      return true;
    }
    out.resize(before);
  }
  if (const topology::DeviceId far = relay_nic(to, nic_from); far != kNone<topology::DeviceId>) {
    if (blocks.leave(a, from, nic_from, out) && across(nic_from, far, how, out) && blocks.from_owner(b, far, to, out)) {
      return true;
    }
    out.resize(before);
  }
  return false;
}

Router::Router(const topology::Topology& topology, topology::RoutingPolicy policy, std::uint64_t seed, bool pxn)
    : state_(std::make_unique<State>(
          State{topology, policy, seed, FabricTable(topology), BlockRoutes(topology, pxn), Front()})) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;

Status Router::spread(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                      topology::DeviceId nic_to, std::uint64_t flow, std::vector<LinkShare>& out,
                      const SplitBias& bias) const {
  return state_->spread(from, to, nic_from, nic_to, {flow, false, bias}, out);
}

Status Router::spread_bundled(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                              topology::DeviceId nic_to, std::vector<CapacityShare>& out) const {
  State& s = *state_;
  s.legs.clear(), s.hops.clear();
  BUSBAR_RETURN_IF_ERROR(s.spread(from, to, nic_from, nic_to, {.bundled = true}, s.legs));
  for (std::size_t i = 0; i < s.legs.size(); ++i) {
    if (i == s.hops_at) out.insert(out.end(), s.hops.begin(), s.hops.end());
    out.push_back({s.legs[i].link, s.legs[i].share});
  }
  return {};
}

const FabricBundles* Router::bundles() const {
  State& s = *state_;
  if (s.policy != topology::RoutingPolicy::kSpray && s.policy != topology::RoutingPolicy::kAdaptive) return nullptr;
  if (!s.bundles) s.bundles.emplace(s.topology);
  if (s.policy == topology::RoutingPolicy::kAdaptive && !s.bundles->alike()) return nullptr;
  return s.bundles->valid() ? &*s.bundles : nullptr;
}

Status Router::State::spread(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                             topology::DeviceId nic_to, const Crossing& how, std::vector<LinkShare>& out) {
  if (topology.block_of(from) == topology.block_of(to)) {
    if (blocks.between(block_of(from), from, to, out)) return {};
    return unreachable(from, to);
  }
  if (nic_from == kNone<topology::DeviceId> || nic_to == kNone<topology::DeviceId>) return unreachable(from, to);
  if (!joined(nic_from, nic_to)) {
    if (over_relays(from, to, nic_from, nic_to, how, out)) return {};
    return unreachable(from, to);
  }
  if (!blocks.leave(block_of(from), from, nic_from, out)) return unreachable(from, nic_from);
  if (!across(nic_from, nic_to, how, out)) return unreachable(nic_from, nic_to);
  if (!blocks.enter(block_of(to), nic_to, to, out)) return unreachable(nic_to, to);
  return {};
}

std::vector<topology::DeviceId> Router::nearest_nics(topology::DeviceId gpu) const {
  State& s = *state_;
  if (s.topology.block_of(gpu) == kNone<topology::BlockId>) return {};
  const topology::Block& block = s.block_of(gpu);
  std::vector<topology::DeviceId> nearest =
      s.blocks.nearest_nics(block, gpu, [&](topology::DeviceId d) { return s.cabled(d); });
  if (nearest.empty()) {  // the server's links lead to none: over another GPU
    std::vector<LinkShare> path;
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const auto d = static_cast<topology::DeviceId>(block.first_device + p);
      path.clear();
      if (s.topology.kind(d) != topology::DeviceKind::kNic || !s.cabled(d)) continue;
      if (s.blocks.over_owner(block, gpu, d, path)) nearest.push_back(d);
    }
  }
  if (!nearest.empty()) {
    std::rotate(nearest.begin(), nearest.begin() + s.blocks.ordinal(block, gpu) % nearest.size(), nearest.end());
  }
  return nearest;
}

topology::DeviceId Router::nearest_nic(topology::DeviceId gpu, std::uint32_t channel) const {
  const std::vector<topology::DeviceId> nearest = nearest_nics(gpu);
  return nearest.empty() ? kNone<topology::DeviceId> : nearest[channel % nearest.size()];
}

topology::DeviceId Router::exit_nic(topology::DeviceId gpu, topology::DeviceId own, topology::DeviceId far) const {
  State& s = *state_;
  if (own == kNone<topology::DeviceId> || far == kNone<topology::DeviceId>) return own;
  const topology::Block &a = s.block_of(gpu), &b = s.block_of(far);
  const auto rail = static_cast<topology::DeviceId>(a.first_device + (index(far) - b.first_device));
  if (rail == own || a.template_index != b.template_index || !s.joined(rail, far)) return own;
  return s.blocks.leaves_as_well(a, gpu, rail, own) ? rail : own;
}

bool Router::has_cable(topology::DeviceId nic) const { return state_->cabled(nic); }

const topology::Topology& Router::topology() const { return state_->topology; }
topology::RoutingPolicy Router::policy() const { return state_->policy; }

}  // namespace busbar::routing
