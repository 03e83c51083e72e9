#include "busbar/routing/router.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "busbar/base/random.h"
#include "busbar/routing/fabric_table.h"
#include "busbar/routing/shape_table.h"

namespace busbar {
namespace {

/// A device the payload has reached and the part of it that is there.
struct Front {
  DeviceId at;
  double share;
};

void add(std::vector<Front>& front, DeviceId at, double share) {
  for (Front& f : front)
    if (f.at == at) {
      f.share += share;
      return;
    }
  front.push_back({at, share});
}

}  // namespace

struct Router::State {
  const Topology& topology;
  RoutingPolicy policy;
  std::uint64_t seed;
  mutable FabricTable fabric;
  struct Tables {
    std::optional<ShapeTable> level[2];
  };
  mutable std::vector<Tables> shapes;
  // Work space of one call; reused so that routing does not allocate.
  mutable std::vector<Front> front, next;
  mutable std::vector<LinkId> candidates;

  const ShapeTable& table(const Block& block, RouteLevel level) const {
    const std::uint32_t shape = index(block.shape);
    if (shape >= shapes.size()) shapes.resize(shape + 1);
    auto& slot = shapes[shape].level[static_cast<int>(level)];
    if (!slot) slot.emplace(topology, block, level);
    return *slot;
  }

  /// Sends `share` on over candidates in proportion to their undamaged rates.
  void split(double share, std::vector<LinkShare>& out) const {
    double total = 0;
    for (const LinkId l : candidates) total += static_cast<double>(per_second(topology.link_class(l).wire_rate));
    for (const LinkId l : candidates) {
      const double part = share * static_cast<double>(per_second(topology.link_class(l).wire_rate)) / total;
      out.push_back({l, part});
      add(next, topology.to(l), part);
    }
  }

