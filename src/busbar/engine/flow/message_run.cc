#include "busbar/engine/flow/message_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "busbar/base/check.h"
#include "busbar/engine/flow/internal/adaptive_rates.h"
#include "busbar/engine/flow/internal/fixed_rates.h"
#include "busbar/engine/flow/internal/fresh_rates.h"
#include "busbar/floors/floor.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/lowering/send_routes.h"
#include "busbar/solve/transfer_clock.h"

namespace busbar::engine {
namespace {

/// The way of a message: capacities numbered densely, and its costs besides the bytes.
struct Way {
  std::vector<std::uint32_t> on;
  std::vector<double> weights;
  double latency_ps = 0, rate = INFINITY;  ///< rate in bytes per ps, alone
  bool between_servers = false;
  std::uint32_t number = 0;  ///< in order of first use
  topology::LinkId first = kNone<topology::LinkId>;
};

class MessageRoutes {
 public:
  MessageRoutes(const routing::Router& router, const routing::Placement& placement, const program::ProtocolModel& model,
                program::Protocol protocol, const program::ChannelNics* nics, const Shortcuts& shortcuts)
      : topology_(router.topology()),
        placement_(placement),
        nics_(nics),
        model_(model),
        protocol_(protocol),
        table_(router, model, {}, {}, shortcuts),
        routes_(router, placement, model, table_),
        number_(table_.counts(), kNone32) {
    if (table_.bundles()) shortcuts.take(Shortcut::kBundles);
  }
  MessageRoutes(const MessageRoutes&) = delete;
  MessageRoutes& operator=(const MessageRoutes&) = delete;

  Result<const Way*> way(const program::MessageTask& m) {
    const auto [it, fresh] = ways_.try_emplace({m.from, m.to, m.channel});
    if (!fresh) return &it->second;
    std::vector<routing::CapacityShare> path;
    Way& w = it->second;
    w.number = static_cast<std::uint32_t>(ways_.size()) - 1;
    BUSBAR_ASSIGN(w.latency_ps, route(m, routing::kEqualSplit, path));
    w.between_servers = between_servers(m);
    w.rate = cap();
    for (const routing::CapacityShare& s : path) {
      std::uint32_t& n = number_[s.on];
      if (n == kNone32) {
        n = static_cast<std::uint32_t>(capacity.size());
        link_of.push_back(table_.link_of(s.on));
        capacity.push_back(table_.rate(s.on));
        wire_rate.push_back(s.on.is_device() ? INFINITY : table_.wire_rate(s.on));
      }
      w.on.push_back(n);
      w.weights.push_back(s.share);
      w.rate = std::min(w.rate, capacity[n] / s.share);
    }
    if (!path.empty()) w.first = table_.link_of(path[0].on);
    return &w;
  }
  /// Appends what the message crosses, each capacity once, and the bytes there per byte of it. Returns its latency.
  Result<double> route(const program::MessageTask& m, const routing::SplitBias& bias,
                       std::vector<routing::CapacityShare>& path) {
    const bool up = m.to == program::MessageTask::kSwitch, with_switch = up || m.from == program::MessageTask::kSwitch;
    const std::uint32_t nic = m.channel;
    const lowering::SendEnds ends{m.from, m.to, std::span(&nic, 1), nics_, bias};
    const Result<double> latency_ps = with_switch
                                          ? routes_.next_to(placement_.gpu(up ? m.from : m.to), up, protocol_, path)
                                          : routes_.between(ends, protocol_, path);
    merge_shares(path);
    const program::ProtocolCosts costs = lowering::costs_of(model_, protocol_);
    const double sent = (with_switch ? 1 / costs.share_switch : 1) / costs.efficiency;
    for (routing::CapacityShare& s : path) s.share *= sent;
    return latency_ps;
  }
  /// Latency of a message of `bytes` that goes this way.
  Duration latency(const Way& w, Bytes bytes) const {
    const double sent = static_cast<double>(count(bytes)) / lowering::costs_of(model_, protocol_).efficiency;
    const Duration turn = w.between_servers ? model_.messages.of(sent) : Duration();
    return duration_from_ps(w.latency_ps) + turn;
  }
  double cap() const {
    const auto rate = static_cast<double>(per_second(model_.channel_rate));
    return rate > 0 ? rate / kPsPerSecond : INFINITY;
  }
  const lowering::CapacityTable& table() const { return table_; }

