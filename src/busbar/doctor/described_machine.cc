#include "busbar/doctor/described_machine.h"

#include <fmt/core.h>

#include <optional>

#include "busbar/topology/path_type.h"

namespace busbar::doctor {
namespace {

/// The distance of the nearest NIC; empty if the block has none.
std::optional<topology::PathType> nearest_nic(const topology::Topology& t, topology::DeviceId gpu) {
  const topology::BlockPaths paths(t, gpu, topology::GpuRelay::kNo);
  std::optional<topology::PathType> best;
  for (std::uint32_t d = 0; d < t.device_count(); ++d) {
    const topology::DeviceId other{d};
    if (t.kind(other) != topology::DeviceKind::kNic || t.block_of(other) != t.block_of(gpu)) continue;
    const topology::PathType type = paths.type(other);
    if (!best || type < *best) best = type;
  }
  return best;
}

double scale_up_rate(const topology::Topology& t, topology::DeviceId gpu) {
  double out = 0;
  for (const topology::LinkId l : t.out_links(gpu))
    if (topology::is_scale_up(t.link_class(l).kind)) out += t.payload_rate(l);
  return out;
}

}  // namespace

std::string describe_machine(const spec::Cluster& cluster) {
  const topology::Topology& t = cluster.topology;
  std::string out = fmt::format("machine {}: {} GPUs\n", cluster.name, t.gpus().size());
  if (!cluster.fabric.network.empty()) out += fmt::format("machine network: {}\n", cluster.fabric.network);
  if (!cluster.fabric.switches.empty())
    out += fmt::format("machine over-subscription: {:g}\n", cluster.fabric.oversubscription);
  for (const topology::DeviceId gpu : t.gpus()) {
    if (t.block_of(gpu) != t.block_of(t.gpus().front())) continue;
    if (const auto nic = nearest_nic(t, gpu))
      out += fmt::format("machine part {} has its nearest NIC at distance {}\n", t.name(gpu), topology::name_of(*nic));
  }
  for (const topology::DeviceId gpu : t.gpus())
    if (const double rate = scale_up_rate(t, gpu); rate > 0)
      out += fmt::format("machine part {} has {:.4g} GB/s of scale-up links\n", t.name(gpu), rate / 1e9);
  return out;
}

}  // namespace busbar::doctor