  bool inside(const Block& block, RouteLevel level, DeviceId from, DeviceId to, std::vector<LinkShare>& out) const;
  bool across(DeviceId from, DeviceId to, std::uint64_t flow, std::vector<LinkShare>& out) const;
  Error unreachable(DeviceId from, DeviceId to) const {
    return Error{ErrorCode::kUnreachable,
                 fmt::format("no live path from {} to {}; check failed links and the fabric", topology.name(from),
                             topology.name(to)),
                 {}};
  }
};

bool Router::State::inside(const Block& block, RouteLevel level, DeviceId from, DeviceId to,
                           std::vector<LinkShare>& out) const {
  if (from == to) return true;
  const ShapeTable& t = table(block, level);
  const auto place = [&](DeviceId d) { return index(d) - block.first_device; };
  const auto within = [&](DeviceId d) { return place(d) < block.device_count; };
  // Hops from transit device x to `to`, by the last switch before it.
  const auto left = [&](std::uint32_t x) {
    int best = ShapeTable::kFar;
    for (const LinkId l : topology.out_links(to)) {
      if (!t.allows(topology.link_class(l)) || !within(topology.to(l))) continue;
      const std::int32_t last = t.transit(place(topology.to(l)));
      if (last >= 0) best = std::min(best, t.distance(x, static_cast<std::uint32_t>(last)) + 1);
    }
    return best;
  };
  candidates.clear();
  int best = ShapeTable::kFar;
  for (const LinkId l : topology.out_links(from)) {
    if (!t.allows(topology.link_class(l)) || !within(topology.to(l))) continue;
    const DeviceId d = topology.to(l);
    const std::int32_t x = t.transit(place(d));
    const int hops = d == to ? 0 : x < 0 ? ShapeTable::kFar : left(static_cast<std::uint32_t>(x));
    if (hops < best) candidates.clear();
    best = std::min(best, hops);
    if (hops == best && hops < ShapeTable::kFar) candidates.push_back(l);
  }
  if (candidates.empty()) return false;
  next.clear();
  split(1.0, out);
  for (int hops = best; hops > 0; --hops) {
    std::swap(front, next);
    next.clear();
    for (const Front& f : front) {
      candidates.clear();
      const auto x = static_cast<std::uint32_t>(t.transit(place(f.at)));
      if (hops == 1) {
        for (const LinkId l : topology.out_links(to))
          if (topology.to(l) == f.at && t.allows(topology.link_class(l))) candidates.push_back(reverse(l));
      } else {
        for (const ShapeTable::Hop& hop : t.hops(x))
          if (left(hop.transit) == hops - 1) candidates.push_back(static_cast<LinkId>(block.first_link + hop.link));
      }
      split(f.share, out);
    }
  }
  return true;
}

bool Router::State::across(DeviceId from, DeviceId to, std::uint64_t flow, std::vector<LinkShare>& out) const {
  const auto choose = [&](DeviceId at) {  // static hash keeps one of the equal candidates
    if (policy != RoutingPolicy::kStatic || candidates.size() < 2) return;
    const std::uint64_t h = mix64(flow ^ mix64(seed ^ index(at)));
    candidates.assign(1, candidates[h % candidates.size()]);
  };
  const auto left = [&](std::uint32_t x) {
    int best = FabricTable::kFar;
    for (const LinkId l : topology.out_links(to)) {
      const std::int32_t last = fabric.number(topology.to(l));
      if (last >= 0) best = std::min(best, fabric.row(static_cast<std::uint32_t>(last))[x] + 1);
    }
    return best;
  };
  candidates.clear();
  int best = FabricTable::kFar;
  for (const LinkId l : topology.out_links(from)) {
    if (!is_fabric(topology.link_class(l).kind)) continue;
    const std::int32_t x = fabric.number(topology.to(l));
    const int hops = topology.to(l) == to ? 0 : x < 0 ? FabricTable::kFar : left(static_cast<std::uint32_t>(x));
    if (hops < best) candidates.clear();
    best = std::min(best, hops);
    if (hops == best && hops < FabricTable::kFar) candidates.push_back(l);
  }
  if (candidates.empty()) return false;
  choose(from);
  next.clear();
  split(1.0, out);
  for (int hops = best; hops > 0; --hops) {
    std::swap(front, next);
    next.clear();
    for (const Front& f : front) {
      candidates.clear();
      if (hops == 1) {
        for (const LinkId l : topology.out_links(to))
          if (topology.to(l) == f.at) candidates.push_back(reverse(l));
      } else {
        for (const FabricTable::Hop& hop : fabric.hops(static_cast<std::uint32_t>(fabric.number(f.at))))
          if (left(hop.to) == hops - 1) candidates.push_back(hop.link);
      }
      choose(f.at);
      split(f.share, out);
    }
  }
  return true;
}

Router::Router(const Topology& topology, RoutingPolicy policy, std::uint64_t seed)
    : state_(std::make_unique<State>(State{topology, policy, seed, FabricTable(topology), {}, {}, {}, {}})) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;

Status Router::spread(DeviceId from, DeviceId to, DeviceId nic_from, DeviceId nic_to, std::uint64_t flow,
                      std::vector<LinkShare>& out) const {
  const State& s = *state_;
  const Topology& t = s.topology;
  const BlockId a = t.block_of(from), b = t.block_of(to);
  const Block& block_a = t.blocks()[index(a)];
  if (a == b) {
    if (s.inside(block_a, RouteLevel::kScaleUp, from, to, out)) return {};
    if (s.inside(block_a, RouteLevel::kAnyInside, from, to, out)) return {};
    return s.unreachable(from, to);
  }
  const Block& block_b = t.blocks()[index(b)];
  if (nic_from == kNone<DeviceId> || nic_to == kNone<DeviceId>) return s.unreachable(from, to);
  if (!s.inside(block_a, RouteLevel::kAnyInside, from, nic_from, out)) return s.unreachable(from, nic_from);
  if (!s.across(nic_from, nic_to, flow, out)) return s.unreachable(nic_from, nic_to);
  if (!s.inside(block_b, RouteLevel::kAnyInside, nic_to, to, out)) return s.unreachable(nic_to, to);
  return {};
}

DeviceId Router::nearest_nic(DeviceId gpu, std::uint32_t channel) const {
  const State& s = *state_;
  const Topology& t = s.topology;
  const BlockId b = t.block_of(gpu);
  if (b == kNone<BlockId>) return kNone<DeviceId>;
  const Block& block = t.blocks()[index(b)];
  std::vector<DeviceId> nearest;
  double fewest = 1e9;
  std::uint32_t gpu_number = 0;
  std::vector<LinkShare> path;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<DeviceId>(block.first_device + p);
    const DeviceKind kind = t.kind(d);
    if (kind == DeviceKind::kGpu && d < gpu) ++gpu_number;
    if (kind != DeviceKind::kNic) continue;
    if (!has_cable(d)) continue;
    path.clear();
    if (!s.inside(block, RouteLevel::kAnyInside, gpu, d, path)) continue;
    double hops = 0;
    for (const LinkShare& l : path) hops += l.share;
    if (hops < fewest - 1e-9) nearest.clear();
    fewest = std::min(fewest, hops);
    if (hops <= fewest + 1e-9) nearest.push_back(d);
  }
  if (nearest.empty()) return kNone<DeviceId>;
  return nearest[(gpu_number + channel) % nearest.size()];
}

bool Router::has_cable(DeviceId nic) const {
  const Topology& t = state_->topology;
  const auto links = t.out_links(nic);
  return std::any_of(links.begin(), links.end(), [&](LinkId l) { return t.block_of(t.to(l)) != t.block_of(nic); });
}

const Topology& Router::topology() const { return state_->topology; }
RoutingPolicy Router::policy() const { return state_->policy; }

}  // namespace busbar