  // By dense number.
  std::vector<topology::LinkId> link_of;
  std::vector<double> capacity, wire_rate;  ///< bytes per ps; wire_rate: infinity of devices

 private:
  bool between_servers(const program::MessageTask& m) const {
    const auto block = [&](std::uint32_t rank) { return topology_.block_of(placement_.gpu(rank)); };
    return m.from != program::MessageTask::kSwitch && m.to != program::MessageTask::kSwitch &&
           block(m.from) != block(m.to);
  }
  /// Several ports, and data staged in host memory, may cross a capacity more than once.
  static void merge_shares(std::vector<routing::CapacityShare>& path) {
    std::map<routing::CapacityId, std::size_t> place;
    std::size_t size = 0;
    for (const routing::CapacityShare& s : path) {
      const auto [it, fresh] = place.try_emplace(s.on, size);
      if (fresh)
        path[size++] = s;
      else
        path[it->second].share += s.share;
    }
    path.resize(size);
  }

  const topology::Topology& topology_;
  const routing::Placement& placement_;
  const program::ChannelNics* nics_;
  const program::ProtocolModel& model_;
  program::Protocol protocol_;
  lowering::CapacityTable table_;
  lowering::SendRoutes routes_;
  routing::PerCapacity<std::uint32_t> number_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>, Way> ways_;
};

/// Rates: FixedRates, FreshRates or AdaptiveRates.
template <typename Rates>
class GraphRun {
 public:
  GraphRun(const program::MessageGraph& graph, const MessageRoutes& routes, const std::vector<const Way*>& ways,
           Rates& rates, StopFlag stop)
      : g_(graph),
        routes_(routes),
        ways_(ways),
        rates_(rates),
        stop_(stop),
        clock_(rates, static_cast<std::uint32_t>(graph.tasks.size()), stop),
        progress_(graph.tasks.size()) {
    out_.tasks.resize(g_.tasks.size());
    index_successors();
  }

  Result<MessageRun> run() {
    clock_.run([this](auto t, auto now) { start(t, now); }, [this](auto t, auto now) { end(t, now); });
    if (stops(stop_)) return interrupted();
    if (started_ != g_.tasks.size())
      return invalid(fmt::format("{} of {} messages and pieces of work wait for each other", g_.tasks.size() - started_,
                                 g_.tasks.size()));
    find_loads();
    find_bound();
    return std::move(out_);
  }

 private:
  struct Progress {
    std::int64_t ready_ps = 0;
    std::uint32_t waits_for = 0;
  };
  struct Next {
    std::uint32_t task;
    program::TaskEvent event;
  };

  void index_successors() {
    const auto n = static_cast<std::uint32_t>(g_.tasks.size());
    next_.begin.assign(n + 1, 0);
    for (const program::TaskEdge& e : g_.after.values) ++next_.begin[e.task + 1];
    for (std::uint32_t t = 0; t < n; ++t) next_.begin[t + 1] += next_.begin[t];
    next_.values.resize(g_.after.values.size());
    std::vector<std::uint32_t> at(next_.begin.begin(), next_.begin.end() - 1);
    for (std::uint32_t t = 0; t < n; ++t) {
      for (const program::TaskEdge& e : g_.after.row(t)) next_.values[at[e.task]++] = {t, e.event};
      progress_[t].waits_for = static_cast<std::uint32_t>(g_.after.row(t).size());
      if (progress_[t].waits_for == 0) clock_.start_at(t, 0);
    }
  }

