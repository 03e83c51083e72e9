#include "busbar/routing/internal/block_routes.h"

namespace busbar::routing {

BlockRoutes::Tables& BlockRoutes::tables(const topology::Block& block) {
  const std::uint32_t shape = index(block.shape);
  if (shape >= shapes_.size()) shapes_.resize(shape + 1);
  return shapes_[shape];
}

const ShapeTable& BlockRoutes::table(const topology::Block& block, RouteLevel level) {
  auto& slot = tables(block).level[static_cast<int>(level)];
  if (!slot) slot.emplace(topology_, block, level);
  return *slot;
}

bool BlockRoutes::by_level(const topology::Block& block, RouteLevel level, topology::DeviceId from,
                           topology::DeviceId to, std::vector<LinkShare>& out) {
  if (from == to) return true;
  if (block.device_count > kMostKept) return find_by_level(block, level, from, to, out);
  Ways& ways = tables(block).ways[static_cast<int>(level)];
  if (ways.number.empty()) ways.number.assign(std::size_t{block.device_count} * block.device_count, kNotSought);
  std::uint32_t& number =
      ways.number[(index(from) - block.first_device) * block.device_count + (index(to) - block.first_device)];
  if (number == kNotSought && ways.links.values.size() >= kMostLinksKept)
    return find_by_level(block, level, from, to, out);
  if (number == kNotSought) {
    const std::size_t begin = out.size();
    number = kNoWay;
    if (!find_by_level(block, level, from, to, out)) return false;
    number = ways.links.rows();
    for (std::size_t i = begin; i < out.size(); ++i)
      ways.links.values.push_back({static_cast<topology::LinkId>(index(out[i].link) - block.first_link), out[i].share});
    ways.links.close_row();
    return true;
  }
  if (number == kNoWay) return false;
  for (const LinkShare& l : ways.links.row(number))
    out.push_back({static_cast<topology::LinkId>(index(l.link) + block.first_link), l.share});
  return true;
}

/// Hops from transit device `x` to `to`, by the last switch before it.
int BlockRoutes::count_hops(const topology::Block& block, const ShapeTable& t, std::uint32_t x,
                            topology::DeviceId to) const {
  int best = ShapeTable::kFar;
  for (const topology::LinkId l : topology_.out_links(to)) {
    const std::uint32_t place = index(topology_.to(l)) - block.first_device;
    if (!t.allows(topology_.link_class(l)) || place >= block.device_count) continue;
    const std::int32_t last = t.transit(place);
    if (last >= 0) best = std::min(best, t.distance(x, static_cast<std::uint32_t>(last)) + 1);
  }
  return std::min<int>(best, ShapeTable::kFar);
}

/// What count_hops() has found for `to`, per transit device; empty in blocks too large to keep it.
std::span<std::uint8_t> BlockRoutes::hops_left(const topology::Block& block, RouteLevel level, topology::DeviceId to) {
  const std::size_t transits = table(block, level).transits(), all = transits * block.device_count;
  if (all > kMostHopsKept) return {};
  std::vector<std::uint8_t>& kept = tables(block).left[static_cast<int>(level)];
  if (kept.empty()) kept.assign(all, kNotCounted);
  return std::span(kept).subspan(transits * (index(to) - block.first_device), transits);
}

bool BlockRoutes::find_by_level(const topology::Block& block, RouteLevel level, topology::DeviceId from,
                                topology::DeviceId to, std::vector<LinkShare>& out) {
  const ShapeTable& t = table(block, level);
  const auto place = [&](topology::DeviceId d) { return index(d) - block.first_device; };
  const auto within = [&](topology::DeviceId d) { return place(d) < block.device_count; };
  const std::span<std::uint8_t> known = hops_left(block, level, to);
  const auto left = [&](std::uint32_t x) -> int {
    if (known.empty()) return count_hops(block, t, x, to);
    if (known[x] == kNotCounted) known[x] = static_cast<std::uint8_t>(count_hops(block, t, x, to));
    return known[x];
  };
  front_.candidates.clear();
  int best = ShapeTable::kFar;
  for (const topology::LinkId l : topology_.out_links(from)) {
    if (!t.allows(topology_.link_class(l)) || !within(topology_.to(l))) continue;
    const topology::DeviceId d = topology_.to(l);
    const std::int32_t x = t.transit(place(d));
    const int hops = d == to ? 0 : x < 0 ? ShapeTable::kFar : left(static_cast<std::uint32_t>(x));
    if (hops < best) front_.candidates.clear();
    best = std::min(best, hops);
    if (hops == best && hops < ShapeTable::kFar) front_.candidates.push_back(l);
  }
  if (front_.candidates.empty()) return false;
  front_.start();
  front_.split(topology_, 1.0, out);
  for (int hops = best; hops > 0; --hops) {
    for (const Front::At& f : front_.advance()) {
      front_.candidates.clear();
      const auto x = static_cast<std::uint32_t>(t.transit(place(f.device)));
      if (hops == 1) {
        for (const topology::LinkId l : topology_.out_links(to))
          if (topology_.to(l) == f.device && t.allows(topology_.link_class(l)))
            front_.candidates.push_back(topology::reverse(l));
      } else {
        for (const ShapeTable::Hop& hop : t.hops(x))
          if (left(hop.transit) == hops - 1)
            front_.candidates.push_back(static_cast<topology::LinkId>(block.first_link + hop.link));
      }
      front_.split(topology_, f.share, out);
    }
  }
  return true;
}

bool BlockRoutes::by_gpus(const topology::Block& block, topology::DeviceId from, topology::DeviceId to,
                          std::vector<LinkShare>& out) {
  auto& mesh = tables(block).mesh;
  if (!mesh) mesh.emplace(topology_, block);
  if (mesh->empty()) return false;
  const auto chip = [&](topology::DeviceId d) { return topology_.kind(d) == topology::DeviceKind::kGpu; };
  if (!chip(from) || !chip(to)) return false;
  parts_.clear();
  if (!mesh->route(ordinal(block, from), ordinal(block, to), parts_)) return false;
  for (const GpuMesh::Part& p : parts_)
    out.push_back({static_cast<topology::LinkId>(block.first_link + p.link), p.share});
  return true;
}

bool BlockRoutes::between(const topology::Block& block, topology::DeviceId from, topology::DeviceId to,
                          std::vector<LinkShare>& out) {
  return by_level(block, RouteLevel::kScaleUp, from, to, out) || (from != to && by_gpus(block, from, to, out)) ||
         by_level(block, RouteLevel::kAnyInside, from, to, out);
}

topology::DeviceId BlockRoutes::owner(const topology::Block& block, topology::DeviceId nic) {
  constexpr std::uint32_t kUnknown = UINT32_MAX, kNoOwner = UINT32_MAX - 1;
  auto& known = tables(block).owner;
  known.resize(block.device_count, kUnknown);
  std::uint32_t& place = known[index(nic) - block.first_device];
  if (place == kUnknown) {
    const topology::DeviceId found = find_owner(block, nic);
    place = found == kNone<topology::DeviceId> ? kNoOwner : index(found) - block.first_device;
  }
  return place == kNoOwner ? kNone<topology::DeviceId> : static_cast<topology::DeviceId>(block.first_device + place);
}

/// GPUs are looked at ring by ring around the NIC, because large blocks have many of both.
topology::DeviceId BlockRoutes::find_owner(const topology::Block& block, topology::DeviceId nic) {
  const ShapeTable& t = table(block, RouteLevel::kAnyInside);
  std::vector<topology::DeviceId> nearest, ring{nic}, next, seen{nic};
  std::uint8_t fewest = 255;
  for (std::uint32_t hops = 1; hops <= fewest && !ring.empty(); ++hops, std::swap(ring, next), next.clear())
    for (const topology::DeviceId at : ring)
      for (const topology::LinkId l : topology_.out_links(at)) {
        const topology::DeviceId d = topology_.to(l);
        const std::uint32_t place = index(d) - block.first_device;
        if (place >= block.device_count || !t.allows(topology_.link_class(l))) continue;
        if (std::find(seen.begin(), seen.end(), d) != seen.end()) continue;
        seen.push_back(d);
        if (t.transit(place) >= 0) next.push_back(d);
        if (topology_.kind(d) != topology::DeviceKind::kGpu) continue;
        const std::uint8_t own = server_exit(block, d, nic).hops;
        if (own < fewest) nearest.clear();
        fewest = std::min(fewest, own);
        if (own == fewest && own < 255) nearest.push_back(d);
      }
  if (nearest.empty()) return kNone<topology::DeviceId>;
  std::sort(nearest.begin(), nearest.end());
  std::uint32_t ordinal = 0;
  for (std::uint32_t p = 0; p < index(nic) - block.first_device; ++p)
    ordinal += topology_.kind(static_cast<topology::DeviceId>(block.first_device + p)) == topology::DeviceKind::kNic;
  return nearest[ordinal % nearest.size()];
}

/// Over the server's links only.
BlockRoutes::Exit BlockRoutes::server_exit(const topology::Block& block, topology::DeviceId gpu,
                                           topology::DeviceId nic) {
  Exit e;
  e.known = true;
  std::vector<LinkShare> path;
  if (!by_level(block, RouteLevel::kAnyInside, gpu, nic, path)) return e;
  double hops = 0;
  for (const LinkShare& l : path) {
    hops += l.share;  // the shares of one hop sum to 1
    const topology::DeviceKind to = topology_.kind(topology_.to(l.link));
    e.host = e.host || to == topology::DeviceKind::kCpu || to == topology::DeviceKind::kNuma;
  }
  e.hops = static_cast<std::uint8_t>(hops + 0.5);
  return e;
}

const BlockRoutes::Exit& BlockRoutes::exit(const topology::Block& block, topology::DeviceId gpu,
                                           topology::DeviceId nic) {
  const std::uint64_t places =
      (std::uint64_t{index(gpu) - block.first_device} << 32) | (index(nic) - block.first_device);
  Exit& e = tables(block).exits[places];
  if (e.known) return e;
  e = server_exit(block, gpu, nic);
  const topology::DeviceId relay = owner(block, nic);
  if (!pxn_ || (e.hops < 255 && !e.host) || relay == kNone<topology::DeviceId> || relay == gpu) return e;
  std::vector<LinkShare> path;
  e.relay = !server_exit(block, relay, nic).host && by_level(block, RouteLevel::kScaleUp, gpu, relay, path);
  return e;
}

bool BlockRoutes::leaves_as_well(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic,
                                 topology::DeviceId own) {
  const Exit e = exit(block, gpu, nic), o = exit(block, gpu, own);
  return e.relay || ((!e.host || o.host) && e.hops < 255 && e.hops <= o.hops);
}

bool BlockRoutes::leave(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic,
                        std::vector<LinkShare>& out) {
  if (exit(block, gpu, nic).relay && over_owner(block, gpu, nic, out)) return true;
  if (by_level(block, RouteLevel::kAnyInside, gpu, nic, out)) return true;
  return over_owner(block, gpu, nic, out);
}

bool BlockRoutes::over_owner(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic,
                             std::vector<LinkShare>& out) {
  const topology::DeviceId relay = owner(block, nic);
  if (relay == kNone<topology::DeviceId>) return false;
  const std::size_t before = out.size();
  if (between(block, gpu, relay, out) && by_level(block, RouteLevel::kAnyInside, relay, nic, out)) return true;
  out.resize(before);
  return false;
}

bool BlockRoutes::enter(const topology::Block& block, topology::DeviceId nic, topology::DeviceId gpu,
                        std::vector<LinkShare>& out) {
  if (by_level(block, RouteLevel::kAnyInside, nic, gpu, out)) return true;
  return from_owner(block, nic, gpu, out);
}

bool BlockRoutes::from_owner(const topology::Block& block, topology::DeviceId nic, topology::DeviceId gpu,
                             std::vector<LinkShare>& out) {
  const topology::DeviceId relay = owner(block, nic);
  if (relay == kNone<topology::DeviceId>) return false;
  const std::size_t before = out.size();
  if (by_level(block, RouteLevel::kAnyInside, nic, relay, out) && between(block, relay, gpu, out)) return true;
  out.resize(before);
  return false;
}

}  // namespace busbar::routing
