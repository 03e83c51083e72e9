#include "busbar/packet/internal/wiring.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "busbar/routing/no_path.h"

namespace busbar::packet {
namespace {

constexpr std::uint64_t kJointRate = 1'000'000'000'000'000;  ///< 1 PB/s: only ideal machines have it

bool is_joint(const topology::LinkClass& c) {
  return c.latency == Duration() && per_second(c.wire_rate) >= kJointRate && !topology::is_fabric(c.kind);
}

}  // namespace

Wiring::Wiring(const routing::Router& router, program::RateShares shares)
    : router_(router),
      topology_(router.topology()),
      shares_(shares),
      fabric_(topology_),
      wire_(topology_.link_count(), kNone32) {
  const auto switches = topology_.fabric_switches();
  switches_ = static_cast<std::uint32_t>(switches.size());
  device_of_.assign(switches.begin(), switches.end());
  sets_.close_row();  // set 0: no way
}

std::uint32_t Wiring::node_of(topology::DeviceId d) {
  if (const std::int32_t n = fabric_.number(d); n >= 0) return static_cast<std::uint32_t>(n);
  if (const auto known = node_.find(index(d)); known != node_.end()) return known->second;
  const auto node = static_cast<std::uint32_t>(device_of_.size());
  device_of_.push_back(d);
  std::vector<topology::DeviceId> joined{d};  // all devices that ideal joints merge with it
  node_.emplace(index(d), node);
  for (std::size_t i = 0; i < joined.size(); ++i) {
    for (const topology::LinkId l : topology_.out_links(joined[i])) {
      if (is_joint(topology_.link_class(l)) && node_.emplace(index(topology_.to(l)), node).second)
        joined.push_back(topology_.to(l));
    }
  }
  return node;
}

/// Both directions get consecutive numbers: the other one is w ^ 1.
std::uint32_t Wiring::wire_of(topology::LinkId l) {
  if (wire_[index(l)] != kNone32) return wire_[index(l)];
  for (const topology::LinkId one : {l, topology::reverse(l)}) {
    const topology::LinkClass& c = topology_.link_class(one);
    Wire w;
    w.link = one;
    w.from = node_of(topology_.from(one));
    w.to = node_of(topology_.to(one));
    w.in_server = !topology::is_fabric(c.kind);
    // Packets carry their own headers over a fabric. Inside a server the measured efficiency accounts for headers.
    const BytesPerSecond full = w.in_server ? c.payload_rate() : c.floor_rate();
    const auto rate = static_cast<std::uint64_t>(
        std::max(1.0, std::floor(static_cast<double>(per_second(full)) * shares_.of(c.kind))));
    const std::uint64_t common = std::gcd<std::uint64_t>(1'000'000'000'000u, rate);
    w.ps_bytes = 1'000'000'000'000u / common;
    w.bytes = rate / common;
    w.latency = c.latency.in_ps();
    wire_[index(one)] = static_cast<std::uint32_t>(wires_.size());
    wires_.push_back(w);
  }
  return wire_[index(l)];
}

std::uint32_t Wiring::nic_of(topology::DeviceId d) {
  const auto [known, fresh] = nic_.try_emplace(index(d), static_cast<std::uint32_t>(nics_.size()));
  if (!fresh) return known->second;
  Nic nic;
  nic.node = node_of(d);
  nic.first = static_cast<std::uint32_t>(by_.size());
  std::vector<std::uint32_t> finals;
  for (const topology::LinkId l : topology_.out_links(d)) {
    const std::int32_t s = fabric_.number(topology_.to(l));
    if (s < 0) continue;
    by_.push_back(wire_of(topology::reverse(l)));
    ++nic.cables;
    finals.push_back(static_cast<std::uint32_t>(s));
  }
  nic.group = group_of(std::move(finals));
  nics_.push_back(nic);
  return known->second;
}

/// NICs on the same switches form one group.
std::uint32_t Wiring::group_of(std::vector<std::uint32_t> finals) {
  std::sort(finals.begin(), finals.end());
  finals.erase(std::unique(finals.begin(), finals.end()), finals.end());
  const auto [group, fresh] = group_.try_emplace(finals, static_cast<std::uint32_t>(finals_.size()));
  if (fresh) finals_.push_back(finals);
  return group->second;
}

std::uint32_t Wiring::fabric_hops(std::uint32_t from_switch, std::uint32_t nic) {
  std::uint32_t best = routing::FabricTable::kFar;
  for (const std::uint32_t f : finals_[nics_[nic].group])
    best = std::min<std::uint32_t>(best, fabric_.distance(from_switch, f));
  return best;
}

/// The cables of a NIC that are nearest to `towards`.
void Wiring::add_first_cables(topology::DeviceId nic, std::uint32_t towards, std::vector<Inner>& inner) {
  Inner here{node_of(nic), {}};
  std::uint32_t best = routing::FabricTable::kFar;
  for (const topology::LinkId l : topology_.out_links(nic)) {
    if (!topology::is_fabric(topology_.link_class(l).kind)) continue;
    const std::int32_t s = fabric_.number(topology_.to(l));
    const bool there = node_of(topology_.to(l)) == nics_[towards].node;
    const std::uint32_t hops = there   ? 0
                               : s < 0 ? routing::FabricTable::kFar
                                       : 1 + fabric_hops(static_cast<std::uint32_t>(s), towards);
    if (hops < best) here.wires.clear();
    best = std::min(best, hops);
    if (hops == best && hops < routing::FabricTable::kFar) here.wires.push_back(wire_of(l));
  }
  inner.push_back(std::move(here));
}

std::uint32_t Wiring::outlet_of(std::vector<std::uint32_t> wires) {
  const auto [known, fresh] = outlet_.try_emplace(wires, outlets_.rows());
  if (fresh) {
    outlets_.values.insert(outlets_.values.end(), wires.begin(), wires.end());
    outlets_.close_row();
  }
  return known->second;
}

/// `path` comes from the Router. Of its part in the fabric only the two ends count; the tables hold the rest.
Status Wiring::add_leg(const std::vector<routing::LinkShare>& path, topology::DeviceId from, topology::DeviceId to,
                       Leg& leg, Route& route) {
  std::vector<Inner> inner;
  leg.nic = kNone32;
  leg.target = node_of(to);
  topology::DeviceId nic_from = kNone<topology::DeviceId>;
  for (const routing::LinkShare& s : path) {
    if (!topology::is_fabric(topology_.link_class(s.link).kind)) continue;
    if (nic_from == kNone<topology::DeviceId>) nic_from = topology_.from(s.link);
    if (fabric_.number(topology_.to(s.link)) < 0) leg.nic = nic_of(topology_.to(s.link));
  }
  std::vector<std::uint32_t> walked;
  bool left = false;
  for (const routing::LinkShare& s : path) {
    const bool outside = topology::is_fabric(topology_.link_class(s.link).kind);
    if (outside && !left) add_first_cables(nic_from, leg.nic, inner);
    left = left || outside;
    const std::uint32_t a = node_of(topology_.from(s.link)), b = node_of(topology_.to(s.link));
    if (a == b) continue;
    const std::uint32_t w = wire_of(s.link);
    walked.push_back(w);
    if (outside) continue;
    const auto at = std::find_if(inner.begin(), inner.end(), [&](const Inner& i) { return i.node == a; });
    if (at == inner.end()) {
      inner.push_back({a, {w}});
    } else {
      at->wires.push_back(w);
    }
  }
  const std::uint32_t home = node_of(from);
  const auto first = std::find_if(inner.begin(), inner.end(), [&](const Inner& i) { return i.node == home; });
  if (first == inner.end() || first->wires.empty()) {
    return routing::no_path(topology_, from, to);
  }
  leg.outlet = outlet_of(first->wires);
  leg.inner = static_cast<std::uint32_t>(inner_.size());
  inner_.push_back(std::move(inner));
  add_idle_walk(walked, home, leg.target, route);
  return {};
}

/// Walks one path from end to end for the idle times; takes the first of parallel links.
void Wiring::add_idle_walk(const std::vector<std::uint32_t>& wires, std::uint32_t home, std::uint32_t target,
                           Route& route) {
  std::vector<std::uint32_t> walk;
  for (std::uint32_t at = home; at != target && walk.size() < wires.size();) {
    const auto w = std::find_if(wires.begin(), wires.end(), [&](std::uint32_t x) { return wires_[x].from == at; });
    if (w == wires.end()) break;
    walk.push_back(*w);
    at = wires_[*w].to;
  }
  path_.push_back(walk);
  route.hops = static_cast<std::uint32_t>(walk.size());
}

Result<std::uint32_t> Wiring::route(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from,
                                    topology::DeviceId nic_to) {
  const auto [known, fresh] = pair_.try_emplace({index(from), index(to), index(nic_from), index(nic_to)},
                                                static_cast<std::uint32_t>(routes_.size()));
  if (!fresh) return known->second;
  Route r;
  if (from == to) {  // work: it crosses nothing
    path_.emplace_back();
    routes_.push_back(r);
    return known->second;
  }
  if (is_switch(from) || is_switch(to)) {
    BUSBAR_ASSIGN(const std::vector<topology::LinkId> back, links_to_switch(to, from, nic_to, nic_from));
    BUSBAR_ASSIGN(const std::vector<topology::LinkId> forth, links_to_switch(from, to, nic_from, nic_to));
    add_leg_of(back, to, from, r.back, r);
    path_.pop_back();
    add_leg_of(forth, from, to, r.forth, r);
  } else {
    std::vector<routing::LinkShare> path;
    BUSBAR_RETURN_IF_ERROR(router_.spread(to, from, nic_to, nic_from, 0, path));
    BUSBAR_RETURN_IF_ERROR(add_leg(path, to, from, r.back, r));
    path.clear();
    path_.pop_back();
    BUSBAR_RETURN_IF_ERROR(router_.spread(from, to, nic_from, nic_to, 0, path));
    BUSBAR_RETURN_IF_ERROR(add_leg(path, from, to, r.forth, r));
  }
  r.slowest = path_.back().front();
  for (const std::uint32_t w : path_.back()) {
    r.latency += wires_[w].latency;
    if (wires_[w].transfer(1 << 16) > wires_[r.slowest].transfer(1 << 16)) r.slowest = w;
  }
  routes_.push_back(r);
  return known->second;
}

Ps Wiring::idle_time(std::uint32_t route, std::uint64_t size) const {
  Ps t = 0;
  const std::vector<std::uint32_t>& path = path_[route];
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool cut = cut_header_ > 0 && i + 1 < path.size() && cuts(path[i], path[i + 1]);
    const Wire& w = wires_[path[i]];
    t += w.transfer(cut ? std::min<std::uint64_t>(size, cut_header_) : size) + w.latency;
  }
  return t;
}

