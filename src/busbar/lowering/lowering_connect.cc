#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/lowering/lowering_state.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/routing/flow_name.h"

namespace busbar {

/// Bytes for now; emit() divides by the busiest connection's.
void Lowering::State::load(const CapacityShare& l, double bytes) {
  double& w = weight[l.on];
  if (w == 0) touched.push_back(l.on);
  w += l.share * bytes * bytes_sent;
}

void Lowering::State::cross(const CapacityShare& l, double bytes, Connection& c) {
  load(l, bytes);
  if (!l.on.is_device()) c.latency_ps += l.share * table.latency_ps(l.on);  // shares of one hop sum to 1
}

void Lowering::State::open_connection(const Connection& c) {
  connections.push_back(c);
  if (c.bytes == 0) return;
  for (std::uint32_t i = c.begin; i < c.end; ++i) {
    double& least = least_latency[path[i].on];
    if (least == INFINITY) latency_touched.push_back(path[i].on);
    least = std::min(least, c.latency_ps);
  }
}

/// Appends the limits of the devices that path[begin..) enters; those of adders only where it is added up there, and
/// those of GPUs not at all: what passes a GPU on its way does not touch its memory.
void Lowering::State::add_units(std::size_t begin, bool adds) {
  const std::size_t end = path.size();
  for (std::size_t i = begin; i < end; ++i) {
    if (!path[i].on.is_link()) continue;  // between switches without limits
    const DeviceId d = topology().to(path[i].on.link());
    if (table.limited(d) && topology().kind(d) != DeviceKind::kGpu && (adds || !topology().device_class(d).reduces))
      path.push_back({CapacityId::limit_of(d), path[i].share});
  }
}

/// For phases [first, last), which cross the same edges. A byte that arrives is written; where it is added, its
/// receiver reads its own byte as well.
void Lowering::State::set_arrival_cost(const Schedule& s, std::uint32_t first, std::uint32_t last) {
  double sum = 0;
  for (std::uint32_t p = first; p < last; ++p) sum += adds_at_ranks(s.phases[p].pattern) ? 2 : 1;
  arrival_cost = sum / (last - first);
}

/// Appends the memory of `gpu` to the path in the making: it moves `bytes` for every byte on the path.
void Lowering::State::add_memory(DeviceId gpu, double bytes) {
  if (table.limited(gpu)) path.push_back({CapacityId::limit_of(gpu), bytes});
}

Status Lowering::State::connect(const CollectiveCall& call, std::uint32_t group, std::uint32_t from, std::uint32_t to,
                                double bytes) {
  const std::uint32_t n = call.groups.size();
  if (from >= n || to >= n) {
    if (tree.on) return connect_tree(call, group, from, to, bytes);
    return connect_hub(placement.gpu(call.groups.actor(group, std::min(from, to))), to >= n, bytes);
  }
  const std::uint32_t rank_a = call.groups.actor(group, from), rank_b = call.groups.actor(group, to);
  const DeviceId a = placement.gpu(rank_a), b = placement.gpu(rank_b);
  Connection c{static_cast<std::uint32_t>(path.size()), 0, bytes, 0};
  c.from = from;
  if (topology().block_of(a) == topology().block_of(b)) {
    BUSBAR_RETURN_IF_ERROR(inside(a, b));
  } else {
    BUSBAR_RETURN_IF_ERROR(across(rank_a, rank_b));
  }
  const Duration overhead = send_overhead(costs_of(protocol, call.protocol), topology(), a, b,
                                          std::span<const CapacityShare>(path).subspan(c.begin));
  add_units(c.begin, false);
  add_memory(a, 1);
  add_memory(b, arrival_cost);
  c.end = static_cast<std::uint32_t>(path.size());
  for (std::uint32_t i = c.begin; i < c.end; ++i) cross(path[i], bytes, c);
  c.latency_ps += static_cast<double>(overhead.in_ps());
  open_connection(c);
  return {};
}

/// The memory that `gpu` stages in: the NUMA node with the fewest hops, the first of several; kNone: there is none.
DeviceId Lowering::State::host_memory(DeviceId gpu) {
  const auto [entry, fresh] = host_of.try_emplace(gpu, kNone<DeviceId>);
  if (!fresh) return entry->second;
  const Block& block = topology().blocks()[index(topology().block_of(gpu))];
  double fewest = INFINITY;
  std::vector<LinkShare> way;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<DeviceId>(block.first_device + p);
    way.clear();
    if (topology().kind(d) != DeviceKind::kNuma ||
        !router.spread(gpu, d, kNone<DeviceId>, kNone<DeviceId>, 0, way).ok())
      continue;
    double hops = 0;
    for (const LinkShare& l : way) hops += l.share;
    if (hops < fewest - 0.5) fewest = hops, entry->second = d;
  }
  return entry->second;
}

