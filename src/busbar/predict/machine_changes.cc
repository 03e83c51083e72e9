#include "busbar/predict/machine_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "busbar/topology/gpu_memory.h"
#include "busbar/topology/seen_damage.h"

namespace busbar::predict {
namespace {

/// Removes variables with this prefix from the list; returns whether there were any.
bool take_out(std::vector<std::string>& env, std::string_view begin) {
  return std::erase_if(env, [&](const std::string& v) { return v.starts_with(begin); }) > 0;
}

spec::Cluster with_memory(const spec::Cluster& cluster, double factor) {
  spec::Cluster out = cluster;
  const topology::DeviceClass& gpu = cluster.topology.device_class(cluster.topology.gpus().front());
  topology::TopologyBuilder builder(cluster.topology);
  builder.set_gpu_memory_rate(BytesPerSecond{
      static_cast<std::uint64_t>(std::llround(static_cast<double>(per_second(gpu.memory_rate)) * factor))});
  out.topology = std::move(builder).seal();
  return out;
}

/// Damages of one degree to cables of one class are repaired together: one alone would leave the others as slow.
using Repair = std::vector<const topology::Damage*>;

/// Worst first.
std::vector<Repair> repairs(const topology::Topology& t) {
  std::vector<Repair> out;
  for (const topology::Damage& d : t.damage()) {
    const auto like = [&](const Repair& r) {
      const topology::Damage& first = *r.front();
      return first.left == d.left && topology::is_seen(first) == topology::is_seen(d) &&
             t.link_class_index(first.links.front()) == t.link_class_index(d.links.front());
    };
    const auto same = std::find_if(out.begin(), out.end(), like);
    same == out.end() ? out.push_back({&d}) : same->push_back(&d);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Repair& a, const Repair& b) { return a.front()->left < b.front()->left; });
  return out;
}

std::string words_of(const Repair& r) {
  const std::string others = r.size() > 1 ? fmt::format(" and {} more", r.size() - 1) : "";
  std::string name = r.front()->name;
  const bool seen = topology::is_seen(*r.front());
  if (seen) name.resize(name.size() - topology::kSeen.size());
  return fmt::format("{}{} as built, not at {:.3g} %{}", name, others, 100 * r.front()->left,
                     seen ? ", which software sees" : "");
}

spec::Cluster repaired(const spec::Cluster& cluster, const Repair& repair) {
  spec::Cluster out = cluster;
  topology::TopologyBuilder builder(cluster.topology);
  for (const topology::Damage* d : repair) builder.repair(*d);
  out.topology = std::move(builder).seal();
  return out;
}

}  // namespace

std::vector<MachineChange> machine_changes(const spec::Cluster& cluster, const PredictPolicy& policy, bool memory) {
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
  constexpr std::size_t kMostRepairs = 4;  // each is a machine of its own
  std::vector<Repair> worst = repairs(cluster.topology);
  worst.resize(std::min(worst.size(), kMostRepairs));
  for (const Repair& r : worst) add(words_of(r)).cluster = repaired(cluster, r);
  if (memory && per_second(cluster.topology.device_class(cluster.topology.gpus().front()).memory_rate) > 0) {
    MachineChange& c = add("+10 % rate of " + topology::gpu_memory_in_words(cluster.topology));
    c.cluster = with_memory(cluster, kMore);
    c.memory = true;
  }
  return out;
}

}  // namespace busbar::predict
