#include "busbar/engine/lowering.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/core.h>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/chain.h"
#include "busbar/collectives/edges.h"

namespace busbar {
namespace {

constexpr double kPsPerSecond = 1e12;

/// One connection of the fluid in the making.
struct Connection {
  std::uint32_t begin, end;  ///< its links in State::path
  double bytes;
  double latency_ps;
};

std::string phase_name(const Schedule& s, PhaseRun run) {
  const auto word = [](Pattern p) {
    switch (p) {
      case Pattern::kRingReduceScatter: return "ring reduce-scatter";
      case Pattern::kRingAllGather: return "ring all-gather";
      case Pattern::kChainBroadcast: return "chain broadcast";
      case Pattern::kChainReduce: return "chain reduce";
      case Pattern::kTreeReduce: return "tree reduce";
      case Pattern::kTreeBroadcast: return "tree broadcast";
    }
    return "?";
  };
  std::string name = word(s.phases[run.begin].pattern);
  if (run.end - run.begin > 1) name += " + all-gather";
  const GroupFamily& family = s.families[s.phases[run.begin].family];
  if (s.algorithm == "hierarchical") name += family.size() > 1 && family.actor(0, 1) == family.actor(0, 0) + 1 ? " in group" : " across groups";
  return name;
}

}  // namespace

struct Lowering::State {
  const Router& router;
  const Placement& placement;
  ProtocolModel protocol;
  bool fold;
  std::vector<double> rate, latency, floor_rate;  ///< per link class: bytes/ps, ps, bytes/ps
  WhatIf what_if;

  // Work space, reused from fluid to fluid.
  std::vector<LinkShare> path;
  std::vector<Connection> connections;
  std::vector<std::uint32_t> connection_of;  ///< actor -> connection of the phase in hand
  std::vector<double> weight;                ///< per link, zero between fluids
  std::vector<LinkId> touched;
  ChainScratch chain;
  // Sums of the pipeline in the making (k > 1): bytes per link, and over all channels and groups.
  std::vector<double> total_load;
  std::vector<LinkId> total_touched;
  std::vector<std::uint32_t> owner;  ///< link -> fluid that crosses it, while components are sought

  const Topology& topology() const { return router.topology(); }
  double rate_of(LinkId l) const { return rate[topology().link_class_index(l)]; }
  void read_classes();
  double overhead_ps(DeviceId a, DeviceId b, std::span<const LinkShare> links) const;
  Status connect(const CollectiveCall& call, std::uint32_t group, std::uint32_t from, std::uint32_t to, double bytes);
  Status open_run(const CollectiveCall& call, const Schedule& s, PhaseRun run, std::uint32_t call_group,
                  std::uint32_t group, double chunk_bytes);
  double alone(const Schedule& s, PhaseRun run, std::uint32_t group, double chunk_bytes);
  void emit(Stage& stage, double bytes, double alone_ps);
  void forget_weights();
  Status lower_in_steps(const Schedule& s, std::span<const std::vector<PhaseRun>> runs, LoweredCall& out);
  Status lower_as_pipeline(const Schedule& s, std::span<const std::vector<PhaseRun>> runs, LoweredCall& out);
  void finish(Stage& stage);
  void split_in_components(Stage& stage);
  std::uint64_t likeness(const Stage& stage, const Component& c);
};

void Lowering::State::read_classes() {
  rate.clear(), latency.clear(), floor_rate.clear();
  const auto classes = topology().link_classes();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const bool changed = std::binary_search(what_if.link_classes.begin(), what_if.link_classes.end(), i);
    rate.push_back(static_cast<double>(per_second(classes[i].payload_rate())) / kPsPerSecond *
                   (changed ? what_if.rate_factor : 1));
    floor_rate.push_back(static_cast<double>(per_second(classes[i].floor_rate())) / kPsPerSecond);
    latency.push_back(static_cast<double>(classes[i].latency.in_ps()) * (changed ? what_if.latency_factor : 1));
  }
}

double Lowering::State::overhead_ps(DeviceId a, DeviceId b, std::span<const LinkShare> links) const {
  if (topology().block_of(a) != topology().block_of(b)) return static_cast<double>(protocol.step_network.in_ps());
  for (const LinkShare& l : links)
    if (is_in_server(topology().link_class(l.link).kind)) return static_cast<double>(protocol.step_server.in_ps());
  return static_cast<double>(protocol.step_scale_up.in_ps());
}

