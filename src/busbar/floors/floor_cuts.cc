#include "busbar/floors/internal/floor_cuts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace busbar::floors {

FloorCuts::FloorCuts(const routing::Router& router, const routing::Placement& placement,
                     const program::CollectiveCall& call, std::uint32_t group, FloorTiers& tiers)
    : router_(router),
      placement_(placement),
      t_(router.topology()),
      call_(call),
      tiers_(tiers),
      demand_(call),
      n_(call.groups.size()),
      side_(t_.device_count(), 0) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> by_block;
  for (std::uint32_t m = 0; m < n_; ++m) {
    const std::uint32_t rank = call.groups.actor(group, m);
    gpus_.push_back(placement.gpu(rank));
    ranks_.push_back(rank);
    by_block[index(t_.block_of(gpus_.back()))].push_back(m);
  }
  members_begin_.push_back(0);
  for (const auto& [block, members] : by_block) {
    used_blocks_.push_back(block);
    members_.insert(members_.end(), members.begin(), members.end());
    members_begin_.push_back(static_cast<std::uint32_t>(members_.size()));
  }
  one_block_ = used_blocks_.size() == 1;
  if (n_ > 1) find_reach();
}

constexpr std::uint32_t kMostSets = 16;  // ranks, all of whose sets are tried

std::vector<MachineFloor::Line> FloorCuts::bounds(FloorRates rates) {
  if (n_ < 2) return {};
  rates_ = rates;
  best_ = {};
  endpoints();
  memories();
  if (!scale_up_) inside_blocks();
  if (!one_block_) {
    blocks();
    if (!cabled_) tiers();
  }
  if (n_ <= kMostSets)
    sets_of_ranks();
  else if (!demand_.uneven())
    halves();
  if (call_.op == collectives::Collective::kAllToAll && any_meshed()) all_pairs();
  std::vector<MachineFloor::Line> out;
  for (std::size_t k = 0; k < best_.size(); ++k) {
    best_[k].kind = static_cast<CutKind>(k);
    if (best_[k].ps_per_byte > 0) out.push_back(best_[k]);
  }
  out.push_back({0, far_ps_, CutKind::kFarthest, "latency of the farthest pair"});
  return out;
}

bool FloorCuts::usable(topology::LinkId l) const {
  return (!scale_up_ || topology::is_scale_up(t_.link_class(l).kind)) && !is_stranger(t_.to(l)) &&
         !is_stranger(t_.from(l));
}

bool FloorCuts::fabric_reduces() const {
  return std::any_of(t_.fabric_switches().begin(), t_.fabric_switches().end(),
                     [&](topology::DeviceId d) { return t_.device_class(d).reduces; });
}

bool FloorCuts::can_reduce() const {
  const auto reduces = [&](topology::DeviceId d) { return t_.device_class(d).reduces; };
  if (fabric_reduces()) return true;
  for (const topology::DeviceId g : gpus_)
    for (const topology::LinkId l : t_.out_links(g))
      if (reduces(t_.to(l))) return true;
  return false;
}

bool FloorCuts::take(const Demand& d, double out, double in, CutKind kind, const std::vector<std::uint32_t>& inside) {
  // If no link crosses a cut, the machine is in two parts, which the router refuses. So it is no bound.
  const double ps = std::max(d.out > 0 && out > 0 ? d.out / out : 0, d.in > 0 && in > 0 ? d.in / in : 0);
  MachineFloor::Line& best = best_[static_cast<std::size_t>(kind)];
  if (ps <= best.ps_per_byte * (1 + 1e-9)) return false;
  best.ps_per_byte = ps;
  best.latency_ps = nearest_ps(inside, kind == CutKind::kNode || kind == CutKind::kLeaf || kind == CutKind::kPod);
  return true;
}

void FloorCuts::take_all_of(std::uint32_t parts, double out, CutKind kind, const char* name) {
  if (call_.op != collectives::Collective::kAllReduce || parts < 2) return;
  if (take({2.0 * (parts - 1), 0}, out, out, kind, {})) name_it(kind, name);
}

