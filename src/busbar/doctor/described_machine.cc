#include "busbar/doctor/described_machine.h"

#include <fmt/core.h>

#include <optional>

#include "busbar/topology/path_type.h"

namespace busbar {
namespace {

/// The distance of the nearest NIC; empty if the block has none.
std::optional<PathType> nearest_nic(const Topology& t, DeviceId gpu) {
  const BlockPaths paths(t, gpu, GpuRelay::kNo);
  std::optional<PathType> best;
  for (std::uint32_t d = 0; d < t.device_count(); ++d) {
    const DeviceId other{d};
    if (t.kind(other) != DeviceKind::kNic || t.block_of(other) != t.block_of(gpu)) continue;
    const PathType type = paths.type(other);
    if (!best || type < *best) best = type;
  }
  return best;
}

double scale_up_rate(const Topology& t, DeviceId gpu) {
  double out = 0;
  for (const LinkId l : t.out_links(gpu))
    if (is_scale_up(t.link_class(l).kind)) out += t.payload_rate(l);
  return out;
}

}  // namespace

std::string describe_machine(const Cluster& cluster) {
  const Topology& t = cluster.topology;
  std::string out = fmt::format("machine {}: {} GPUs\n", cluster.name, t.gpus().size());
  if (!cluster.fabric.network.empty()) out += fmt::format("machine network: {}\n", cluster.fabric.network);
  if (!cluster.fabric.switches.empty())
    out += fmt::format("machine over-subscription: {:g}\n", cluster.fabric.oversubscription);
  for (const DeviceId gpu : t.gpus()) {
    if (t.block_of(gpu) != t.block_of(t.gpus().front())) continue;
    if (const auto nic = nearest_nic(t, gpu))
      out += fmt::format("machine part {} has its nearest NIC at distance {}\n", t.name(gpu), name_of(*nic));
  }
  for (const DeviceId gpu : t.gpus())
    if (const double rate = scale_up_rate(t, gpu); rate > 0)
      out += fmt::format("machine part {} has {:.4g} GB/s of scale-up links\n", t.name(gpu), rate / 1e9);
  return out;
}

}  // namespace busbar