std::uint32_t Wiring::set_of(std::uint32_t node, const std::vector<std::uint32_t>& finals) {
  const auto left = [&](std::uint32_t s) {
    std::uint32_t best = routing::FabricTable::kFar;
    for (const std::uint32_t f : finals) best = std::min<std::uint32_t>(best, fabric_.distance(s, f));
    return best;
  };
  const std::uint32_t hops = left(node);
  if (hops == 0) return kLast;
  std::vector<std::uint32_t> wires;
  if (hops < routing::FabricTable::kFar) {
    for (const routing::FabricTable::Hop& hop : fabric_.hops(node))
      if (left(hop.to) == hops - 1) wires.push_back(wire_of(hop.link));
  }
  return set_number(wires);
}

std::uint32_t Wiring::set_number(const std::vector<std::uint32_t>& wires) {
  if (wires.empty()) return 0;
  const auto [known, fresh] = set_.try_emplace(wires, sets_.rows());
  if (fresh) {
    sets_.values.insert(sets_.values.end(), wires.begin(), wires.end());
    sets_.close_row();
    BUSBAR_CHECK(sets_.rows() < kLast) << "more sets of equal paths than 16 bits count";
  }
  return known->second;
}

void Wiring::seal() {
  groups_ = static_cast<std::uint32_t>(finals_.size());
  table_.assign(std::size_t{switches_} * groups_, 0);
  for (std::uint32_t s = 0; s < switches_; ++s)
    for (std::uint32_t g = 0; g < groups_; ++g)
      table_[std::size_t{s} * groups_ + g] = static_cast<std::uint16_t>(set_of(s, finals_[g]));
  set_senders_apart();
}