  void release(std::uint32_t by, program::TaskEvent event, std::int64_t at_ps) {
    for (const Next& n : next_.row(by)) {
      if (n.event != event) continue;
      Progress& p = progress_[n.task];
      if (at_ps >= p.ready_ps) {
        p.ready_ps = at_ps;
        out_.tasks[n.task].released_by = by;
      }
      if (--p.waits_for == 0) clock_.start_at(n.task, p.ready_ps);
    }
  }

  void start(std::uint32_t t, std::int64_t now) {
    ++started_;
    const program::MessageTask& m = g_.tasks[t];
    if (m.is_work() && m.unit != program::MessageTask::kNoUnit) {
      std::int64_t& free = free_at_[{m.from, m.unit}];
      now = std::max(now, free);
      free = now + m.work.in_ps();
    }
    out_.tasks[t].start = SimTime::at(Duration::ps(now));
    release(t, program::TaskEvent::kStarted, now);
    if (m.is_work()) return clock_.end_at(t, now + m.work.in_ps());
    const Way& w = *ways_[t];
    ++out_.messages;
    out_.bytes += count(m.bytes);
    out_.tasks[t].latency = routes_.latency(w, m.bytes);
    if (count(m.bytes) == 0 || w.on.empty()) return clock_.end_at(t, now);
    clock_.send(t, static_cast<double>(count(m.bytes)), now);
  }

  void end(std::uint32_t t, std::int64_t now) {
    TaskOutcome& o = out_.tasks[t];
    if (clock_.sends(t)) o.held_by = rates_.held_by(t);
    o.sent = SimTime::at(Duration::ps(now));
    o.done = o.sent + o.latency;
    out_.end = std::max(out_.end, o.done);
    release(t, program::TaskEvent::kSent, now);
    release(t, program::TaskEvent::kDone, o.done.since_start().in_ps());
  }

  void find_loads() {
    std::vector<double> load(routes_.capacity.size(), 0.0);
    for (std::size_t t = 0; t < ways_.size(); ++t)
      for (std::size_t i = 0; ways_[t] != nullptr && i < ways_[t]->on.size(); ++i)
        load[ways_[t]->on[i]] += ways_[t]->weights[i] * static_cast<double>(count(g_.tasks[t].bytes));
    double most_ps = 0;
    for (std::size_t n = 0; n < load.size(); ++n) most_ps = std::max(most_ps, load[n] / routes_.wire_rate[n]);
    out_.algorithm_floor = floors::floor_from_ps(most_ps);
  }

  /// Back from the task that ended last, by what released each: where did the time go?
  void find_bound() {
    std::uint32_t last = kNone32;
    for (std::uint32_t t = 0; t < out_.tasks.size(); ++t)
      if (last == kNone32 || out_.tasks[t].done > out_.tasks[last].done) last = t;
    double most = 0;
    for (std::uint32_t t = last; t != kNone32; t = out_.tasks[t].released_by) {
      const TaskOutcome& o = out_.tasks[t];
      const program::MessageTask& m = g_.tasks[t];
      const Duration sending = o.sent - o.start;
      (m.is_work() ? out_.chain_work : out_.chain_transfer) += sending;
      out_.chain_latency += o.latency;
      const double weight = static_cast<double>((sending + o.latency).in_ps());
      if (m.is_work() || weight < most) continue;
      most = weight;
      out_.bound.link = o.held_by != kNone<topology::LinkId> ? o.held_by : ways_[t]->first;
      const auto name = [](std::uint32_t r) {
        return r == program::MessageTask::kSwitch ? "switch" : fmt::format("rank {}", r);
      };
      out_.bound.phase = fmt::format("{} -> {}, channel {}", name(m.from), name(m.to), m.channel);
    }
    out_.bound.kind =
        out_.chain_latency > out_.chain_transfer ? lowering::BoundKind::kLatency : lowering::BoundKind::kBandwidth;
  }