/// Appends the links from one device of a server to another.
Status Lowering::State::spread(DeviceId a, DeviceId b) { return spread(a, b, kNone<DeviceId>, kNone<DeviceId>, 0); }

/// Appends what a payload crosses from `a` to `b`, between servers by these NICs.
Status Lowering::State::spread(DeviceId a, DeviceId b, DeviceId nic_a, DeviceId nic_b, std::uint64_t flow) {
  if (table.bundles() && nic_a != kNone<DeviceId>) return router.spread_bundled(a, b, nic_a, nic_b, path);
  links.clear();
  BUSBAR_RETURN_IF_ERROR(router.spread(a, b, nic_a, nic_b, flow, links, *bias));
  for (const LinkShare& l : links) path.push_back({l.link, l.share});
  return {};
}

/// Inside a server; what goes over links without peer access is written to host memory and read from there.
Status Lowering::State::inside(DeviceId a, DeviceId b) {
  const std::size_t begin = path.size();
  BUSBAR_RETURN_IF_ERROR(spread(a, b));
  const auto denied = [&](const CapacityShare& l) {
    const LinkKind kind = topology().link_class(l.on.link()).kind;
    return (!protocol.peer_access && is_in_server(kind)) || (!protocol.scale_up_access && is_scale_up(kind));
  };
  const bool staged = std::any_of(path.begin() + static_cast<std::ptrdiff_t>(begin), path.end(), denied);
  const DeviceId host = staged ? host_memory(a) : kNone<DeviceId>;
  if (host == kNone<DeviceId>) return {};
  path.resize(begin);
  BUSBAR_RETURN_IF_ERROR(spread(a, host));
  return spread(host, b);
}

/// Between servers: each lane by its own NICs, and each port of these as a flow of its own.
Status Lowering::State::across(std::uint32_t rank_a, std::uint32_t rank_b) {
  const DeviceId a = placement.gpu(rank_a), b = placement.gpu(rank_b);
  for (std::uint32_t lane = 0; lane < lanes.count; ++lane) {
    const std::uint32_t c = nic_index(lane);
    find_crossings(router, placement, nics, rank_a, rank_b, c, crossings);
    const std::size_t begin = path.size();
    const auto ways = static_cast<std::uint32_t>(crossings.size());
    for (std::uint32_t i = 0; i < ways; ++i)
      BUSBAR_RETURN_IF_ERROR(cross_by(crossings[i], a, b, flow_name(a, b, c * ways + i)));
    for (std::size_t i = begin; lanes.count * ways > 1 && i < path.size(); ++i) path[i].share /= lanes.count * ways;
  }
  return {};
}

Status Lowering::State::cross_by(const Crossing& way, DeviceId a, DeviceId b, std::uint64_t flow) {
  const auto route = [&](DeviceId from, DeviceId to) { return spread(from, to, way.nic_from, way.nic_to, flow); };
  const DeviceId host_a = protocol.gpudirect ? kNone<DeviceId> : host_memory(a);
  const DeviceId host_b = protocol.gpudirect ? kNone<DeviceId> : host_memory(b);
  if (host_a == kNone<DeviceId> || host_b == kNone<DeviceId>) {
    if (way.gpu != a) BUSBAR_RETURN_IF_ERROR(spread(a, way.gpu));
    return route(way.gpu, b);
  }
  BUSBAR_RETURN_IF_ERROR(spread(a, host_a));
  BUSBAR_RETURN_IF_ERROR(route(host_a, host_b));
  return spread(host_b, b);
}

