#include "busbar/lowering/send_routes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/lowering/send_costs.h"
#include "busbar/routing/flow_name.h"
#include "busbar/routing/path_view.h"

namespace busbar::lowering {

Result<double> SendRoutes::between(const SendEnds& send, program::Protocol protocol,
                                   std::vector<routing::CapacityShare>& path) {
  const topology::DeviceId a = placement_.gpu(send.from), b = placement_.gpu(send.to);
  const std::size_t begin = path.size();
  bool staged = false;
  if (topology().block_of(a) == topology().block_of(b)) {
    BUSBAR_ASSIGN(staged, straight_or_staged(a, b, path));
  } else {
    BUSBAR_RETURN_IF_ERROR(across(send, path));
  }
  const Duration overhead = send_overhead(costs_of(protocol_, protocol), topology(), a, b,
                                          std::span<const routing::CapacityShare>(path).subspan(begin));
  const double ps = latency_ps(path, begin, 1);
  const auto host = [&](topology::DeviceId d) { return topology().kind(d) == topology::DeviceKind::kNuma; };
  if (staged || host(a) || host(b)) share_memory_bus(begin, path);
  add_limits(begin, false, path);
  if (staged) share_host_way(begin, path);
  add_memory(a, 1, path);
  add_memory(b, send.arrival_cost, path);
  return ps + static_cast<double>(overhead.in_ps());
}

Result<double> SendRoutes::next_to(topology::DeviceId gpu, bool up, program::Protocol protocol,
                                   std::vector<routing::CapacityShare>& path) {
  const program::ProtocolCosts costs = costs_of(protocol_, protocol);
  const std::size_t begin = path.size();
  BUSBAR_RETURN_IF_ERROR(to_switches(gpu, up, 1.0, path));
  const double ps = latency_ps(path, begin, 1);
  add_limits(begin, up, path);
  add_memory(gpu, costs.share_switch, path);  // whose loads count 1 / share_switch times
  return ps + static_cast<double>(costs.step_switch.in_ps());
}

Status SendRoutes::to_switches(topology::DeviceId gpu, bool up, double share,
                               std::vector<routing::CapacityShare>& path) {
  double total = 0;
  const auto reduces = [&](topology::LinkId l) { return topology().device_class(topology().to(l)).reduces; };
  for (const topology::LinkId l : topology().out_links(gpu))
    if (reduces(l)) total += table_.rate(l);
  if (total == 0)
    return unsupported(
        fmt::format("no switch next to {} can reduce; choose another algorithm, or say 'reduces: true' of the switch",
                    topology().name(gpu)));
  for (const topology::LinkId l : topology().out_links(gpu))
    if (reduces(l)) path.push_back({up ? l : topology::reverse(l), share * table_.rate(l) / total});
  return {};
}

double SendRoutes::latency_ps(std::span<const routing::CapacityShare> path, std::size_t begin, double whole) const {
  double ps = 0;
  for (std::size_t i = begin; i < path.size(); ++i) ps += path[i].share / whole * table_.latency_ps(path[i].on);
  return ps;
}

void SendRoutes::add_limits(std::size_t begin, bool adds, std::vector<routing::CapacityShare>& path) const {
  const std::size_t end = path.size();
  for (std::size_t i = begin; i < end; ++i) {
    if (!path[i].on.is_link()) continue;  // between switches without limits
    const topology::DeviceId d = topology().to(path[i].on.link());
    if (table_.limited(d) && topology().kind(d) != topology::DeviceKind::kGpu &&
        (adds || !topology().device_class(d).reduces))
      path.push_back({routing::CapacityId::limit_of(d), path[i].share});
  }
}

void SendRoutes::share_host_way(std::size_t begin, std::vector<routing::CapacityShare>& path) const {
  const double other = 1 / protocol_.staged_both_ways - 1;
  const std::size_t end = path.size();
  const auto gpu = [&](topology::DeviceId d) { return topology().kind(d) == topology::DeviceKind::kGpu; };
  for (std::size_t i = begin; i < end && other > 0; ++i) {
    const topology::LinkId l = path[i].on.link();
    if (path[i].on.is_link() && (gpu(topology().from(l)) || gpu(topology().to(l))))
      path.push_back({topology::reverse(l), path[i].share * other});
  }
}

void SendRoutes::share_memory_bus(std::size_t begin, std::vector<routing::CapacityShare>& path) const {
  for (std::size_t i = begin; i < path.size(); ++i) path[i].on = memory_bus(path[i].on);
}

routing::CapacityId SendRoutes::memory_bus(routing::CapacityId on) const {
  if (!on.is_link()) return on;
  const topology::LinkId l = on.link();
  const bool read = topology().link_class(l).kind == topology::LinkKind::kHost &&
                    topology().kind(topology().from(l)) == topology::DeviceKind::kNuma;
  return read ? routing::CapacityId(topology::reverse(l)) : on;
}

void SendRoutes::add_memory(topology::DeviceId gpu, double bytes, std::vector<routing::CapacityShare>& path) const {
  if (table_.limited(gpu)) path.push_back({routing::CapacityId::limit_of(gpu), bytes});
}

topology::DeviceId SendRoutes::host_memory(topology::DeviceId gpu) {
  const auto [entry, fresh] = host_of_.try_emplace(gpu, kNone<topology::DeviceId>);
  if (fresh) entry->second = routing::nearest_memory(router_, gpu);
  return entry->second;
}

Status SendRoutes::inside(topology::DeviceId a, topology::DeviceId b, std::vector<routing::CapacityShare>& path) {
  links_.clear();
  BUSBAR_RETURN_IF_ERROR(router_.spread(a, b, kNone<topology::DeviceId>, kNone<topology::DeviceId>, 0, links_));
  for (const routing::LinkShare& l : links_) path.push_back({l.link, l.share});
  return {};
}

/// Inside a server. Data that cross links without peer access are written to host memory and read from there.
Result<bool> SendRoutes::straight_or_staged(topology::DeviceId a, topology::DeviceId b,
                                            std::vector<routing::CapacityShare>& path) {
  const std::size_t begin = path.size();
  BUSBAR_RETURN_IF_ERROR(inside(a, b, path));
  const auto denied = [&](const routing::CapacityShare& s) {
    const topology::LinkKind kind = topology().link_class(s.on.link()).kind;
    return (!protocol_.peer_access && topology::is_in_server(kind)) ||
           (!protocol_.scale_up_access && topology::is_scale_up(kind));
  };
  const bool staged = std::any_of(path.begin() + static_cast<std::ptrdiff_t>(begin), path.end(), denied);
  const topology::DeviceId host = staged ? host_memory(a) : kNone<topology::DeviceId>;
  if (host == kNone<topology::DeviceId>) return false;
  path.resize(begin);
  BUSBAR_RETURN_IF_ERROR(inside(a, host, path));
  BUSBAR_RETURN_IF_ERROR(inside(host, b, path));
  return true;
}

/// Between servers: by each of the NICs, and by each port of these as a flow of its own.
Status SendRoutes::across(const SendEnds& send, std::vector<routing::CapacityShare>& path) {
  const auto nics = static_cast<std::uint32_t>(send.nics.size());
  for (const std::uint32_t nic : send.nics) {
    find_crossings(router_, placement_, send.chosen, send.from, send.to, nic, crossings_);
    const std::size_t begin = path.size();
    const auto ways = static_cast<std::uint32_t>(crossings_.size());
    const topology::DeviceId a = placement_.gpu(send.from), b = placement_.gpu(send.to);
    for (std::uint32_t i = 0; i < ways; ++i)
      BUSBAR_RETURN_IF_ERROR(cross_by(crossings_[i], send, routing::flow_name(a, b, nic * ways + i), path));
    for (std::size_t i = begin; nics * ways > 1 && i < path.size(); ++i) path[i].share /= nics * ways;
  }
  return {};
}

Status SendRoutes::cross_by(const Crossing& way, const SendEnds& send, std::uint64_t flow,
                            std::vector<routing::CapacityShare>& path) {
  const topology::DeviceId a = placement_.gpu(send.from), b = placement_.gpu(send.to);
  const topology::DeviceId host_a = protocol_.gpudirect ? kNone<topology::DeviceId> : host_memory(a);
  const topology::DeviceId host_b = protocol_.gpudirect ? kNone<topology::DeviceId> : host_memory(b);
  if (host_a == kNone<topology::DeviceId> || host_b == kNone<topology::DeviceId>) {
    if (way.gpu != a) BUSBAR_RETURN_IF_ERROR(inside(a, way.gpu, path));
    return spread(way.gpu, b, way, flow, send.bias, path);
  }
  const std::size_t begin = path.size();
  BUSBAR_RETURN_IF_ERROR(inside(a, host_a, path));
  BUSBAR_RETURN_IF_ERROR(spread(host_a, host_b, way, flow, send.bias, path));
  BUSBAR_RETURN_IF_ERROR(inside(host_b, b, path));
  share_memory_bus(begin, path);
  return {};
}

Status SendRoutes::spread(topology::DeviceId a, topology::DeviceId b, const Crossing& way, std::uint64_t flow,
                          const routing::SplitBias& bias, std::vector<routing::CapacityShare>& path) {
  if (table_.bundles()) return router_.spread_bundled(a, b, way.nic_from, way.nic_to, path);
  links_.clear();
  BUSBAR_RETURN_IF_ERROR(router_.spread(a, b, way.nic_from, way.nic_to, flow, links_, bias));
  for (const routing::LinkShare& l : links_) path.push_back({l.link, l.share});
  return {};
}

}  // namespace busbar::lowering
