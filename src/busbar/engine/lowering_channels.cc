// Which schedule a call gets, and over how many channels it is spread.
#include <algorithm>
#include <numeric>

#include "busbar/engine/channels.h"
#include "busbar/engine/lowering_state.h"

namespace busbar {
namespace {

constexpr double kPsPerSecond = 1e12;

}  // namespace

/// Small calls use fewer channels than there are, at least this much on each (NVIDIA NCCL 2.30.7, src/enqueue.cc: 512
/// threads of 8 bytes, the least of all protocols). 0: no limit.
std::uint32_t Lowering::State::most_channels(const CollectiveCall& call) const {
  constexpr std::uint64_t kLeastPerChannel = 4096;
  const std::uint64_t filled = std::max<std::uint64_t>(1, count(call.bytes) / kLeastPerChannel);
  if (filled >= placement.nic_channels() && filled >= 64) return protocol.max_channels;
  const auto n = static_cast<std::uint32_t>(filled);
  return protocol.max_channels == 0 ? n : std::min(n, protocol.max_channels);
}

Result<Schedule> Lowering::State::build(const CollectiveCall& call, std::uint32_t per_domain) {
  ScheduleSpec spec;
  spec.algorithm = call.algorithm;
  spec.op = call.op;
  spec.ranks = call.groups.size();
  spec.ranks_per_group = per_domain;
  spec.root = call.root;
  spec.pairs = call.pairs;
  const std::uint32_t per_order = call.algorithm == "tree" ? 2 : 1;  // a tree comes with its mate
  const std::uint32_t most = call.channels == 0 ? most_channels(call) : call.channels;
  if (call.algorithm == "ring" || call.algorithm == "tree")
    spec.orders = ring_orders(call, topology(), placement, per_domain, most == 0 ? 0 : std::max(1u, most / per_order));
  if (call.algorithm == "sharp") limit_trees(call, topology(), placement, spec);
  return build_schedule(spec);
}

/// As many channels as were asked for; else as many as it takes to use every NIC.
void Lowering::State::set_lanes(const CollectiveCall& call, const Schedule& s, std::uint32_t per_domain) {
  channels = s.channels;
  lane_stride = call.schedule && call.channels == 0 ? 1 : 0;
  per_order = !call.schedule && s.algorithm == "tree" ? 2 : 1;
  const bool planned = s.families.size() > 1 && !s.families[0].order.empty();  // each order has its NIC
  lanes = 1;
  cap = 0;
  if (s.algorithm == "sharp") return;  // a tree has its NIC
  if (call.channels > 0)
    lanes = std::max(1u, call.channels / channels);
  else if (call.schedule && per_domain < call.groups.size())
    lanes = placement.nic_channels();
  else if (!planned && !call.schedule && per_domain < call.groups.size())
    lanes = placement.nic_channels() / std::gcd(placement.nic_channels(), channels / per_order);
  if (const std::uint32_t most = most_channels(call); call.channels == 0 && most > 0) lanes = std::min(lanes, most);
  cap = call.channels == 0 ? 0 : lanes * static_cast<double>(per_second(protocol.channel_rate)) / kPsPerSecond;
}

std::uint32_t ranks_per_domain(const CollectiveCall& call, const Topology& topology, const Placement& placement) {
  const std::uint32_t n = call.groups.size();
  const auto block = [&](std::uint32_t group, std::uint32_t member) {
    return topology.block_of(placement.gpu(call.groups.actor(group, member)));
  };
  std::uint32_t run = 1;
  while (run < n && block(0, run) == block(0, 0)) ++run;
  if (n % run != 0) return 1;
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < n; ++m)
      if ((block(g, m) == block(g, m - m % run)) != true || (m % run == 0 && m > 0 && block(g, m) == block(g, m - 1)))
        return 1;
  return run;
}

}  // namespace busbar
