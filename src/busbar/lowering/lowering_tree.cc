// Reduction in the network laid onto links: scale-up switches (NVLS) and trees of fabric switches (SHARP).
//
// The reducer of a domain is its scale-up switches where these reduce: then each GPU takes its share of the sum from
// them and sends it up the tree of its own NIC. Else every rank of the domain sends all it has to the switch above its
// NIC. On its way up a stream meets others of its tree and is added to them: a link between switches carries one sum
// however many ranks are below it.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/lowering/channels.h"
#include "busbar/lowering/internal/lowering_state.h"

namespace busbar {

bool reduces_beside(const Topology& topology, DeviceId gpu) {
  const auto links = topology.out_links(gpu);
  return std::any_of(links.begin(), links.end(),
                     [&](LinkId l) { return topology.device_class(topology.to(l)).reduces; });
}

/// What a schedule that reduces in the fabric has for reducers, and where.
void Lowering::State::set_trees(const CollectiveCall& call, const Schedule& s, std::uint32_t per_domain) {
  tree = {};
  if (!s.traits.reduces_in_fabric || s.reducers == 0) return;
  tree.on = true;
  tree.per_tree = s.reducers / s.channels;
  tree.per_domain = per_domain;
  tree.at_hubs = tree.per_tree == 1;  // one domain: nothing else could add up
  const std::uint32_t n = call.groups.size();
  const auto beside = [&](std::uint32_t m) {
    return reduces_beside(topology(), placement.gpu(call.groups.actor(0, m)));
  };
  bool all = per_domain > 1;
  for (std::uint32_t m = 0; m < n && all; ++m) all = beside(m);
  tree.at_hubs = tree.at_hubs || all;
  if (!switches && tree.per_tree > 1) switches.emplace(topology());
}

/// The cable from the NIC of member `m`, for the tree of the channel in hand, to its switch.
Result<LinkId> Lowering::State::uplink(const CollectiveCall& call, std::uint32_t group, std::uint32_t m) {
  const std::uint32_t rank = call.groups.actor(group, m);
  const DeviceId nic = placement.nic(rank, nic_numbers[0]);
  const LinkId l = nic == kNone<DeviceId> ? kNone<LinkId> : switches->uplink(nic);
  if (l == kNone<LinkId>)
    return unsupported(
        fmt::format("no switch above {} can reduce; choose another algorithm, or say 'reduces: true' of "
                    "the fabric's switch",
                    topology().name(placement.gpu(rank))));
  return l;
}

/// Where the trees of the channel in hand meet: one per member of a domain that sends its own share, else one.
Status Lowering::State::find_roots(const CollectiveCall& call, std::uint32_t group) {
  if (tree.group == group && tree.channel == channel && !tree.roots.empty()) return {};
  tree.group = group;
  tree.channel = channel;
  tree.roots.clear();
  const std::uint32_t n = call.groups.size(), lanes_of_tree = tree.at_hubs ? tree.per_domain : 1;
  std::vector<DeviceId> leaves;
  for (std::uint32_t lane = 0; lane < lanes_of_tree; ++lane) {
    leaves.clear();
    for (std::uint32_t m = lane; m < n; m += lanes_of_tree) {
      BUSBAR_ASSIGN(const LinkId l, uplink(call, group, m));
      leaves.push_back(topology().to(l));
    }
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    tree.roots.push_back(switches->root(leaves, channel * lanes_of_tree + lane));
    if (tree.roots.back() == kNone<DeviceId>)
      return unsupported("the switches above these ranks do not meet in one that can reduce; choose another algorithm");
  }
  return {};
}

/// Between member `m` and the switch above its NIC, `share` of the bytes.
Result<double> Lowering::State::host_leg(const CollectiveCall& call, std::uint32_t group, std::uint32_t m, bool up,
                                         double share) {
  const std::uint32_t rank = call.groups.actor(group, m);
  const DeviceId gpu = placement.gpu(rank), nic = placement.nic(rank, nic_numbers[0]);
  BUSBAR_ASSIGN(const LinkId cable, uplink(call, group, m));
  const std::size_t begin = path.size();
  BUSBAR_RETURN_IF_ERROR(up ? routes.inside(gpu, nic, path) : routes.inside(nic, gpu, path));
  path.push_back({up ? cable : reverse(cable), 1.0});
  for (std::size_t i = begin; i < path.size(); ++i) path[i].share *= share;
  return routes.latency_ps(path, begin, share);
}

/// Between the switch above member `m` and the top of its tree. A link that the tree has loaded is not loaded again.
Result<double> Lowering::State::climb_leg(const CollectiveCall& call, std::uint32_t group, std::uint32_t m, bool up,
                                          double share) {
  const std::uint32_t lane = tree.at_hubs ? m % tree.per_domain : 0;
  BUSBAR_ASSIGN(const LinkId cable, uplink(call, group, m));
  std::vector<LinkId> links;
  const std::uint32_t number = channel * static_cast<std::uint32_t>(tree.roots.size()) + lane;
  if (!switches->climb(topology().to(cable), tree.roots[lane], number, links))
    return unsupported(fmt::format("no way of switches that reduce leads from {} to {}; choose another algorithm",
                                   topology().name(topology().to(cable)), topology().name(tree.roots[lane])));
  double ps = 0;
  for (const LinkId l : links) {
    ps += table.latency_ps(l);
    const LinkId way = up ? l : reverse(l);
    if (tree.loaded.insert((std::uint64_t{index(way)} << 16) | lane).second) path.push_back({way, share});
  }
  return ps;
}

/// An edge of a SHARP tree: between a rank and its domain's reducer, or between that and the top.
Status Lowering::State::connect_tree(const CollectiveCall& call, std::uint32_t group, std::uint32_t from,
                                     std::uint32_t to, double bytes) {
  const std::uint32_t n = call.groups.size(), low = std::min(from, to), first = n + channel * tree.per_tree;
  const bool up = from < to, leaf_edge = low < n;
  if (leaf_edge && tree.at_hubs) return connect_hub(placement.gpu(call.groups.actor(group, low)), up, bytes);
  BUSBAR_RETURN_IF_ERROR(find_roots(call, group));
  Connection c{static_cast<std::uint32_t>(path.size()), 0, bytes, 0};
  c.from = Connection::kHub;
  const double share = tree.at_hubs ? 1.0 / tree.per_domain : 1.0;
  const std::uint32_t begin = leaf_edge ? low : (low - first) * tree.per_domain;
  const std::uint32_t end = leaf_edge ? low + 1 : begin + tree.per_domain;
  for (std::uint32_t m = begin; m < end; ++m) {
    double ps = 0;
    if (leaf_edge || tree.at_hubs) {
      BUSBAR_ASSIGN(const double host_ps, host_leg(call, group, m, up, share));
      ps += host_ps + static_cast<double>(protocol.step_network.in_ps());
    }
    if (!leaf_edge && tree.at_hubs) {
      const std::size_t hub = path.size();
      BUSBAR_RETURN_IF_ERROR(routes.to_switches(placement.gpu(call.groups.actor(group, m)), !up, share, path));
      ps += routes.latency_ps(path, hub, share);
    }
    if (!leaf_edge) {
      BUSBAR_ASSIGN(const double climb_ps, climb_leg(call, group, m, up, share));
      ps += climb_ps;
    }
    c.latency_ps = std::max(c.latency_ps, ps);
  }
  routes.add_limits(c.begin, up, path);
  for (std::uint32_t m = begin; m < end && (leaf_edge || tree.at_hubs); ++m)  // from the hub and on to the NIC, or back
    routes.add_memory(placement.gpu(call.groups.actor(group, m)), leaf_edge ? 1 : 2 * share, path);
  c.end = static_cast<std::uint32_t>(path.size());
  for (std::uint32_t i = c.begin; i < c.end; ++i) load(path[i], bytes);
  open_connection(c);
  return {};
}

/// To or from the reducer of a scale-up domain.
Status Lowering::State::connect_hub(DeviceId gpu, bool up, double bytes) {
  Connection c{static_cast<std::uint32_t>(path.size()), 0, bytes, 0};
  BUSBAR_ASSIGN(c.latency_ps, routes.next_to(gpu, up, path));
  c.end = static_cast<std::uint32_t>(path.size());
  for (std::uint32_t i = c.begin; i < c.end; ++i) load(path[i], bytes / protocol.share_switch);
  c.from = Connection::kHub;
  open_connection(c);
  return {};
}

}  // namespace busbar