Status Lowering::State::connect(const CollectiveCall& call, std::uint32_t group, std::uint32_t from, std::uint32_t to,
                                double bytes) {
  const std::uint32_t rank_a = call.groups.actor(group, from), rank_b = call.groups.actor(group, to);
  const DeviceId a = placement.gpu(rank_a), b = placement.gpu(rank_b);
  Connection c{static_cast<std::uint32_t>(path.size()), 0, bytes, 0};
  const std::uint64_t flow = (std::uint64_t{rank_a} << 32) | rank_b;
  BUSBAR_RETURN_IF_ERROR(router.spread(a, b, placement.nic(rank_a, 0), placement.nic(rank_b, 0), flow, path));
  c.end = static_cast<std::uint32_t>(path.size());
  const std::span<const LinkShare> links(path.data() + c.begin, c.end - c.begin);
  for (const LinkShare& l : links) {
    double& w = weight[index(l.link)];
    if (w == 0) touched.push_back(l.link);
    w += l.share * bytes;  // bytes for now; emit() divides by the busiest connection's
    c.latency_ps += l.share * latency[topology().link_class_index(l.link)];  // shares of one hop sum to 1
  }
  c.latency_ps += overhead_ps(a, b, links);
  connections.push_back(c);
  return {};
}

/// Routes every connection of one group of a run and adds its bytes to `weight`.
Status Lowering::State::open_run(const CollectiveCall& call, const Schedule& s, PhaseRun run, std::uint32_t call_group,
                                 std::uint32_t group, double chunk_bytes) {
  path.clear();
  connections.clear();
  const Phase& phase = s.phases[run.begin];  // the phases of a run cross the same edges
  const bool by_receiver = phase.pattern == Pattern::kTreeBroadcast;
  const double repeats = run.end - run.begin;
  Status status;
  for_each_edge(s, phase, group, [&](std::uint32_t from, std::uint32_t to, auto chunks) {
    if (!status.ok()) return;
    connection_of[by_receiver ? to : from] = static_cast<std::uint32_t>(connections.size());
    status = connect(call, call_group, from, to, static_cast<double>(chunks) * repeats * chunk_bytes);
  });
  return status;
}

/// Time of the open run with its links to itself: the longest dependency chain.
double Lowering::State::alone(const Schedule& s, PhaseRun run, std::uint32_t group, double chunk_bytes) {
  const Phase& phase = s.phases[run.begin];
  const bool by_receiver = phase.pattern == Pattern::kTreeBroadcast;
  const double piece = chunk_bytes * phase.span;
  double busiest = 0;
  for (const Connection& c : connections) busiest = std::max(busiest, c.bytes);
  const auto cost = [&](std::uint32_t from, std::uint32_t to) {
    const Connection& c = connections[connection_of[by_receiver ? to : from]];
    double rate = INFINITY;  // what this connection gets when all of the fluid are busy
    for (std::uint32_t i = c.begin; i < c.end; ++i)
      rate = std::min(rate, rate_of(path[i].link) / (weight[index(path[i].link)] / busiest));
    return SendCost{c.latency_ps, piece / rate};
  };
  return longest_chain(s, run, group, cost, chain);
}

/// Closes the fluid in the making: its weights become the stage's incidences.
void Lowering::State::emit(Stage& stage, double bytes, double alone_ps) {
  Fluid f;
  f.begin = static_cast<std::uint32_t>(stage.link.size());
  for (const LinkId l : touched) {
    stage.link.push_back(l);
    stage.weight.push_back(weight[index(l)] / bytes);
  }
  f.end = static_cast<std::uint32_t>(stage.link.size());
  f.bytes = bytes;
  f.alone_ps = alone_ps;
  stage.fluids.push_back(f);
  forget_weights();
}

void Lowering::State::forget_weights() {
  for (const LinkId l : touched) weight[index(l)] = 0;
  touched.clear();
}

Status Lowering::State::lower_in_steps(const Schedule& s, std::span<const std::vector<PhaseRun>> runs, LoweredCall& out) {
  std::size_t steps = 0;
  for (const auto& channel : runs) steps = std::max(steps, channel.size());
  const double chunk_bytes = static_cast<double>(count(out.call.bytes)) / s.chunks;
  for (std::size_t step = 0; step < steps; ++step) {
    Stage stage;
    for (const auto& channel : runs) {
      if (step >= channel.size()) continue;
      const PhaseRun run = channel[step];
      if (stage.phase.empty()) stage.phase = phase_name(s, run);
      const std::uint32_t groups = s.families[s.phases[run.begin].family].groups();
      for (std::uint32_t cg = 0; cg < out.call.groups.groups(); ++cg)
        for (std::uint32_t g = 0; g < groups; ++g) {
          BUSBAR_RETURN_IF_ERROR(open_run(out.call, s, run, cg, g, chunk_bytes));
          double bytes = 0;
          for (const Connection& c : connections) bytes = std::max(bytes, c.bytes);
          if (bytes > 0) emit(stage, bytes, alone(s, run, g, chunk_bytes));
          else forget_weights();
        }
    }
    if (!stage.fluids.empty()) out.stages.push_back(std::move(stage));
  }
  return {};
}