void Wiring::add_all_cables() {
  for (std::uint32_t s = 0; s < switches_; ++s)
    for (const routing::FabricTable::Hop& hop : fabric_.hops(s)) wire_of(hop.link);
}

/// Groups NICs by their cables that are up. If none is up, all stay.
void Wiring::regroup(const std::function<bool(std::uint32_t)>& down) {
  if (all_by_.empty()) {
    all_by_ = by_;
    all_nics_ = nics_;
  }
  by_.clear();
  for (std::size_t n = 0; n < all_nics_.size(); ++n) {
    const auto cables = std::span(all_by_).subspan(all_nics_[n].first, all_nics_[n].cables);
    const bool dark = std::all_of(cables.begin(), cables.end(), down);
    Nic& nic = nics_[n];
    nic.first = static_cast<std::uint32_t>(by_.size());
    std::vector<std::uint32_t> finals;
    for (const std::uint32_t w : cables) {
      if (!dark && down(w)) continue;
      by_.push_back(w);
      finals.push_back(wires_[w].from);
    }
    nic.cables = static_cast<std::uint32_t>(by_.size()) - nic.first;
    if (nic.cables > 0) nic.group = group_of(std::move(finals));
  }
}

/// Hops from each switch to the nearest of `finals`, over wires that are up; kFar if there is no path.
std::vector<std::uint32_t> Wiring::hops_to(const std::vector<std::uint32_t>& finals,
                                           const std::function<bool(std::uint32_t)>& down) const {
  std::vector<std::uint32_t> hops(switches_, routing::FabricTable::kFar), ring(finals);
  for (const std::uint32_t f : finals) hops[f] = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    for (const routing::FabricTable::Hop& hop : fabric_.hops(ring[i])) {
      if (hops[hop.to] < routing::FabricTable::kFar || down(wire_[index(topology::reverse(hop.link))])) continue;
      hops[hop.to] = hops[ring[i]] + 1;
      ring.push_back(hop.to);
    }
  }
  return hops;
}