  const program::MessageGraph& g_;
  const MessageRoutes& routes_;
  const std::vector<const Way*>& ways_;  ///< per task; null: work
  Rates& rates_;
  StopFlag stop_;
  solve::TransferClock<Rates> clock_;
  Csr<Next> next_;
  std::vector<Progress> progress_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> free_at_;
  std::size_t started_ = 0;
  MessageRun out_;
};

template <typename Rates>
Result<MessageRun> run_fixed(const program::MessageGraph& graph, const MessageRoutes& routes,
                             const std::vector<const Way*>& ways, const Shortcuts& shortcuts, StopFlag stop) {
  Rates rates(routes.link_of, routes.capacity, shortcuts);
  for (const Way* w : ways)
    if (w != nullptr)
      rates.add(w->on, w->weights, routes.cap());
    else
      rates.add({}, {}, 1);
  return GraphRun(graph, routes, ways, rates, stop).run();
}

Result<MessageRun> run_adaptive(const routing::Router& router, const program::MessageGraph& graph,
                                MessageRoutes& routes, const std::vector<const Way*>& ways, const Shortcuts& shortcuts,
                                StopFlag stop) {
  const auto way = [&](std::uint32_t task, const routing::SplitBias& bias, std::vector<routing::CapacityShare>& path) {
    const bool found = routes.route(graph.tasks[task], bias, path).ok();
    BUSBAR_CHECK(found);  // MessageRoutes::way() has gone there
  };
  const lowering::CapacityTable& table = routes.table();
  const auto rate = [&](routing::CapacityId c) { return table.rate(c); };
  AdaptiveRates rates(router, way, table.counts(), rate, routes.cap(), static_cast<std::uint32_t>(graph.tasks.size()),
                      shortcuts);
  return GraphRun(graph, routes, ways, rates, stop).run();
}

}  // namespace

Result<MessageWays> ways_of_messages(const routing::Router& router, const routing::Placement& placement,
                                     const program::ProtocolModel& model, program::Protocol protocol,
                                     const program::MessageGraph& graph) {
  MessageRoutes routes(router, placement, model, protocol, graph.nics.get(), {});
  MessageWays out;
  for (const program::MessageTask& m : graph.tasks) {
    out.of.push_back(kNone32);
    if (m.is_work()) continue;
    BUSBAR_ASSIGN(const Way* const way, routes.way(m));
    out.of.back() = way->number;
    if (way->number < out.links.rows()) continue;
    std::vector<routing::CapacityShare> path;
    BUSBAR_RETURN_IF_ERROR(routes.route(m, routing::kEqualSplit, path));
    for (const routing::CapacityShare& s : path)
      routes.table().for_each_link(s.on, [&](topology::LinkId l, double part) {
        out.links.values.push_back({l, s.share * part});
      });
    out.links.close_row();
  }
  return out;
}

Result<MessageRun> run_messages(const routing::Router& router, const routing::Placement& placement,
                                const program::ProtocolModel& model, program::Protocol protocol,
                                const program::MessageGraph& graph, const Shortcuts& shortcuts, StopFlag stop) {
  if (graph.ranks > placement.ranks())
    return invalid(fmt::format("{} ranks, but only {} have a GPU", graph.ranks, placement.ranks()));
  MessageRoutes routes(router, placement, model, protocol, graph.nics.get(), shortcuts);
  std::vector<const Way*> ways;
  for (const program::MessageTask& m : graph.tasks) {
    if (stops(stop)) return interrupted();
    ways.push_back(nullptr);
    if (m.is_work()) continue;
    BUSBAR_ASSIGN(ways.back(), routes.way(m));
  }
  if (router.splits()) return run_adaptive(router, graph, routes, ways, shortcuts, stop);
  return shortcuts.take(Shortcut::kOnlineRates) ? run_fixed<FixedRates>(graph, routes, ways, shortcuts, stop)
                                                : run_fixed<FreshRates>(graph, routes, ways, shortcuts, stop);
}

}  // namespace busbar::engine