/// What each send of the round, connections [first, last), takes while the others of the round are under way; with
/// `others`, also what goes on beside the run, which must be whole: it stretches each round alike.
void Lowering::State::close_round(std::size_t first, std::size_t last, bool others) {
  const auto each_link = [&](auto&& f) {
    for (std::size_t i = first; i < last; ++i)
      for (std::uint32_t k = connections[i].begin; k < connections[i].end; ++k) f(connections[i], path[k]);
  };
  each_link(
      [&](const Connection& c, const CapacityShare& l) { round_load[l.on] += l.share * c.bytes * sent_per_byte(c); });
  for (std::size_t i = first; lanes.cap > 0 && i < last; ++i)
    connections[i].transfer_ps = connections[i].bytes / lanes.cap;
  each_link([&](Connection& c, const CapacityShare& l) {
    const double stretch = others ? load_beside(l.on) / weight[l.on] : 1;
    c.transfer_ps = std::max(c.transfer_ps, round_load[l.on] * stretch / table.rate(l.on));
  });
  each_link([&](const Connection&, const CapacityShare& l) { round_load[l.on] = 0; });
}

/// Routes every send of one group of a run of stepwise phases, in the order in which longest_chain asks for them.
Status Lowering::State::open_steps(const CollectiveCall& call, const Schedule& s, PhaseRun run,
                                   std::uint32_t call_group, std::uint32_t group, double chunk_bytes) {
  constexpr std::uint64_t kMostSends = 1 << 24;  // some 1 GB and a quarter of a minute
  Status status;
  for (std::uint32_t p = run.begin; p < run.end; ++p) {
    const Phase& phase = s.phases[p];
    const GroupFamily& family = s.families[phase.family];
    const std::uint32_t n = family.size();
    if (const std::uint64_t sends = std::uint64_t{n} * stepwise_rounds(phase.pattern, n); sends > kMostSends)
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{} over {} ranks is {} sends, each on a way of its own; choose another algorithm, such "
                               "as bruck or direct",
                               name_of(phase.pattern), n, sends),
                   {}};
    set_arrival_cost(s, p, p + 1);
    const bool done_with =
        trace == nullptr && !table.holds() && !uses_hub(phase.pattern);  // nobody asks for ways again
    for (std::uint32_t r = 0; r < stepwise_rounds(phase.pattern, n) && status.ok(); ++r) {
      const std::size_t first = connections.size(), first_link = path.size();
      for_each_send(phase, n, r, [&](const Send& send) {
        if (!status.ok()) return;
        const std::uint64_t chunks = chunks_of(s, phase, n, send);
        status = connect(call, call_group, actor_of(phase, family, n, group, send.src),
                         actor_of(phase, family, n, group, send.dst), static_cast<double>(chunks) * chunk_bytes);
        if (status.ok()) connections.back().chunks = chunks;
      });
      close_round(first, connections.size(), false);
      if (!done_with) continue;
      path.resize(first_link);
      for (std::size_t i = first; i < connections.size(); ++i) connections[i].begin = connections[i].end = 0;
    }
  }
  return status;
}

/// Bytes of the connection, or of the sends of one rank after each other, that carries most.
double Lowering::State::busiest_bytes(bool stepwise) {
  double most = 0;
  for (const Connection& c : connections) {
    const bool summed = stepwise && c.from != Connection::kHub;
    most = std::max(most, summed ? sent[c.from] += c.bytes : c.bytes);
  }
  for (const Connection& c : connections)
    if (c.from != Connection::kHub) sent[c.from] = 0;
  return most;
}

/// Routes every connection of one group of a run and adds its bytes to `weight`.
Status Lowering::State::open_run(const CollectiveCall& call, const Schedule& s, PhaseRun run, std::uint32_t call_group,
                                 std::uint32_t group, double chunk_bytes) {
  path.clear();
  connections.clear();
  channel = s.phases[run.begin].channel;
  tree.loaded.clear();
  if (is_stepwise(s.phases[run.begin].pattern)) return open_steps(call, s, run, call_group, group, chunk_bytes);
  const Phase& phase = s.phases[run.begin];  // the phases of a run cross the same edges
  const bool by_receiver = phase.pattern == Pattern::kTreeBroadcast;
  const double repeats = run.end - run.begin;
  set_arrival_cost(s, run.begin, run.end);
  Status status;
  for_each_edge(s, phase, group, [&](std::uint32_t from, std::uint32_t to, auto chunks) {
    if (!status.ok()) return;
    connection_of[by_receiver ? to : from] = static_cast<std::uint32_t>(connections.size());
    status = connect(call, call_group, from, to, static_cast<double>(chunks) * repeats * chunk_bytes);
  });
  if (status.ok() && !is_ring(phase.pattern)) link_hops(s, phase);
  return status;
}

