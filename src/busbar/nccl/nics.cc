#include "busbar/nccl/internal/nics.h"

#include <algorithm>
#include <bit>
#include <map>

#include "busbar/topology/seen_damage.h"

namespace busbar {
namespace {

std::vector<DeviceId> cabled_nics(const Topology& t, const Block& block) {
  std::vector<DeviceId> out;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<DeviceId>(block.first_device + p);
    if (t.kind(d) == DeviceKind::kNic && cabled_GBps(t, d) > 0) out.push_back(d);
  }
  return out;
}

/// Most ports of one network device.
std::size_t most_ports(const NcclSettings& s) {
  if (s.merge_level == PathType::kLoc || s.version < NcclVersion{2, 20}) return 1;
  if (s.version < NcclVersion{2, 24}) return 2;
  return s.version < NcclVersion{2, 30} ? 4 : 8;
}

/// The distance of two NICs as NCCL counts it for merging. The ports of one card have distance kNvl.
PathType distance(const Topology& t, DeviceId a, DeviceId b, PathType farthest) {
  const std::int16_t card = t.template_device(a).card;
  if (card >= 0 && card == t.template_device(b).card) return PathType::kNvl;
  if (farthest <= PathType::kNvl) return PathType::kDis;  // only ports of one card may be merged
  return BlockPaths(t, a, GpuRelay::kNo).type(b);
}

/// Each NIC without a group starts one and takes all NICs near enough to it.
std::vector<NicGroup> by_distance(const Topology& t, const std::vector<DeviceId>& nics, const NcclSettings& settings) {
  const std::size_t most = most_ports(settings);
  std::vector<NicGroup> out;
  std::vector<bool> placed(nics.size(), false);
  for (std::size_t i = 0; i < nics.size(); ++i) {
    if (placed[i]) continue;
    NicGroup group{{nics[i]}, false, 1};
    for (std::size_t j = i + 1; j < nics.size() && group.ports.size() < most; ++j) {
      if (placed[j] || t.numa(nics[i]) != t.numa(nics[j])) continue;  // NCCL does not merge across NUMA nodes
      const PathType far = distance(t, nics[i], nics[j], settings.merge_level);
      if (far > settings.merge_level) continue;
      placed[j] = true;
      group.ports.push_back(nics[j]);
      group.sums_pcie = group.sums_pcie || far > PathType::kNvl;
    }
    out.push_back(std::move(group));
  }
  return out;
}

/// The NICs of `nics` with the nearest kind of path and the fewest hops from `gpu`.
std::vector<DeviceId> nearest_nics(const Topology& t, DeviceId gpu, const std::vector<DeviceId>& nics) {
  const BlockPaths paths(t, gpu, GpuRelay::kNo);
  std::vector<DeviceId> out;
  std::pair best{PathType::kDis, UINT32_MAX};
  for (const DeviceId n : nics) {
    const std::pair here{paths.type(n), paths.hops(n)};
    if (here.first == PathType::kDis || here > best) continue;
    if (here < best) out.clear();
    best = here;
    out.push_back(n);
  }
  return out;
}

/// GPUs with the same nearest NICs divide them; the first groups are larger if the numbers do not divide.
std::vector<NicGroup> by_gpu(const Topology& t, const Block& block, const std::vector<DeviceId>& nics) {
  std::map<std::vector<DeviceId>, std::size_t> sharers;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<DeviceId>(block.first_device + p);
    if (t.kind(d) == DeviceKind::kGpu) ++sharers[nearest_nics(t, d, nics)];
  }
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

double cabled_GBps(const Topology& t, DeviceId nic) {
  double rate = 0;
  for (const LinkId l : t.out_links(nic))
    if (is_fabric(t.link_class(l).kind) && t.block_of(t.to(l)) != t.block_of(nic))
      rate += static_cast<double>(per_second(t.link_class(l).wire_rate)) * seen_share(t, l);
  return rate / kGiga;
}

std::vector<NicGroup> group_nics(const Topology& t, const Block& block, const NcclSettings& settings) {
  const std::vector<DeviceId> nics = cabled_nics(t, block);
  const NicMerging merging = settings.sockets ? NicMerging::kNone : settings.merges_nics;
  if (merging == NicMerging::kByGpu) return by_gpu(t, block, nics);
  if (merging == NicMerging::kByCard) return by_distance(t, nics, settings);
  std::vector<NicGroup> alone;
  for (const DeviceId n : nics) alone.push_back({{n}, false, 1});
  return alone;
}

}  // namespace busbar
