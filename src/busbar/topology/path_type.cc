#include "busbar/topology/path_type.h"

#include <algorithm>

namespace busbar::topology {
namespace {

/// NCCL and nvidia-smi count a root port as part of the host bridge.
bool is_host(DeviceKind k) { return k == DeviceKind::kCpu || k == DeviceKind::kNuma || k == DeviceKind::kRootPort; }

/// The type of one link.
PathType reach(const Topology& t, LinkId l) {
  const LinkClass& c = t.link_class(l);
  const DeviceKind a = t.kind(t.from(l)), b = t.kind(t.to(l));
  switch (c.kind) {
    case LinkKind::kNvlink:
    case LinkKind::kXgmi:
    case LinkKind::kIci:
      return PathType::kNvl;
    case LinkKind::kC2c:
      return PathType::kC2c;
    case LinkKind::kPcie:
      if (is_host(a) || is_host(b)) return PathType::kPhb;
      return a == DeviceKind::kPcieSwitch && b == DeviceKind::kPcieSwitch ? PathType::kPxb : PathType::kPix;
    case LinkKind::kSocket:
      return PathType::kSys;
    case LinkKind::kHost:
      return PathType::kLoc;
    case LinkKind::kInfiniband:
    case LinkKind::kEthernet:
    case LinkKind::kIdeal:
      return PathType::kNet;
  }
  return PathType::kDis;
}

bool numa_differ(const Topology& t, DeviceId a, DeviceId b) {
  return t.numa(a) >= 0 && t.numa(b) >= 0 && t.numa(a) != t.numa(b);
}

/// The final type: the farthest link, corrected by the ends.
PathType settle(const Topology& t, PathType farthest, DeviceId from, DeviceId to, bool chip_to_chip) {
  if (farthest != PathType::kPhb) return farthest;
  if (chip_to_chip && (t.kind(to) == DeviceKind::kNic || t.kind(from) == DeviceKind::kNic)) return PathType::kP2c;
  return numa_differ(t, from, to) ? PathType::kSys : PathType::kPhb;
}

}  // namespace

const char* name_of(PathType type) {
  constexpr const char* kNames[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};
  return kNames[static_cast<std::size_t>(type)];
}

PathType classify(const Topology& t, std::span<const LinkId> walk) {
  if (walk.empty()) return PathType::kLoc;
  const DeviceId from = t.from(walk.front()), to = t.to(walk.back());
  if (t.block_of(from) != t.block_of(to)) return PathType::kNet;
  PathType farthest = PathType::kLoc;
  bool chip_to_chip = false;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    farthest = std::max(farthest, reach(t, walk[i]));
    chip_to_chip = chip_to_chip || t.link_class(walk[i]).kind == LinkKind::kC2c;
    if (i > 0 && t.kind(t.from(walk[i])) == DeviceKind::kGpu) {
      const bool to_nic = t.kind(to) == DeviceKind::kNic;
      farthest = std::max(farthest, to_nic ? PathType::kPxn : PathType::kNvb);
    }
  }
  return settle(t, farthest, from, to, chip_to_chip);
}

BlockPaths::BlockPaths(const Topology& t, DeviceId from, GpuRelay relay) : topology_(t), from_(from) {
  const Block& block = t.blocks()[index(t.block_of(from))];
  first_ = block.first_device;
  reached_.resize(block.device_count);
  reached_[place(from)].type = PathType::kLoc;
  std::vector<DeviceId> open{from}, next;
  while (!open.empty()) {  // repeats until nothing improves; types only grow along a path
    next.clear();
    for (const DeviceId d : open) {
      for (const LinkId l : t.out_links(d)) {
        if (t.block_of(t.to(l)) != t.block_of(from)) continue;
        const Reached found = step(reached_[place(d)], l, relay);
        Reached& best = reached_[place(t.to(l))];
        if (found.type > best.type || found.type == PathType::kDis) continue;
        if (found.type == best.type && found.hops >= best.hops) continue;
        best = found;
        next.push_back(t.to(l));
      }
    }
    std::swap(open, next);
  }
}

BlockPaths::Reached BlockPaths::step(const Reached& at, LinkId link, GpuRelay relay) const {
  const DeviceId middle = topology_.from(link);
  const DeviceKind kind = topology_.kind(middle);
  Reached out = at;
  out.hops = at.hops + 1;
  out.type = std::max(at.type, reach(topology_, link));
  out.chip_to_chip = at.chip_to_chip || topology_.link_class(link).kind == LinkKind::kC2c;
  if (middle == from_) return out;
  const bool forwards = kind != DeviceKind::kNic && kind != DeviceKind::kNvme && kind != DeviceKind::kNuma;
  if (kind == DeviceKind::kGpu) {
    const bool chips = topology_.link_class(link).kind == LinkKind::kIci;  // these forward any number of times
    const bool scale_up = at.type <= (chips ? PathType::kNvb : PathType::kNvl) && out.type <= PathType::kNvb;
    const bool passes = scale_up && (chips || at.hops == 1) && topology_.kind(topology_.to(link)) == DeviceKind::kGpu;
    out.type = passes && relay == GpuRelay::kYes ? PathType::kNvb : PathType::kDis;
  }
  if (!forwards) out.type = PathType::kDis;
  return out;
}

PathType BlockPaths::type(DeviceId to) const {
  const Reached& r = reached_[place(to)];
  return settle(topology_, r.type, from_, to, r.chip_to_chip);
}

std::uint32_t bonded_lanes(const Topology& t, DeviceId a, DeviceId b) {
  const auto into_switches = [&](DeviceId d, std::uint32_t& straight, DeviceId other) {
    std::uint32_t lanes = 0;
    for (const LinkId l : t.out_links(d)) {
      const LinkClass& c = t.link_class(l);
      if (!is_scale_up(c.kind) || c.kind == LinkKind::kC2c) continue;
      if (t.to(l) == other) straight += c.lanes;
      const DeviceKind k = t.kind(t.to(l));
      if (k == DeviceKind::kNvSwitch || k == DeviceKind::kSwitch) lanes += c.lanes;
    }
    return lanes;
  };
  std::uint32_t straight = 0, ignored = 0;
  const std::uint32_t from_a = into_switches(a, straight, b), from_b = into_switches(b, ignored, a);
  return straight > 0 ? straight : std::min(from_a, from_b);
}

}  // namespace busbar::topology