double Lowering::State::most_bytes() const {
  double most = 0;
  for (const Connection& c : connections) most = std::max(most, c.bytes);
  return most;
}

PieceCost Lowering::State::cost_of(const Connection& c, double piece, double most) const {
  const double capped_ps = lanes.cap > 0 ? piece / lanes.cap : 0;
  PieceCost out{c.latency_ps, capped_ps, capped_ps, kNone<LinkId>};
  CapacityId narrowest = c.begin < c.end ? path[c.begin].on : CapacityId();
  for (std::uint32_t i = c.begin; i < c.end; ++i) {
    const CapacityId l = path[i].on;
    const double ps_per_byte = piece / most / table.rate(l), all_ps = load_beside(l) * ps_per_byte;
    out.passing_ps = std::max(out.passing_ps, std::min(all_ps, PieceCost::kMet * weight[l] * ps_per_byte));
    if (all_ps > out.staying_ps) out.staying_ps = all_ps, narrowest = l;
  }
  out.narrowest = table.link_of(narrowest);
  return out;
}

/// A round of the open ring when its links are as full as that of its quickest edge: all wait for the piece that this
/// edge brings, but for the time that pieces which came over longer edges fill.
FullRound Lowering::State::full_round(double piece) const {
  const double most = most_bytes();
  PieceCost quickest{INFINITY};
  double mean_ps = 0;  // latency
  for (const Connection& c : connections) {
    const PieceCost cost = cost_of(c, piece, most);
    mean_ps += cost.latency_ps / static_cast<double>(connections.size());
    if (cost.latency_ps + cost.staying_ps < quickest.latency_ps + quickest.staying_ps) quickest = cost;
  }
  const double filled_ps = FullRound::kFilled * (mean_ps - quickest.latency_ps);
  return {std::max(0.0, quickest.latency_ps - filled_ps), quickest.staying_ps, quickest.narrowest};
}

/// How long the messages of the open run wait at the link that holds them up most, `sends` on each connection. One that
/// is held up holds up all that follow it on that link, and with them the whole chain.
double Lowering::State::hold_ps(double sends) {
  if (!table.holds()) return 0;
  double most = 0;
  const auto each = [&](auto&& f) {
    for (const Connection& c : connections)
      for (std::uint32_t i = c.begin; i < c.end; ++i)
        if (table.held_ps(path[i].on) > 0) f(path[i]);
  };
  each([&](const CapacityShare& l) {
    round_load[l.on] += l.share * sends;
    most = std::max(most, round_load[l.on] * table.held_ps(l.on));
  });
  each([&](const CapacityShare& l) { round_load[l.on] = 0; });
  return most;
}

/// Time of the open run with its links to itself: the longest dependency chain.
double Lowering::State::alone(const Schedule& s, PhaseRun run, std::uint32_t group, double chunk_bytes) {
  const Phase& phase = s.phases[run.begin];
  const bool by_receiver = phase.pattern == Pattern::kTreeBroadcast;
  const double piece = chunk_bytes * phase.span;
  if (is_stepwise(phase.pattern)) {
    std::size_t next = 0;  // open_steps() went the same way
    return longest_chain(
        s, run, group,
        [&](std::uint32_t, std::uint32_t) {
          const Connection& c = connections[next++];
          return SendCost{c.latency_ps, c.chunks == 0 ? 0 : c.transfer_ps * phase.span / static_cast<double>(c.chunks)};
        },
        chain);
  }
  const double most = most_bytes();
  const bool ring = is_ring(phase.pattern);
  bool crowded = false;
  const auto cost = [&](std::uint32_t from, std::uint32_t to) {
    const Connection& edge = connections[connection_of[by_receiver ? to : from]];
    if (!ring) return SendCost{edge.latency_ps, edge.transfer_ps};
    const PieceCost c = cost_of(edge, piece, most);
    crowded = crowded || c.staying_ps > c.passing_ps;
    return c.in_ring();
  };
  const double ps = longest_chain(s, run, group, cost, chain);
  return crowded ? std::max(ps, run_rounds(s, run) * full_round(piece).ps()) : ps;
}

}  // namespace busbar
