// Cuts between the devices on the two sides of a link, of machines with more ranks than all of whose sets are tried.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/floors/internal/floor_cuts.h"

namespace busbar::floors {
namespace {

/// The links at which machines are cut: all of few devices, evenly drawn. Tori have a link of every dimension at each.
constexpr std::size_t kMostDevices = 16;
/// Devices and links that all searches together may visit: some 20 ms.
constexpr std::size_t kMostVisits = 2'000'000;

/// Hops from one device to all others that are joined with it.
class Hops {
 public:
  Hops(const topology::Topology& t, const std::vector<std::uint8_t>& joins) : t_(t), joins_(joins) {}

  /// kNone32 for a device that is not reached.
  std::vector<std::uint32_t> from(topology::DeviceId start) const {
    std::vector<std::uint32_t> hops(t_.device_count(), kNone32);
    std::vector<topology::DeviceId> reached{start};
    hops[index(start)] = 0;
    for (std::size_t i = 0; i < reached.size(); ++i)
      for (const topology::LinkId l : t_.out_links(reached[i])) {
        const topology::DeviceId next = t_.to(l);
        if (t_.failed(l) || !joins_[index(next)] || hops[index(next)] != kNone32) continue;
        hops[index(next)] = hops[index(reached[i])] + 1;
        reached.push_back(next);
      }
    return hops;
  }

 private:
  const topology::Topology& t_;
  const std::vector<std::uint8_t>& joins_;
};

}  // namespace

bool FloorCuts::meshed(topology::DeviceId d) const {
  if (t_.kind(d) != topology::DeviceKind::kGpu && t_.block_of(d) != kNone<topology::BlockId>) return false;
  const auto links = t_.out_links(d);
  return std::any_of(links.begin(), links.end(), [&](topology::LinkId l) { return t_.kind(t_.to(l)) == t_.kind(d); });
}

/// For links a - b, the devices that fewer hops join with a than with b: half of a torus of even size, one side of an
/// open one, the group of a dragonfly. Where switches join all devices in a tree, the sides are those of other cuts.
void FloorCuts::halves() {
  std::vector<std::uint8_t> joins(t_.device_count(), 0);
  std::vector<topology::DeviceId> starts;
  std::size_t size = 0;
  const auto join = [&](topology::DeviceId d) {
    joins[index(d)] = 1;
    size += 1 + t_.out_links(d).size();
  };
  for (const std::uint32_t b : used_blocks_)
    for (std::uint32_t p = 0; p < t_.blocks()[b].device_count; ++p)
      join(static_cast<topology::DeviceId>(t_.blocks()[b].first_device + p));
  if (!one_block_) std::for_each(t_.fabric_switches().begin(), t_.fabric_switches().end(), join);
  for (std::uint32_t d = 0; d < t_.device_count(); ++d)
    if (const auto id = static_cast<topology::DeviceId>(d); joins[d] && meshed(id)) starts.push_back(id);
  // One more than the even step, so that a mesh is cut along its diagonal and not in one column.
  const std::size_t step = starts.size() > kMostDevices ? starts.size() / kMostDevices + 1 : 1;
  std::size_t visits = 0;
  for (std::size_t i = 0; i < starts.size(); i += step) {
    if ((visits += size) > kMostVisits) return;
    const std::vector<std::uint32_t> near = Hops(t_, joins).from(starts[i]);
    for (const topology::LinkId l : t_.out_links(starts[i])) {
      if (t_.failed(l) || t_.kind(t_.to(l)) != t_.kind(starts[i]) || !joins[index(t_.to(l))]) continue;
      if ((visits += size) > kMostVisits) return;
      take_half(l, near, Hops(t_, joins).from(t_.to(l)));
    }
  }
}

/// Offers the devices nearer to the start of `link` than to its end.
void FloorCuts::take_half(topology::LinkId link, const std::vector<std::uint32_t>& from_start,
                          const std::vector<std::uint32_t>& from_end) {
  const auto inside = [&](topology::DeviceId d) { return from_start[index(d)] < from_end[index(d)]; };
  std::vector<std::uint32_t> members;
  for (std::uint32_t m = 0; m < n_; ++m)
    if (inside(gpus_[m])) members.push_back(m);
  if (members.empty() || members.size() == n_) return;
  double out = 0, in = 0;
  for (std::uint32_t d = 0; d < t_.device_count(); ++d)
    if (const auto id = static_cast<topology::DeviceId>(d); inside(id))
      for (const topology::LinkId l : t_.out_links(id))
        if (!inside(t_.to(l)) && usable(l)) out += rate(l), in += rate(topology::reverse(l));
  if (take(demand_.across(members), out, in, CutKind::kRanks, members))
    name_it(CutKind::kRanks,
            fmt::format("what leaves the half of {} towards {}", t_.name(t_.from(link)), t_.name(t_.to(link))));
}

}  // namespace busbar::floors
