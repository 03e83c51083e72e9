#include "busbar/lowering/internal/run_router.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/lowering/send_costs.h"

namespace busbar::lowering {
namespace {

/// Sets which send of a chain or tree waits for which (trees that reduce: for all of several).
void link_hops(const collectives::Schedule& s, const collectives::Phase& phase, std::vector<Connection>& connections) {
  const auto hops = static_cast<std::uint32_t>(connections.size());
  if (!collectives::is_tree(phase.pattern)) {
    for (std::uint32_t i = 0; i < hops; ++i) connections[i].toward_root = i == 0 ? kNone32 : i - 1;
    return;
  }
  const collectives::TreeNodes tree(s, phase, hops + 1);
  for (std::uint32_t i = 1; i <= hops; ++i) {  // the edge of node i is connection i - 1
    const std::uint32_t parent = tree.parent(i);
    connections[i - 1].toward_root = parent == 0 ? kNone32 : parent - 1;
  }
}

std::uint64_t sends_of(const collectives::Schedule& s, const collectives::Phase& phase) {
  const std::uint32_t n = s.families[phase.family].size();
  return std::uint64_t{n} * collectives::stepwise_rounds(phase.pattern, n);
}

}  // namespace

void RunRouter::begin_call(const PlannedCall& plan, std::uint32_t per_domain, bool keep_routes) {
  plan_ = &plan;
  keep_routes_ = keep_routes;
  trees_.begin(plan.call, plan.schedule, per_domain);
}

/// A byte that arrives is written; where it is added, its receiver reads its own byte as well.
void RunRouter::begin_run(collectives::PhaseRun phases) {
  const collectives::Schedule& s = plan_->schedule;
  settings_.nics.clear();
  for (std::uint32_t lane = 0; lane < plan_->lanes.count; ++lane)
    settings_.nics.push_back(plan_->lanes.nic(s.phases[phases.begin].channel, lane));
  double sum = 0;
  for (std::uint32_t p = phases.begin; p < phases.end; ++p)
    sum += collectives::adds_at_ranks(s.phases[p].pattern) ? 2 : 1;
  settings_.arrival_cost = sum / (phases.end - phases.begin);
}

Result<double> RunRouter::way(std::uint32_t call_group, std::uint32_t from, std::uint32_t to,
                              std::vector<routing::CapacityShare>& path) {
  const program::CollectiveCall& call = plan_->call;
  const SendEnds send{call.groups.actor(call_group, from),
                      call.groups.actor(call_group, to),
                      settings_.nics,
                      call.nics.get(),
                      *settings_.bias,
                      settings_.arrival_cost};
  return routes_.between(send, call.protocol, path);
}

double RunRouter::turn_ps(double bytes) const {
  return static_cast<double>(machine_.protocol.messages.of(bytes * plan_->sent.straight / plan_->lanes.count).in_ps());
}

void RunRouter::add_message_costs(std::uint32_t call_group, std::uint32_t from, std::uint32_t to, double message,
                                  Connection& c) const {
  if (!machine_.protocol.messages.any()) return;
  const auto block = [&](std::uint32_t actor) {
    return machine_.topology().block_of(machine_.placement.gpu(plan_->call.groups.actor(call_group, actor)));
  };
  if (block(from) == block(to)) return;
  c.turn_ps = turn_ps(message);
  c.latency_ps += c.turn_ps;
  if (has_slots(plan_->call.protocol)) c.slot_ps = static_cast<double>(machine_.protocol.messages.slot.in_ps());
}

Status RunRouter::connect(std::uint32_t call_group, std::uint32_t from, std::uint32_t to, double bytes, double messages,
                          OpenRun& run) {
  if (stops(machine_.stop)) return interrupted();
  const program::CollectiveCall& call = plan_->call;
  const std::uint32_t n = call.groups.size();
  const bool reduced = from >= n || to >= n, near = reduced && trees_.next_to(from, to);
  Connection c{static_cast<std::uint32_t>(run.path.size()), 0, bytes, 0};
  c.from = reduced ? Connection::kHub : from;
  if (near) {
    const topology::DeviceId gpu = machine_.placement.gpu(call.groups.actor(call_group, std::min(from, to)));
    BUSBAR_ASSIGN(c.latency_ps, routes_.next_to(gpu, to >= n, call.protocol, run.path));
  } else if (reduced) {
    BUSBAR_ASSIGN(c.latency_ps, trees_.edge(call_group, from, to, run.path));
  } else {
    BUSBAR_ASSIGN(c.latency_ps, way(call_group, from, to, run.path));
    add_message_costs(call_group, from, to, bytes / messages, c);
  }
  c.end = static_cast<std::uint32_t>(run.path.size());
  const double loaded = near ? bytes / costs_of(machine_.protocol, call.protocol).share_switch : bytes;
  for (std::uint32_t i = c.begin; i < c.end; ++i)
    run.loads.add(run.path[i].on, run.path[i].share * loaded * plan_->sent.straight);
  run.connections.push_back(c);
  for (std::uint32_t i = c.begin; i < c.end && bytes != 0; ++i) builder_.cross(run.path[i].on, c.latency_ps);
  return {};
}

Status RunRouter::connect_round(const GroupRun& of, const collectives::Phase& phase, std::uint32_t round,
                                OpenRun& run) {
  const collectives::Schedule& s = plan_->schedule;
  const collectives::GroupFamily& family = s.families[phase.family];
  const std::uint32_t n = family.size();
  const double chunk_bytes = plan_->chunk_bytes();
  Status status;
  collectives::for_each_send(phase, n, round, [&](const collectives::Send& send) {
    if (!status.ok()) return;
    const std::uint64_t chunks = collectives::chunks_of(s, phase, n, send);
    status = connect(of.call_group, collectives::actor_of(phase, family, n, of.group, send.src),
                     collectives::actor_of(phase, family, n, of.group, send.dst),
                     static_cast<double>(chunks) * chunk_bytes, 1, run);
    if (status.ok()) run.connections.back().chunks = chunks;
  });
  return status;
}

/// The sends of a run of stepwise phases, in the order in which longest_chain asks for them.
Status RunRouter::open_rounds(const GroupRun& of, OpenRun& run) {
  constexpr std::uint64_t kMostSends = 1 << 24;  // some 1 GB and a quarter of a minute
  constexpr std::uint64_t kMostFollowed = 4096;  // beyond, rounds of different ranks are taken not to meet
  const collectives::Schedule& s = plan_->schedule;
  std::uint64_t all_sends = 0;
  for (std::uint32_t p = of.phases.begin; p < of.phases.end; ++p) all_sends += sends_of(s, s.phases[p]);
  const bool to_switches = collectives::uses_hub(plan_->first_phase(of.phases).pattern);
  const bool follows = all_sends <= kMostFollowed && !to_switches;
  if (!follows && !to_switches) builder_.stage.simplified.add(Simplification::kRoundsApart);
  const bool forgets = !keep_routes_ && !machine_.table.holds() && !to_switches && !follows;
  std::vector<RoundSend> followed;
  std::uint32_t number = 0;
  for (std::uint32_t p = of.phases.begin; p < of.phases.end; ++p) {
    const collectives::Phase& phase = s.phases[p];
    const std::uint32_t n = s.families[phase.family].size();
    if (sends_of(s, phase) > kMostSends)
      return unsupported(
          fmt::format("{} over {} ranks is {} sends, each on a way of its own; choose another "
                      "algorithm, such as bruck or direct",
                      collectives::name_of(phase.pattern), n, sends_of(s, phase)));
    begin_run({p, p + 1});
    for (std::uint32_t r = 0; r < collectives::stepwise_rounds(phase.pattern, n); ++r, ++number) {
      const std::size_t first = run.connections.size(), first_link = run.path.size();
      BUSBAR_RETURN_IF_ERROR(connect_round(of, phase, r, run));
      if (follows) {
        collectives::for_each_send(phase, n, r, [&](const collectives::Send& send) {
          followed.push_back({send.src, send.dst, number});
        });
        continue;
      }
      times_.time_round(run, first, run.connections.size(), false);
      if (!forgets) continue;
      run.path.resize(first_link);
      for (Connection& c : std::span(run.connections).subspan(first)) c.begin = c.end = 0;
    }
  }
  if (follows) times_.follow_rounds(run, followed, plan_->family(of.phases).size());
  return {};
}

Status RunRouter::open(const GroupRun& of, OpenRun& run) {
  run.clear_routes();
  begin_run(of.phases);
  const collectives::Phase& phase = plan_->first_phase(of.phases);  // the phases of a run cross the same edges
  trees_.begin_run(phase.channel, settings_.nics[0]);
  if (collectives::is_stepwise(phase.pattern)) return open_rounds(of, run);
  const bool by_receiver = phase.pattern == collectives::Pattern::kTreeBroadcast;
  const double repeats = of.phases.end - of.phases.begin, chunk_bytes = plan_->chunk_bytes();
  const double messages = is_ring(phase.pattern) ? collectives::run_rounds(plan_->schedule, of.phases) : repeats;
  Status status;
  collectives::for_each_edge(plan_->schedule, phase, of.group, [&](std::uint32_t from, std::uint32_t to, auto chunks) {
    if (!status.ok()) return;
    run.connection_of[by_receiver ? to : from] = static_cast<std::uint32_t>(run.connections.size());
    status = connect(of.call_group, from, to, static_cast<double>(chunks) * repeats * chunk_bytes, messages, run);
  });
  if (status.ok() && !is_ring(phase.pattern)) link_hops(plan_->schedule, phase, run.connections);
  return status;
}

}  // namespace busbar::lowering
