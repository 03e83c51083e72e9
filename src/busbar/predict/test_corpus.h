// Machines and work of every kind, which tests of shortcuts and of predictions run.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/random.h"
#include "busbar/collectives/builders.h"
#include "busbar/engine/flow/flow_list_run.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/predict/jitter.h"
#include "busbar/predict/predictor.h"

namespace busbar::predict::corpus {

/// Times in ps, and bytes per link.
using Figures = std::vector<double>;
struct Case {
  std::string name;
  std::function<Figures(const Shortcuts&)> run;
};

inline double ps(Duration d) { return static_cast<double>(d.in_ps()); }

/// Notes which shortcuts were taken.
inline Shortcuts with_a_ledger(Shortcuts shortcuts) {
  shortcuts.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  return shortcuts;
}

/// Limits so low that small machines are beyond them.
inline Shortcuts for_small_machines() { return {.pairs_apart = 100, .fluids_apart = 4, .most_visits = 2e4}; }

struct Machine {
  std::string cluster;
  std::vector<std::string> degrade{}, fail{}, jitter{};
  std::string engine = "flow";
  std::unique_ptr<Predictor> with(const Shortcuts& shortcuts) const {
    spec::Overrides overrides;
    overrides.degrade = degrade;
    overrides.fail = fail;
    spec::Cluster c = spec::load_cluster(cluster, overrides).value();
    PredictPolicy policy{.engine = engine};
    policy.shortcuts = shortcuts;
    policy.delays = parse_jitter(jitter, c.topology).value();
    return Predictor::make(std::move(c), {}, std::move(policy)).value();
  }
};

/// A case of the time of a collective, and of the bytes of one run on each link.
inline Case collective(Machine machine, collectives::Collective op, std::uint64_t bytes, std::string algorithm = "auto",
                       std::uint32_t group = 0) {
  const std::string name = machine.cluster + ", " + collectives::name_of(op) + ", " + algorithm;
  return {name, [=](const Shortcuts& shortcuts) {
            const auto m = machine.with(shortcuts);
            program::CollectiveCall call = call_over(op, Bytes{bytes}, m->ranks());
            if (group > 0) {
              call.groups = collectives::one_group(group);
              call.groups.outer = {{m->ranks() / group, group, 0}};
            }
            call.algorithm = algorithm;
            const Prediction p = m->time(call, kTimeAlone).value();
            Figures out{ps(p.time), ps(p.algorithm_floor)};
            const auto engine = m->open_engine();
            const program::CallId id = engine->prepare(p.call).value();
            engine->start(id, 0, SimTime());
            out.push_back(ps(engine->advance(SimTime::max())->at.since_start()));
            for (const double b : engine->link_bytes()) out.push_back(b);
            return out;
          }};
}

/// Pieces of random sizes between the first `n` GPUs from `base`; the last two speak to each other alone.
inline program::CollectiveCall uneven_call(std::uint32_t base, std::uint32_t n) {
  RandomStream random(n, "pieces of pairs");
  program::CollectiveCall call = call_over(collectives::Collective::kAllToAllV, Bytes{std::uint64_t{n} << 20}, n);
  call.groups.base = base;
  call.algorithm = "direct";
  call.pairs.begin.assign(1, 0);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      const bool speak = a != b && (a + 2 < n) == (b + 2 < n);
      const auto piece = static_cast<std::uint32_t>(speak ? 1 + random.below(1000) : 0);
      call.pairs.begin.push_back(call.pairs.begin.back() + piece);
    }
  return call;
}

/// One exchange of uneven pieces alone, and two that meet on the GPUs that both have.
inline Case uneven(Machine machine) {
  return {machine.cluster + ", uneven", [=](const Shortcuts& shortcuts) {
            const auto m = machine.with(shortcuts);
            const std::uint32_t n = m->ranks();
            Figures out{ps(m->time(uneven_call(0, n), kTimeAlone)->time)};
            const auto engine = m->open_engine();
            for (const std::uint32_t base : {0u, n / 4}) {
              const program::CollectiveCall call = m->prepare(uneven_call(base, n - n / 4)).value();
              engine->start(engine->prepare(call).value(), base, SimTime());
            }
            while (const auto done = engine->advance(SimTime::max())) out.push_back(ps(done->at.since_start()));
            return out;
          }};
}

