#include "busbar/lowering/internal/switch_trees.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/lowering/channels.h"

namespace busbar::lowering {

bool has_reducing_switch(const topology::Topology& topology, topology::DeviceId gpu) {
  const auto links = topology.out_links(gpu);
  return std::any_of(links.begin(), links.end(),
                     [&](topology::LinkId l) { return topology.device_class(topology.to(l)).reduces; });
}

void SwitchTrees::begin(const program::CollectiveCall& call, const collectives::Schedule& s, std::uint32_t per_domain) {
  call_ = &call;
  roots_.at.clear();
  on_ = s.traits.reduces_in_fabric && s.reducers > 0;
  if (!on_) return;
  per_tree_ = s.reducers / s.channels;
  per_domain_ = per_domain;
  at_hubs_ = per_tree_ == 1;  // one domain: nothing else could add up
  const topology::Topology& t = machine_.topology();
  bool all = per_domain > 1;
  for (std::uint32_t m = 0; m < call.groups.size() && all; ++m) all = has_reducing_switch(t, gpu(0, m));
  at_hubs_ = at_hubs_ || all;
  if (!switches_ && per_tree_ > 1) switches_.emplace(t);
}

void SwitchTrees::begin_run(std::uint32_t channel, std::uint32_t nic) {
  channel_ = channel;
  nic_ = nic;
  loaded_.clear();
}

/// The cable from the NIC of member `m`, for the tree of the channel, to its switch.
Result<topology::LinkId> SwitchTrees::uplink(std::uint32_t group, std::uint32_t m) const {
  const topology::DeviceId nic = machine_.placement.nic(call_->groups.actor(group, m), nic_);
  const topology::LinkId l = nic == kNone<topology::DeviceId> ? kNone<topology::LinkId> : switches_->uplink(nic);
  if (l == kNone<topology::LinkId>)
    return unsupported(
        fmt::format("no switch above {} can reduce; choose another algorithm, or say 'reduces: true' of "
                    "the fabric's switch",
                    machine_.topology().name(gpu(group, m))));
  return l;
}

/// Where the trees of the channel meet: one per member of a domain that sends its own share, else one.
Status SwitchTrees::find_roots(std::uint32_t group) {
  if (roots_.group == group && roots_.channel == channel_ && !roots_.at.empty()) return {};
  roots_.group = group;
  roots_.channel = channel_;
  roots_.at.clear();
  const std::uint32_t n = call_->groups.size(), lanes_of_tree = at_hubs_ ? per_domain_ : 1;
  std::vector<topology::DeviceId> leaves;
  for (std::uint32_t lane = 0; lane < lanes_of_tree; ++lane) {
    leaves.clear();
    for (std::uint32_t m = lane; m < n; m += lanes_of_tree) {
      BUSBAR_ASSIGN(const topology::LinkId l, uplink(group, m));
      leaves.push_back(machine_.topology().to(l));
    }
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    roots_.at.push_back(switches_->root(leaves, channel_ * lanes_of_tree + lane));
    if (roots_.at.back() == kNone<topology::DeviceId>)
      return unsupported("the switches above these ranks do not meet in one that can reduce; choose another algorithm");
  }
  return {};
}

/// Between member `m` and the switch above its NIC, `share` of the bytes.
Result<double> SwitchTrees::host_leg(std::uint32_t group, std::uint32_t m, bool up, double share,
                                     std::vector<routing::CapacityShare>& path) {
  const topology::DeviceId at = gpu(group, m), nic = machine_.placement.nic(call_->groups.actor(group, m), nic_);
  BUSBAR_ASSIGN(const topology::LinkId cable, uplink(group, m));
  const std::size_t begin = path.size();
  BUSBAR_RETURN_IF_ERROR(up ? routes_.inside(at, nic, path) : routes_.inside(nic, at, path));
  path.push_back({up ? cable : topology::reverse(cable), 1.0});
  for (std::size_t i = begin; i < path.size(); ++i) path[i].share *= share;
  return routes_.latency_ps(path, begin, share);
}

/// Between the switch above member `m` and the top of its tree. A link that the tree has loaded is not loaded again.
Result<double> SwitchTrees::climb_leg(std::uint32_t group, std::uint32_t m, bool up, double share,
                                      std::vector<routing::CapacityShare>& path) {
  const std::uint32_t lane = at_hubs_ ? m % per_domain_ : 0;
  BUSBAR_ASSIGN(const topology::LinkId cable, uplink(group, m));
  std::vector<topology::LinkId> links;
  const std::uint32_t number = channel_ * static_cast<std::uint32_t>(roots_.at.size()) + lane;
  const topology::Topology& t = machine_.topology();
  if (!switches_->climb(t.to(cable), roots_.at[lane], number, links))
    return unsupported(fmt::format("no way of switches that reduce leads from {} to {}; choose another algorithm",
                                   t.name(t.to(cable)), t.name(roots_.at[lane])));
  double ps = 0;
  for (const topology::LinkId l : links) {
    ps += machine_.table.latency_ps(l);
    const topology::LinkId way = up ? l : topology::reverse(l);
    if (loaded_.insert((std::uint64_t{index(way)} << 16) | lane).second) path.push_back({way, share});
  }
  return ps;
}

/// Between a rank and its domain's reducer, or between that and the top.
Result<double> SwitchTrees::edge(std::uint32_t group, std::uint32_t from, std::uint32_t to,
                                 std::vector<routing::CapacityShare>& path) {
  const std::uint32_t n = call_->groups.size(), low = std::min(from, to), first = n + channel_ * per_tree_;
  const bool up = from < to, leaf_edge = low < n;
  BUSBAR_RETURN_IF_ERROR(find_roots(group));
  double latency_ps = 0;
  const std::size_t path_begin = path.size();
  const double share = at_hubs_ ? 1.0 / per_domain_ : 1.0;
  const std::uint32_t begin = leaf_edge ? low : (low - first) * per_domain_;
  const std::uint32_t end = leaf_edge ? low + 1 : begin + per_domain_;
  for (std::uint32_t m = begin; m < end; ++m) {
    double ps = 0;
    if (leaf_edge || at_hubs_) {
      BUSBAR_ASSIGN(const double host_ps, host_leg(group, m, up, share, path));
      ps += host_ps + static_cast<double>(machine_.protocol.step_network.in_ps());
    }
    if (!leaf_edge && at_hubs_) {
      const std::size_t hub = path.size();
      BUSBAR_RETURN_IF_ERROR(routes_.to_switches(gpu(group, m), !up, share, path));
      ps += routes_.latency_ps(path, hub, share);
    }
    if (!leaf_edge) {
      BUSBAR_ASSIGN(const double climb_ps, climb_leg(group, m, up, share, path));
      ps += climb_ps;
    }
    latency_ps = std::max(latency_ps, ps);
  }
  routes_.add_limits(path_begin, up, path);
  for (std::uint32_t m = begin; m < end && (leaf_edge || at_hubs_); ++m)  // from the hub and on to the NIC, or back
    routes_.add_memory(gpu(group, m), leaf_edge ? 1 : 2 * share, path);
  return latency_ps;
}

}  // namespace busbar::lowering