void FloorCuts::take_devices(const std::vector<topology::DeviceId>& devices, CutKind kind, const std::string& name) {
  for (const topology::DeviceId d : devices) side_[index(d)] = 1;
  double out = 0, in = 0;
  for (const topology::DeviceId d : devices)
    for (const topology::LinkId l : t_.out_links(d))
      if (!side_[index(t_.to(l))] && usable(l)) out += rate(l), in += rate(topology::reverse(l));
  std::vector<std::uint32_t> inside;
  for (std::size_t b = 0; b < used_blocks_.size(); ++b) {
    const topology::Block& block = t_.blocks()[used_blocks_[b]];
    if (devices.empty() || index(devices.front()) < block.first_device ||
        index(devices.front()) >= block.first_device + block.device_count)
      continue;
    for (std::uint32_t i = members_begin_[b]; i < members_begin_[b + 1]; ++i)
      if (side_[index(gpus_[members_[i]])]) inside.push_back(members_[i]);
  }
  for (const topology::DeviceId d : devices) side_[index(d)] = 0;
  if (inside.empty() || inside.size() == n_) return;
  if (take(demand_.across(inside), out, in, kind, inside)) name_it(kind, name);
}

void FloorCuts::endpoints() {
  double all = 0;
  for (std::uint32_t m = 0; m < n_; ++m) {
    double out = 0, in = 0;
    for (const topology::LinkId l : t_.out_links(gpus_[m]))
      if (usable(l)) out += rate(l), in += rate(topology::reverse(l));
    all += out;
    const Demand d = demand_.uneven() ? demand_.across({m}) : demand_.across(1, m == call_.root);
    if (take(d, out, in, CutKind::kEndpoint, {m})) name_it(CutKind::kEndpoint, "ports of " + t_.name(gpus_[m]));
  }
  if (!can_reduce()) take_all_of(n_, all, CutKind::kAllPorts, "all ports together");
}

/// The data that a GPU reads and writes cross no cut, but need its memory for that time.
void FloorCuts::memories() {
  MachineFloor::Line& best = best_[static_cast<std::size_t>(CutKind::kMemory)];
  for (std::uint32_t m = 0; m < n_; ++m) {
    const double memory = 1e-12 * static_cast<double>(per_second(t_.device_class(gpus_[m]).memory_rate));
    const double ps = memory > 0 ? demand_.through_memory(m) / memory : 0;
    if (ps <= best.ps_per_byte * (1 + 1e-9)) continue;
    best.ps_per_byte = ps;
    name_it(CutKind::kMemory, "memory of " + t_.name(gpus_[m]));
  }
}

void FloorCuts::inside_blocks() {
  std::vector<std::pair<topology::ShapeId, std::size_t>> seen;  // shape and its ranks: usually equal
  for (std::size_t b = 0; b < used_blocks_.size(); ++b) {
    const topology::Block& block = t_.blocks()[used_blocks_[b]];
    const std::size_t ranks = members_begin_[b + 1] - members_begin_[b];
    const std::pair<topology::ShapeId, std::size_t> like{block.shape, ranks};
    if (used_blocks_.size() > 256 && std::find(seen.begin(), seen.end(), like) != seen.end()) continue;
    seen.push_back(like);
    const std::string node = fmt::format("node{}", used_blocks_[b]);
    numa_nodes(block, node);
    pcie_switches(block);
  }
}

void FloorCuts::numa_nodes(const topology::Block& block, const std::string& node) {
  std::map<std::int16_t, std::vector<topology::DeviceId>> numa;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    if (t_.numa(d) >= 0) numa[t_.numa(d)].push_back(d);
  }
  for (const auto& [k, devices] : numa)
    if (numa.size() > 1) take_devices(devices, CutKind::kNuma, fmt::format("what leaves NUMA node {} of {}", k, node));
}