/// k chunks: one fluid per (call group, channel) with the loads of all its phases added. Its time alone is that of one
/// chunk through every phase and then k - 1 more chunks through the busiest link.
Status Lowering::State::lower_as_pipeline(const Schedule& s, std::span<const std::vector<PhaseRun>> runs, LoweredCall& out) {
  const double k = out.chunks;
  const double chunk_bytes = static_cast<double>(count(out.call.bytes)) / s.chunks / k;
  Stage stage;
  for (std::uint32_t cg = 0; cg < out.call.groups.groups(); ++cg)
    for (const auto& channel : runs) {
      double first_chunk_ps = 0, most_bytes = 0;
      total_touched.clear();
      for (const PhaseRun run : channel) {
        if (stage.phase.empty()) stage.phase = phase_name(s, run);
        double slowest = 0;
        const std::uint32_t groups = s.families[s.phases[run.begin].family].groups();
        for (std::uint32_t g = 0; g < groups; ++g) {
          BUSBAR_RETURN_IF_ERROR(open_run(out.call, s, run, cg, g, chunk_bytes));
          if (!connections.empty()) slowest = std::max(slowest, alone(s, run, g, chunk_bytes));
          for (const Connection& c : connections) most_bytes = std::max(most_bytes, c.bytes);
          for (const LinkId l : touched) {
            if (total_load[index(l)] == 0) total_touched.push_back(l);
            total_load[index(l)] += weight[index(l)];
          }
          forget_weights();
        }
        first_chunk_ps += slowest;
      }
      double busiest_ps = 0;
      for (const LinkId l : total_touched) {
        busiest_ps = std::max(busiest_ps, total_load[index(l)] / rate_of(l));
        weight[index(l)] = total_load[index(l)] * k;
        touched.push_back(l);
        total_load[index(l)] = 0;
      }
      if (most_bytes > 0) emit(stage, most_bytes * k, first_chunk_ps + (k - 1) * busiest_ps);
    }
  if (!stage.fluids.empty()) {
    stage.phase = s.algorithm + " " + name_of(s.op) + ", pipelined";
    out.stages.push_back(std::move(stage));
  }
  return {};
}

void Lowering::State::finish(Stage& stage) {
  for (const Fluid& f : stage.fluids) {
    stage.slowest_alone_ps = std::max(stage.slowest_alone_ps, f.alone_ps);
    for (std::uint32_t i = f.begin; i < f.end; ++i) {
      double& w = weight[index(stage.link[i])];
      if (w == 0) touched.push_back(stage.link[i]);
      w += stage.weight[i] * f.bytes;
    }
  }
  for (const LinkId l : touched) {
    const double ps = weight[index(l)] / rate_of(l);
    if (ps > stage.load_ps * (1 + 1e-9)) stage.busiest = l;  // among equals the first, whatever round-off says
    stage.load_ps = std::max(stage.load_ps, ps);
  }
  forget_weights();
  split_in_components(stage);
}

/// Union-find over the links that fluids share.
void Lowering::State::split_in_components(Stage& stage) {
  constexpr std::uint32_t kNobody = 0xffff'ffffu;
  const auto n = static_cast<std::uint32_t>(stage.fluids.size());
  std::vector<std::uint32_t> parent(n);
  for (std::uint32_t f = 0; f < n; ++f) parent[f] = f;
  const auto root = [&](std::uint32_t f) {
    while (parent[f] != f) f = parent[f] = parent[parent[f]];
    return f;
  };
  if (owner.empty()) owner.assign(topology().link_count(), kNobody);
  for (std::uint32_t f = 0; f < n; ++f)
    for (std::uint32_t i = stage.fluids[f].begin; i < stage.fluids[f].end; ++i) {
      std::uint32_t& o = owner[index(stage.link[i])];
      if (o == kNobody) o = f;
      const std::uint32_t a = root(o), b = root(f);
      if (a != b) parent[std::max(a, b)] = std::min(a, b);
    }
  std::vector<std::uint32_t> size(n, 0), place(n, 0);
  for (std::uint32_t f = 0; f < n; ++f) ++size[root(f)];
  for (std::uint32_t f = 0, at = 0; f < n; ++f)
    if (parent[f] == f) {
      place[f] = static_cast<std::uint32_t>(stage.components.size());
      stage.components.push_back({at, at, place[f]});
      at += size[f];
    }
  stage.members.resize(n);
  for (std::uint32_t f = 0; f < n; ++f) stage.members[stage.components[place[root(f)]].end++] = f;
  for (const LinkId l : stage.link) owner[index(l)] = kNobody;
  std::unordered_map<std::uint64_t, std::uint32_t> first;  // looked up only, never iterated
  for (std::uint32_t c = 0; c < stage.components.size(); ++c) {
    Component& component = stage.components[c];
    if (fold) component.like = first.emplace(likeness(stage, component), c).first->second;
    if (component.like == c) ++stage.kinds;
  }
}