/// When each of the jobs ends.
inline Case jobs(Machine machine, collectives::Collective op, std::uint64_t bytes, std::string algorithm,
                 std::uint32_t of, std::uint32_t count) {
  return {machine.cluster + ", jobs", [=](const Shortcuts& shortcuts) {
            const auto m = machine.with(shortcuts);
            program::CollectiveCall call = call_over(op, Bytes{bytes}, of);
            call.algorithm = algorithm;
            const Prediction p = m->time(call, {.jobs = count, .floor = false, .relief = false}).value();
            Figures out;
            for (const Duration d : p.jobs) out.push_back(ps(d));
            return out;
          }};
}

/// Calls that come again and again and meet each other.
inline Case calls(Machine machine, std::string algorithm) {
  return {machine.cluster + ", calls", [=](const Shortcuts& shortcuts) {
            const auto m = machine.with(shortcuts);
            const auto engine = m->open_engine();
            std::vector<program::CallId> ids;
            const std::uint32_t half = m->ranks() / 2;
            for (const std::uint32_t first : {0u, half, half / 2}) {
              program::CollectiveCall call = call_over(collectives::Collective::kAllReduce, Bytes{48 << 20}, half);
              call.groups.base = first;
              call.algorithm = algorithm;
              ids.push_back(engine->prepare(m->prepare(call).value()).value());
            }
            Figures out;
            std::int64_t at = 0;
            for (std::uint64_t round = 0; round < 3; ++round) {
              for (std::size_t i = 0; i < ids.size(); ++i)
                engine->start(ids[i], i, SimTime::at(Duration::ps(at + Duration::us(70 * i * (round + 1)).in_ps())));
              while (const auto done = engine->advance(SimTime::max())) {
                out.push_back(ps(done->at.since_start()));
                at = done->at.since_start().in_ps();
              }
            }
            for (const double b : engine->link_bytes()) out.push_back(b);
            return out;
          }};
}