void Wiring::route_around(const std::function<bool(std::uint32_t)>& down) {
  regroup(down);
  groups_ = static_cast<std::uint32_t>(finals_.size());
  table_.assign(std::size_t{switches_} * groups_, 0);
  for (std::uint32_t g = 0; g < groups_; ++g) {
    const std::vector<std::uint32_t> hops = hops_to(finals_[g], down);
    for (std::uint32_t s = 0; s < switches_; ++s) {
      std::vector<std::uint32_t> wires;
      if (hops[s] > 0 && hops[s] < routing::FabricTable::kFar) {
        for (const routing::FabricTable::Hop& hop : fabric_.hops(s))
          if (const std::uint32_t w = wire_[index(hop.link)]; hops[hop.to] + 1 == hops[s] && !down(w))
            wires.push_back(w);
      }
      table_[std::size_t{s} * groups_ + g] = static_cast<std::uint16_t>(hops[s] == 0 ? kLast : set_number(wires));
    }
  }
}

std::span<const std::uint32_t> Wiring::last_hop(std::uint32_t node, const Nic& nic) const {
  std::uint32_t first = nic.first;
  while (wires_[by_[first]].from != node) ++first;
  std::uint32_t end = first + 1;
  while (end < nic.first + nic.cables && wires_[by_[end]].from == node) ++end;
  return std::span(by_).subspan(first, end - first);
}

std::span<const std::uint32_t> Wiring::next_inside(std::uint32_t node, const Leg& leg) const {
  for (const Inner& i : inner_[leg.inner])
    if (i.node == node) return i.wires;
  return {};
}

}  // namespace busbar::packet