/// Equal for components that are the same up to the names of their links.
std::uint64_t Lowering::State::likeness(const Stage& stage, const Component& c) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  std::uint64_t h = mix64(c.end - c.begin);
  std::uint32_t names = 0;
  for (std::uint32_t m = c.begin; m < c.end; ++m) {
    const Fluid& f = stage.fluids[stage.members[m]];
    h = mix64(h ^ bits(f.bytes)) + mix64(bits(f.alone_ps)) + (f.end - f.begin);
    for (std::uint32_t i = f.begin; i < f.end; ++i) {
      std::uint32_t& name = owner[index(stage.link[i])];
      if (name == 0xffff'ffffu) name = names++;
      h = mix64(h ^ name) + mix64(bits(stage.weight[i])) + mix64(bits(rate_of(stage.link[i])) + 1);
    }
  }
  for (std::uint32_t m = c.begin; m < c.end; ++m) {
    const Fluid& f = stage.fluids[stage.members[m]];
    for (std::uint32_t i = f.begin; i < f.end; ++i) owner[index(stage.link[i])] = 0xffff'ffffu;
  }
  return h;
}

Lowering::Lowering(const Router& router, const Placement& placement, const ProtocolModel& protocol, bool fold)
    : state_(new State{router, placement, protocol, fold, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}) {
  state_->read_classes();
  state_->weight.assign(router.topology().link_count(), 0.0);
  state_->total_load.assign(router.topology().link_count(), 0.0);
}
Lowering::~Lowering() = default;

void Lowering::set_what_if(const WhatIf& what_if) {
  state_->what_if = what_if;
  state_->read_classes();
}

double Lowering::rate(LinkId l) const { return state_->rate_of(l); }

Result<LoweredCall> Lowering::lower(const CollectiveCall& call) {
  State& st = *state_;
  LoweredCall out;
  out.call = call;
  out.launch_ps = static_cast<double>(st.protocol.launch.in_ps());
  const std::uint32_t n = call.groups.size();
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < n; ++m)
      if (call.groups.actor(g, m) >= st.placement.ranks())
        return invalid(fmt::format("rank {} has no GPU: only {} are placed", call.groups.actor(g, m), st.placement.ranks()));
  BUSBAR_ASSIGN(const Schedule s, build_schedule(call.algorithm, call.op, n,
                                                 ranks_per_domain(call, st.topology(), st.placement), call.root));
  out.channels = s.channels;
  st.connection_of.assign(s.ranks + s.reducers, 0);
  std::vector<std::vector<PhaseRun>> runs(s.channels);
  for (const PhaseRun run : phase_runs(s)) runs[s.phases[run.begin].channel].push_back(run);
  out.chunks = call.chunks;
  if (out.chunks == 0) {
    const std::uint64_t piece = count(st.protocol.chunk) * s.channels;
    const bool pipelines = s.algorithm != "ring" || call.op == Collective::kBroadcast || call.op == Collective::kReduce;
    out.chunks = piece == 0 || !pipelines ? 1 : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count(call.bytes) / piece, 1, 4096));
  }
  BUSBAR_RETURN_IF_ERROR(out.chunks == 1 ? st.lower_in_steps(s, runs, out) : st.lower_as_pipeline(s, runs, out));
  for (Stage& stage : out.stages) st.finish(stage);
  for (const Stage& stage : out.stages)
    for (const Fluid& f : stage.fluids)
      for (std::uint32_t i = f.begin; i < f.end; ++i) {
        double& w = st.weight[index(stage.link[i])];
        if (w == 0) st.touched.push_back(stage.link[i]);
        w += stage.weight[i] * f.bytes;
      }
  for (const LinkId l : st.touched)
    out.algorithm_floor_ps = std::max(out.algorithm_floor_ps,
                                      st.weight[index(l)] / st.floor_rate[st.topology().link_class_index(l)]);
  st.forget_weights();
  return out;
}

double closed_form_ps(const LoweredCall& call) {
  double ps = call.launch_ps;
  for (const Stage& s : call.stages) ps += std::max(s.slowest_alone_ps, s.load_ps);
  return ps;
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