/// Each switch with its devices; then each connected set of switches, as a root port sees it, with its devices.
void FloorCuts::pcie_switches(const topology::Block& block) {
  const auto is_endpoint = [&](topology::DeviceId d) {
    return t_.kind(d) == topology::DeviceKind::kGpu || t_.kind(d) == topology::DeviceKind::kNic ||
           t_.kind(d) == topology::DeviceKind::kNvme;
  };
  const auto gather = [&](topology::DeviceId first, bool whole_set) {
    std::vector<topology::DeviceId> found{first};
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (t_.kind(found[i]) != topology::DeviceKind::kPcieSwitch) continue;
      for (const topology::LinkId l : t_.out_links(found[i])) {
        const topology::DeviceId d = t_.to(l);
        const bool joins = is_endpoint(d) || (whole_set && t_.kind(d) == topology::DeviceKind::kPcieSwitch);
        if (joins && std::find(found.begin(), found.end(), d) == found.end()) found.push_back(d);
      }
    }
    return found;
  };
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    if (t_.kind(d) != topology::DeviceKind::kPcieSwitch) continue;
    take_devices(gather(d, false), CutKind::kPcieSwitch, "what leaves " + t_.name(d));
    take_devices(gather(d, true), CutKind::kPcieSwitch, fmt::format("what leaves the switches of {}", t_.name(d)));
  }
}

/// What a device of a block can send out of it and take in: the cut is on the side of its narrower links, unless it is
/// a GPU, whose own data the links inside do not carry.
FloorCuts::CableRates FloorCuts::cables_of(topology::DeviceId d) {
  CableRates cables, inside;
  for (const topology::LinkId l : t_.out_links(d)) {
    const topology::BlockId far = t_.block_of(t_.to(l));
    CableRates& side = far == t_.block_of(d) ? inside : cables;
    cabled_ |= far != t_.block_of(d) && far != kNone<topology::BlockId>;
    side.out += rate(l), side.in += rate(topology::reverse(l));
  }
  if (t_.kind(d) == topology::DeviceKind::kGpu) return cables;
  return {std::min(cables.out, inside.in), std::min(cables.in, inside.out),
          inside.in < cables.out || inside.out < cables.in};
}

void FloorCuts::blocks() {
  std::vector<std::uint32_t> inside;
  double all = 0;
  for (std::size_t b = 0; b < used_blocks_.size(); ++b) {
    double out = 0, in = 0;
    bool by_nics = false;
    const topology::Block& block = t_.blocks()[used_blocks_[b]];
    for (std::uint32_t p = 0; p < block.device_count; ++p) {
      const CableRates c = cables_of(static_cast<topology::DeviceId>(block.first_device + p));
      out += c.out, in += c.in;
      by_nics |= c.inside_is_narrower;
    }
    inside.assign(members_.begin() + members_begin_[b], members_.begin() + members_begin_[b + 1]);
    if (take(demand_.across(inside), out, in, CutKind::kNode, inside))
      name_it(CutKind::kNode, fmt::format("{} of node{}", by_nics ? "NICs" : "cables", used_blocks_[b]));
    all += out;
  }
  if (!fabric_reduces())
    take_all_of(static_cast<std::uint32_t>(used_blocks_.size()), all, CutKind::kNode, "cables of all nodes together");
}

/// Tier by tier: the cut consists of the upward links of the switches that domains share.
void FloorCuts::tiers() {
  for (std::size_t k = 0;; ++k) {
    const FloorTiers::Tier* tier = tiers_.at(k);
    if (!tier) return;
    std::map<std::uint32_t, std::vector<std::uint32_t>> inside;
    for (std::size_t b = 0; b < used_blocks_.size(); ++b) {
      auto& list = inside[tier->cluster_of[used_blocks_[b]]];
      list.insert(list.end(), members_.begin() + members_begin_[b], members_.begin() + members_begin_[b + 1]);
    }
    if (inside.size() < 2) return;
    const CutKind kind = k == 0 ? CutKind::kLeaf : CutKind::kPod;
    const auto &up = tier->up[static_cast<std::size_t>(rates_)], &down = tier->down[static_cast<std::size_t>(rates_)];
    double all = 0;
    for (const auto& [b, ranks] : inside) {
      if (take(demand_.across(ranks), up[b], down[b], kind, ranks))
        name_it(kind, fmt::format("uplinks of the {} of node{}", k == 0 ? "leaves" : "pod", b));
      all += up[b];
    }
    if (!fabric_reduces())
      take_all_of(static_cast<std::uint32_t>(inside.size()), all, kind,
                  k == 0 ? "uplinks of all leaves together" : "uplinks of all pods together");
  }
}

}  // namespace busbar::floors
