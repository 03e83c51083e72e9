// Which schedule a call gets, and over how many channels it is spread.
#include <algorithm>
#include <numeric>

#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering_state.h"

namespace busbar {
namespace {

/// Trees of reducing switches and their limits: as many trees as GPUs have NICs, no more than the switches hold.
void limit_trees(const CollectiveCall& call, const Topology& topology, const Placement& placement, ScheduleSpec& spec) {
  spec.message_bytes = count(call.bytes);
  for (const DeviceId d : topology.fabric_switches()) {
    const DeviceClass& c = topology.device_class(d);
    if (!c.reduces) continue;
    if (c.reduce_trees > 0) spec.max_trees = std::min(spec.max_trees, c.reduce_trees);
    if (count(c.reduce_message) > 0) spec.max_message_bytes = std::min(spec.max_message_bytes, count(c.reduce_message));
  }
  spec.channels = call.channels > 0 ? call.channels : std::min(spec.max_trees, placement.nic_channels());
}

}  // namespace

Result<Schedule> build_for_call(const CollectiveCall& call, const Topology& topology, const Placement& placement,
                                std::uint32_t per_domain, std::uint32_t most_channels) {
  ScheduleSpec spec;
  spec.algorithm = call.algorithm;
  spec.op = call.op;
  spec.ranks = call.groups.size();
  spec.ranks_per_group = per_domain;
  spec.root = call.root;
  spec.pairs = call.pairs;
  const AlgorithmTraits traits = traits_of(call.algorithm);
  if (traits.takes_orders) {
    const std::uint32_t most = most_channels == 0 ? 0 : std::max(1u, most_channels / traits.channels_per_order);
    spec.orders = ring_orders(call, topology, placement, per_domain, most);
  }
  if (traits.takes_dimensions) spec.dimensions = torus_dimensions(call, topology, placement);
  if (traits.reduces_in_fabric) limit_trees(call, topology, placement, spec);
  return build_schedule(spec);
}

/// Small calls use fewer channels than there are, at least kBytesPerChannel on each. 0: no limit.
std::uint32_t Lowering::State::most_channels(const CollectiveCall& call) const {
  const std::uint64_t filled = std::max<std::uint64_t>(1, count(call.bytes) / kBytesPerChannel);
  if (filled >= placement.nic_channels() && filled >= kFilledChannels) return protocol.max_channels;
  const auto n = static_cast<std::uint32_t>(filled);
  return protocol.max_channels == 0 ? n : std::min(n, protocol.max_channels);
}

Result<Schedule> Lowering::State::build(const CollectiveCall& call, std::uint32_t per_domain) {
  const std::uint32_t most = call.channels == 0 ? most_channels(call) : call.channels;
  return build_for_call(call, topology(), placement, per_domain, most);
}

/// As many channels as were asked for; else as many as it takes to use every NIC.
void Lowering::State::set_lanes(const CollectiveCall& call, const Schedule& s, std::uint32_t per_domain) {
  nics = call.nics.get();
  channels = s.channels;
  lane_stride = call.schedule && call.channels == 0 ? 1 : 0;
  per_order = s.traits.channels_per_order;
  const std::uint32_t turns = nics ? nics->channels : placement.nic_channels();
  const bool planned = s.families.size() > 1 && !s.families[0].order.empty();  // each order has its NIC
  lanes = 1;
  cap = 0;
  if (s.traits.reduces_in_fabric) return;  // a tree has its NIC
  if (call.channels > 0)
    lanes = std::max(1u, call.channels / channels);
  else if (call.schedule && per_domain < call.groups.size())
    lanes = nics ? 1 : turns;
  else if (!planned && !call.schedule && per_domain < call.groups.size())
    lanes = turns / std::gcd(turns, channels / per_order);
  if (const std::uint32_t most = most_channels(call); call.channels == 0 && most > 0) lanes = std::min(lanes, most);
  cap = call.channels == 0 ? 0 : lanes * static_cast<double>(per_second(protocol.channel_rate)) / kPsPerSecond;
}

PlanLanes Lowering::lanes(const CollectiveCall& call, const Schedule& schedule) {
  state_->set_lanes(call, schedule, ranks_per_domain(call, state_->topology(), state_->placement));
  return {state_->lanes, state_->lane_stride, state_->placement.nic_channels()};
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