/// Transfers between random GPUs, which start at random times.
inline Case list(Machine machine, std::uint32_t flows) {
  return {machine.cluster + ", list", [=](const Shortcuts& shortcuts) {
            const auto m = machine.with(shortcuts);
            RandomStream random(1, "list of flows");
            program::FlowList list;
            while (list.flows.size() < flows) {
              const auto from = static_cast<std::uint32_t>(random.below(m->ranks()));
              const auto to = static_cast<std::uint32_t>(random.below(m->ranks()));
              if (from == to) continue;
              const routing::Placement& p = m->placement();
              list.flows.push_back({p.gpu(from), p.gpu(to), p.nic(from, 0), p.nic(to, 0),
                                    Bytes{1'000'000 + random.below(50'000'000)},
                                    SimTime::at(Duration::ns(static_cast<std::int64_t>(random.below(400'000))))});
              list.after.close_row();
            }
            const engine::FlowListResult r = engine::run_flow_list(m->router(), list, shortcuts).value();
            Figures out{ps(r.end.since_start())};
            for (const engine::FlowOutcome& f : r.flows) out.push_back(ps(f.fct));
            for (const engine::LinkUse& l : r.links) out.push_back(l.bytes);
            return out;
          }};
}

/// The messages of a schedule.
inline Case graph(Machine machine, std::string algorithm) {
  return {machine.cluster + ", graph", [=](const Shortcuts& shortcuts) {
            const auto m = machine.with(shortcuts);
            collectives::ScheduleSpec spec;
            spec.algorithm = algorithm;
            spec.op = collectives::Collective::kAllReduce;
            spec.ranks = m->ranks();
            const collectives::ExecutionPlan plan =
                collectives::plan_of(collectives::build_schedule(spec).value(), false).value();
            const program::MessageGraph messages = program::messages_of(plan, Bytes{16 << 20}, 2).value();
            const auto r = engine::run_messages(m->router(), m->placement(), m->protocol(), program::Protocol::kSimple,
                                                messages, shortcuts);
            Figures out{ps(r->end.since_start())};
            for (const engine::TaskOutcome& t : r->tasks) out.push_back(ps(t.done.since_start()));
            return out;
          }};
}

/// PCIe cards behind a leaf and a spine.
inline Machine machine_of_cards() {
  return {
      "{name: cards, nodes: 6, node: {base: h100-pcie, gpus: 4}, fabric: {kind: leaf-spine, "
      "network: roce-100g}}"};
}

inline std::vector<Case> cases() {
  constexpr std::uint64_t kMiB = 1 << 20;
  const Machine nvswitch{"dgx-h100"}, rails{"dgx-h100:4"}, cube{"dgx-1v"}, mesh{"mi300x-8:2"};
  const Machine torus{"tpu-v4:4"};
  const Machine cards = machine_of_cards();
  const std::string tree =
      "{name: tree, nodes: 24, node: {base: h100-pcie, gpus: 2}, fabric: {kind: fat-tree, network: roce-100g, switch: "
      "{ports: 8}}, routing: ";
  const Machine hashed{tree + "static}"}, sprayed{tree + "spray}"}, adaptive{tree + "adaptive}"};
  Machine damaged = adaptive, slow = sprayed, slow_rails = rails, held_up = rails, closed = rails;
  damaged.fail = {"leaf0-spine0"};
  slow.degrade = {"leaf1-spine1=0.4"};
  slow_rails.degrade = {"node1.nic3=0.5"};
  held_up.jitter = {"node2.nic1=1%x50us"};
  closed.engine = "analytic";
  std::vector<Case> out;
  for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllGather})
    for (const Machine& m : {nvswitch, rails, cube, mesh, torus, cards, slow_rails, held_up, closed})
      out.push_back(collective(m, op, 64 * kMiB));
  for (const Machine& m : {rails, torus, cards, hashed, sprayed, adaptive, damaged, slow, closed})
    out.push_back(collective(m, collectives::Collective::kAllToAll, 16 * kMiB, "direct"));
  Machine staged = hashed, staged_cards = cards;
  staged.cluster.insert(staged.cluster.find("gpus: 2"), "gpudirect: false, ");
  staged_cards.cluster.insert(staged_cards.cluster.find("gpus: 4"), "gpudirect: false, ");
  for (const Machine& m : {staged, staged_cards})
    out.push_back(collective(m, collectives::Collective::kAllToAll, 16 * kMiB, "direct"));
  for (const std::uint64_t bytes : {std::uint64_t{256}, 4 * kMiB, 512 * kMiB})
    out.push_back(collective({"hgx-h100-4:2"}, collectives::Collective::kAllReduce, bytes, "fastest"));
  out.push_back(collective({"hgx-h100-4:2"}, collectives::Collective::kAllGather, 64 * kMiB, "synthesized"));
  out.push_back(collective({"hgx-h100-4:2"}, collectives::Collective::kBroadcast, 64 * kMiB, "fastest"));
  out.push_back(
      collective({.cluster = "gaudi2-8", .engine = "analytic"}, collectives::Collective::kAllReduce, 256, "fastest"));
  out.push_back(collective(nvswitch, collectives::Collective::kAllGather, 64 * kMiB, "fastest"));
  for (const Machine& m : {nvswitch, cards}) out.push_back(uneven(m));
  out.push_back(collective(rails, collectives::Collective::kAllReduce, 64 * kMiB, "auto", 4));
  out.push_back(collective(cards, collectives::Collective::kAllReduce, 64 * kMiB, "auto", 8));
  for (const Machine& m : {cards, sprayed, damaged}) {
    out.push_back(jobs(m, collectives::Collective::kAllReduce, 32 * kMiB, "ring", 6, 4));
    out.push_back(calls(m, "hierarchical"));
  }
  for (const Machine& m : {cards, hashed, sprayed, adaptive, damaged}) out.push_back(list(m, 150));
  for (const Machine& m : {hashed, damaged}) out.push_back(graph(m, "ring"));
  return out;
}

}  // namespace busbar::predict::corpus
