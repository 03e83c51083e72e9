#include "busbar/predict/machine_changes.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "busbar/choice/relief.h"

namespace busbar {
namespace {

/// Removes variables with this prefix from the list; returns whether there were any.
bool take_out(std::vector<std::string>& env, std::string_view begin) {
  return std::erase_if(env, [&](const std::string& v) { return v.starts_with(begin); }) > 0;
}

Cluster with_memory(const Cluster& cluster, double factor) {
  Cluster out = cluster;
  const DeviceClass& gpu = cluster.topology.device_class(cluster.topology.gpus().front());
  TopologyBuilder builder(cluster.topology);
  builder.set_gpu_memory_rate(BytesPerSecond{
      static_cast<std::uint64_t>(std::llround(static_cast<double>(per_second(gpu.memory_rate)) * factor))});
  out.topology = std::move(builder).seal();
  return out;
}

/// Whether a cable of the damage ends at a device of a node, so that the library may have chosen around it.
bool touches_a_node(const Topology& t, const Damage& d) {
  return std::any_of(d.links.begin(), d.links.end(), [&](LinkId l) {
    return t.block_of(t.from(l)) != kNone<BlockId> || t.block_of(t.to(l)) != kNone<BlockId>;
  });
}

Cluster repaired(const Cluster& cluster, const Damage& d) {
  Cluster out = cluster;
  TopologyBuilder builder(cluster.topology);
  builder.degrade(d.links, 1 / d.left, d.name);
  out.topology = std::move(builder).seal();
  return out;
}

}  // namespace

std::vector<MachineChange> machine_changes(const Cluster& cluster, const PredictPolicy& policy, bool memory) {
  constexpr double kMore = 1.1;
  std::vector<MachineChange> out;
  const auto add = [&](std::string what) -> MachineChange& {
    out.push_back({std::move(what), cluster, policy});
    return out.back();
  };
  const bool sockets = std::find(policy.env.begin(), policy.env.end(), "NCCL_IB_DISABLE=1") != policy.env.end();
  if (!cluster.gpudirect && !sockets && cluster.topology.blocks().size() > 1) {
    MachineChange& c = add("NICs access GPU memory (GPUDirect RDMA on)");
    take_out(c.policy.env, "NCCL_NET_GDR");
    c.cluster.gpudirect = c.cluster.protocol.gpudirect = true;
  }
  if (!cluster.p2p || !cluster.protocol.scale_up_access) {
    MachineChange& c = add("GPUs reach each other (P2P on)");
    take_out(c.policy.env, "NCCL_P2P");
    c.cluster.p2p = c.cluster.protocol.peer_access = c.cluster.protocol.scale_up_access = true;
  }
  if (std::vector<std::string> env = policy.env; take_out(env, "NCCL_NVLS_ENABLE=0")) {
    add("switches reduce (NVLS on)").policy.env = std::move(env);
  }
  constexpr std::size_t kFewDamages = 4;
  const auto damage = cluster.topology.damage();
  for (const Damage& d : damage) {
    if (damage.size() > kFewDamages || !touches_a_node(cluster.topology, d)) continue;
    add(repair_words(d.name, d.left)).cluster = repaired(cluster, d);
  }
  if (memory && per_second(cluster.topology.device_class(cluster.topology.gpus().front()).memory_rate) > 0) {
    MachineChange& c = add("+10 % rate of GPU memory (HBM)");
    c.cluster = with_memory(cluster, kMore);
    c.memory = true;
  }
  return out;
}

}  // namespace busbar
