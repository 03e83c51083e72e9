#include "busbar/nccl/internal/nics.h"

#include <algorithm>
#include <bit>
#include <map>

#include "busbar/topology/seen_damage.h"

namespace busbar::nccl {
namespace {

std::vector<topology::DeviceId> cabled_nics(const topology::Topology& t, std::span<const topology::DeviceId> devices) {
  std::vector<topology::DeviceId> out;
  for (const topology::DeviceId d : devices)
    if (t.kind(d) == topology::DeviceKind::kNic && cabled_GBps(t, d) > 0) out.push_back(d);
  return out;
}

/// Most ports of one network device.
std::size_t most_ports(const NcclSettings& s) {
  if (s.merge_level == topology::PathType::kLoc || s.version < NcclVersion{2, 20}) return 1;
  if (s.version < NcclVersion{2, 24}) return 2;
  return s.version < NcclVersion{2, 30} ? 4 : 8;
}

/// The distance of two NICs as NCCL counts it for merging. The ports of one card have distance kNvl.
topology::PathType distance(const topology::Topology& t, topology::DeviceId a, topology::DeviceId b,
                            topology::PathType farthest) {
  const std::int16_t card = t.template_device(a).card;
  if (card >= 0 && card == t.template_device(b).card) return topology::PathType::kNvl;
  if (farthest <= topology::PathType::kNvl) return topology::PathType::kDis;  // only ports of one card may be merged
  return topology::BlockPaths(t, a, topology::GpuRelay::kNo).type(b);
}

/// Each NIC without a group starts one and takes all NICs near enough to it.
std::vector<NicGroup> by_distance(const topology::Topology& t, const std::vector<topology::DeviceId>& nics,
                                  const NcclSettings& settings) {
  const std::size_t most = most_ports(settings);
  std::vector<NicGroup> out;
  std::vector<bool> placed(nics.size(), false);
  for (std::size_t i = 0; i < nics.size(); ++i) {
    if (placed[i]) continue;
    NicGroup group{{nics[i]}, false, 1};
    for (std::size_t j = i + 1; j < nics.size() && group.ports.size() < most; ++j) {
      if (placed[j] || t.numa(nics[i]) != t.numa(nics[j])) continue;  // NCCL does not merge across NUMA nodes
      const topology::PathType far = distance(t, nics[i], nics[j], settings.merge_level);
      if (far > settings.merge_level) continue;
      placed[j] = true;
      group.ports.push_back(nics[j]);
      group.sums_pcie = group.sums_pcie || far > topology::PathType::kNvl;
    }
    out.push_back(std::move(group));
  }
  return out;
}

/// The NICs of `nics` with the nearest kind of path and the fewest hops from `gpu`.
std::vector<topology::DeviceId> nearest_nics(const topology::Topology& t, topology::DeviceId gpu,
                                             const std::vector<topology::DeviceId>& nics) {
  const topology::BlockPaths paths(t, gpu, topology::GpuRelay::kNo);
  std::vector<topology::DeviceId> out;
  std::pair best{topology::PathType::kDis, UINT32_MAX};
  for (const topology::DeviceId n : nics) {
    const std::pair here{paths.type(n), paths.hops(n)};
    if (here.first == topology::PathType::kDis || here > best) continue;
    if (here < best) out.clear();
    best = here;
    out.push_back(n);
  }
  return out;
}

/// GPUs with the same nearest NICs divide them; the first groups are larger if the numbers do not divide.
std::vector<NicGroup> by_gpu(const topology::Topology& t, std::span<const topology::DeviceId> devices,
                             const std::vector<topology::DeviceId>& nics) {
  std::map<std::vector<topology::DeviceId>, std::size_t> sharers;
  for (const topology::DeviceId d : devices)
    if (t.kind(d) == topology::DeviceKind::kGpu) ++sharers[nearest_nics(t, d, nics)];
  std::vector<NicGroup> out;
  for (const auto& [near, gpus] : sharers) {
    const std::size_t groups = std::min(gpus, near.size());
    for (std::size_t g = 0, at = 0; g < groups; ++g) {
      const std::size_t size = near.size() / groups + (g < near.size() % groups ? 1 : 0);
      const auto first = near.begin() + static_cast<std::ptrdiff_t>(at);
      out.push_back(
          {{first, first + static_cast<std::ptrdiff_t>(size)}, false, std::bit_ceil(static_cast<std::uint32_t>(size))});
      at += size;
    }
  }
  std::sort(out.begin(), out.end(),
            [](const NicGroup& a, const NicGroup& b) { return a.ports.front() < b.ports.front(); });
  return out;
}

}  // namespace

double cabled_GBps(const topology::Topology& t, topology::DeviceId nic) {
  double rate = 0;
  for (const topology::LinkId l : t.out_links(nic))
    if (topology::is_fabric(t.link_class(l).kind) && t.block_of(t.to(l)) != t.block_of(nic))
      rate += static_cast<double>(per_second(t.link_class(l).wire_rate)) * topology::seen_share(t, l);
  return rate / kGiga;
}

std::vector<NicGroup> group_nics(const topology::Topology& t, std::span<const topology::DeviceId> devices,
                                 const NcclSettings& settings) {
  const std::vector<topology::DeviceId> nics = cabled_nics(t, devices);
  const topology::NicMerging merging = settings.sockets ? topology::NicMerging::kNone : settings.merges_nics;
  if (merging == topology::NicMerging::kByGpu) return by_gpu(t, devices, nics);
  if (merging == topology::NicMerging::kByCard) return by_distance(t, nics, settings);
  std::vector<NicGroup> alone;
  for (const topology::DeviceId n : nics) alone.push_back({{n}, false, 1});
  return alone;
}

}  // namespace busbar::nccl
