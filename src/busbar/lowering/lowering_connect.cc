#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/lowering/internal/lowering_state.h"
#include "busbar/lowering/send_costs.h"

namespace busbar {

void Lowering::State::load(const CapacityShare& l, double bytes) {
  loads.add(l.on, l.share * bytes * sent_bytes.straight);
}

void Lowering::State::open_connection(const Connection& c) {
  connections.push_back(c);
  if (c.bytes == 0) return;
  for (std::uint32_t i = c.begin; i < c.end; ++i) builder->cross(path[i].on, c.latency_ps);
}

/// For phases [first, last), which cross the same edges. A byte that arrives is written; where it is added, its
/// receiver reads its own byte as well.
void Lowering::State::set_arrival_cost(const Schedule& s, std::uint32_t first, std::uint32_t last) {
  double sum = 0;
  for (std::uint32_t p = first; p < last; ++p) sum += adds_at_ranks(s.phases[p].pattern) ? 2 : 1;
  arrival_cost = sum / (last - first);
}

Status Lowering::State::connect(const CollectiveCall& call, std::uint32_t group, std::uint32_t from, std::uint32_t to,
                                double bytes) {
  const std::uint32_t n = call.groups.size();
  if (from >= n || to >= n) {
    const bool near = trees.next_to(from, to);
    const DeviceId gpu = near ? placement.gpu(call.groups.actor(group, std::min(from, to))) : kNone<DeviceId>;
    Connection c{static_cast<std::uint32_t>(path.size()), 0, bytes, 0};
    c.from = Connection::kHub;
    BUSBAR_ASSIGN(c.latency_ps, near ? routes.next_to(gpu, to >= n, path) : trees.edge(group, from, to, path));
    c.end = static_cast<std::uint32_t>(path.size());
    for (std::uint32_t i = c.begin; i < c.end; ++i) load(path[i], near ? bytes / protocol.share_switch : bytes);
    open_connection(c);
    return {};
  }
  Connection c{static_cast<std::uint32_t>(path.size()), 0, bytes, 0};
  c.from = from;
  const SendEnds send{
      call.groups.actor(group, from), call.groups.actor(group, to), nic_numbers, nics, *bias, arrival_cost};
  BUSBAR_ASSIGN(c.latency_ps, routes.between(send, call.protocol, path));
  c.end = static_cast<std::uint32_t>(path.size());
  for (std::uint32_t i = c.begin; i < c.end; ++i) load(path[i], bytes);
  open_connection(c);
  return {};
}

/// Sets the time of each send of the round, connections [first, last), while the others of the round are under way.
/// With `others`, also the other runs of the step: they stretch each round by one factor per link. The run must be whole.
void Lowering::State::close_round(std::size_t first, std::size_t last, bool others) {
  const auto each_link = [&](auto&& f) {
    for (std::size_t i = first; i < last; ++i)
      for (std::uint32_t k = connections[i].begin; k < connections[i].end; ++k) f(connections[i], path[k]);
  };
  each_link(
      [&](const Connection& c, const CapacityShare& l) { round_load[l.on] += l.share * c.bytes * sent_bytes.of(c); });
  for (std::size_t i = first; lanes.cap > 0 && i < last; ++i)
    connections[i].transfer_ps = connections[i].bytes / lanes.cap;
  each_link([&](Connection& c, const CapacityShare& l) {
    const double stretch = others ? load_beside(l.on) / loads[l.on] : 1;
    c.transfer_ps = std::max(c.transfer_ps, round_load[l.on] * stretch / table.rate(l.on));
  });
  each_link([&](const Connection&, const CapacityShare& l) { round_load[l.on] = 0; });
}

/// Routes every send of one group of a run of stepwise phases, in the order in which longest_chain asks for them.
Status Lowering::State::open_steps(const CollectiveCall& call, const Schedule& s, PhaseRun run,
                                   std::uint32_t call_group, std::uint32_t group, double chunk_bytes) {
  constexpr std::uint64_t kMostSends = 1 << 24;     // some 1 GB and a quarter of a minute
  constexpr std::uint64_t kMostFollowed = 4096;     // beyond, rounds of different ranks are taken not to meet
  Status status;
  std::uint64_t all_sends = 0;
  for (std::uint32_t p = run.begin; p < run.end; ++p) {
    const std::uint32_t n = s.families[s.phases[p].family].size();
    all_sends += std::uint64_t{n} * stepwise_rounds(s.phases[p].pattern, n);
  }
  const bool follows = all_sends <= kMostFollowed && !uses_hub(s.phases[run.begin].pattern);
  std::vector<RoundSend> sends;
  std::uint32_t round = 0;
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
        trace == nullptr && !table.holds() && !uses_hub(phase.pattern) && !follows;  // routes are not needed again
    for (std::uint32_t r = 0; r < stepwise_rounds(phase.pattern, n) && status.ok(); ++r, ++round) {
      const std::size_t first = connections.size(), first_link = path.size();
      for_each_send(phase, n, r, [&](const Send& send) {
        if (!status.ok()) return;
        const std::uint64_t chunks = chunks_of(s, phase, n, send);
        status = connect(call, call_group, actor_of(phase, family, n, group, send.src),
                         actor_of(phase, family, n, group, send.dst), static_cast<double>(chunks) * chunk_bytes);
        if (status.ok()) connections.back().chunks = chunks;
        if (follows) sends.push_back({send.src, send.dst, round});
      });
      if (follows) continue;
      close_round(first, connections.size(), false);
      if (!done_with) continue;
      path.resize(first_link);
      for (std::size_t i = first; i < connections.size(); ++i) connections[i].begin = connections[i].end = 0;
    }
  }
  if (status.ok() && follows) time_rounds(sends, s.families[s.phases[run.begin].family].size());
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
  set_channel(s.phases[run.begin].channel);
  trees.begin_run(channel, nic_numbers[0]);
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
    out.passing_ps = std::max(out.passing_ps, std::min(all_ps, PieceCost::kMet * loads[l] * ps_per_byte));
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
