#include "busbar/engine/flow/message_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "busbar/base/check.h"
#include "busbar/engine/flow/adaptive_rates.h"
#include "busbar/engine/flow/fixed_rates.h"
#include "busbar/engine/flow/fresh_rates.h"
#include "busbar/engine/flow/transfer_clock.h"
#include "busbar/lowering/crossings.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/routing/flow_name.h"

namespace busbar {
namespace {

/// The way of a message: links numbered densely, and what it takes beside the bytes.
struct Way {
  std::vector<std::uint32_t> links;
  std::vector<double> weights;
  double latency_ps = 0, rate = INFINITY;  ///< rate in bytes per ps, alone
  LinkId first = kNone<LinkId>;
};

class MessageRoutes {
 public:
  MessageRoutes(const Router& router, const Placement& placement, const ProtocolModel& model, Protocol protocol,
                const ChannelNics* nics)
      : router_(router),
        placement_(placement),
        nics_(nics),
        model_(model),
        costs_(costs_of(model, protocol)),
        shares_(rate_shares(model)),
        number_(topology().link_count(), kNone32) {}

  Result<const Way*> way(const MessageTask& m) {
    const auto [it, fresh] = ways_.try_emplace({m.from, m.to, m.channel});
    if (!fresh) return &it->second;
    std::vector<LinkShare> path;
    BUSBAR_RETURN_IF_ERROR(route(m, path));
    Way& w = it->second;
    w.latency_ps = static_cast<double>(overhead(m, path).in_ps());
    w.rate = cap();
    const double sent = sent_per_byte(m);
    for (const LinkShare& s : path) {
      std::uint32_t& n = number_[index(s.link)];
      if (n == kNone32) {
        n = static_cast<std::uint32_t>(link_of.size());
        link_of.push_back(s.link);
        capacity.push_back(rate(s.link));
      }
      w.links.push_back(n);
      w.weights.push_back(s.share * sent);
      w.latency_ps += s.share * static_cast<double>(topology().link_class(s.link).latency.in_ps());
      w.rate = std::min(w.rate, capacity[n] / (s.share * sent));
    }
    if (!path.empty()) w.first = path[0].link;
    return &w;
  }
  Status route(const MessageTask& m, std::vector<LinkShare>& path, const SplitBias& bias = kEqualSplit) const {
    return has_switch(m) ? by_switch(m, path) : between(m, bias, path);
  }
  double sent_per_byte(const MessageTask& m) const {
    return (has_switch(m) ? 1 / model_.share_switch : 1) / costs_.efficiency;
  }
  /// In bytes per ps.
  double rate(LinkId l) const {
    return topology().payload_rate(l) / kPsPerSecond * shares_.of(topology().link_class(l).kind);
  }
  double cap() const {
    const auto rate = static_cast<double>(per_second(model_.channel_rate));
    return rate > 0 ? rate / kPsPerSecond : INFINITY;
  }
  const Topology& topology() const { return router_.topology(); }

  std::vector<LinkId> link_of;   ///< dense number -> link
  std::vector<double> capacity;  ///< bytes per ps

 private:
  static bool has_switch(const MessageTask& m) {
    return m.from == MessageTask::kSwitch || m.to == MessageTask::kSwitch;
  }
  Status between(const MessageTask& m, const SplitBias& bias, std::vector<LinkShare>& path) const {
    const DeviceId a = placement_.gpu(m.from), b = placement_.gpu(m.to);
    if (topology().block_of(a) == topology().block_of(b))
      return router_.spread(a, b, kNone<DeviceId>, kNone<DeviceId>, 0, path);
    std::vector<Crossing> ways;
    find_crossings(router_, placement_, nics_, m.from, m.to, m.channel, ways);
    const std::size_t begin = path.size();
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const Crossing& w = ways[i];
      const auto number = static_cast<std::uint32_t>(m.channel * ways.size() + i);
      if (w.gpu != a) BUSBAR_RETURN_IF_ERROR(router_.spread(a, w.gpu, kNone<DeviceId>, kNone<DeviceId>, 0, path));
      BUSBAR_RETURN_IF_ERROR(router_.spread(w.gpu, b, w.nic_from, w.nic_to, flow_name(a, b, number), path, bias));
    }
    if (ways.size() == 1) return {};
    std::map<LinkId, double> shares;  // ways of several ports meet at the GPUs
    for (std::size_t i = begin; i < path.size(); ++i)
      shares[path[i].link] += path[i].share / static_cast<double>(ways.size());
    path.resize(begin);
    for (const auto& [link, share] : shares) path.push_back({link, share});
    return {};
  }
  /// Spread over the switches beside the GPU that can reduce, by their rates.
  Status by_switch(const MessageTask& m, std::vector<LinkShare>& path) const {
    const bool up = m.to == MessageTask::kSwitch;
    const DeviceId gpu = placement_.gpu(up ? m.from : m.to);
    double total = 0;
    for (const LinkId l : topology().out_links(gpu))
      if (topology().device_class(topology().to(l)).reduces) total += topology().payload_rate(l);
    if (total == 0)
      return Error{ErrorCode::kUnsupported,
                   fmt::format("no switch beside {} can reduce, which this plan needs", topology().name(gpu)),
                   {}};
    for (const LinkId l : topology().out_links(gpu))
      if (topology().device_class(topology().to(l)).reduces)
        path.push_back({up ? l : reverse(l), topology().payload_rate(l) / total});
    return {};
  }
  Duration overhead(const MessageTask& m, const std::vector<LinkShare>& path) const {
    if (has_switch(m)) return model_.step_switch;
    return send_overhead(costs_, topology(), placement_.gpu(m.from), placement_.gpu(m.to), path);
  }

  const Router& router_;
  const Placement& placement_;
  const ChannelNics* nics_;
  const ProtocolModel& model_;
  const ProtocolCosts costs_;
  const RateShares shares_;
  std::vector<std::uint32_t> number_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>, Way> ways_;
};

/// Rates: FixedRates, FreshRates or AdaptiveRates.
template <typename Rates>
class GraphRun {
 public:
  GraphRun(const MessageGraph& graph, const MessageRoutes& routes, const std::vector<const Way*>& ways, Rates& rates)
      : g_(graph),
        routes_(routes),
        ways_(ways),
        rates_(rates),
        clock_(rates, static_cast<std::uint32_t>(graph.tasks.size())),
        progress_(graph.tasks.size()) {
    out_.tasks.resize(g_.tasks.size());
    index_successors();
  }

  Result<MessageRun> run() {
    clock_.run([this](auto t, auto now) { start(t, now); }, [this](auto t, auto now) { end(t, now); });
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
    TaskEvent event;
  };

  void index_successors() {
    const auto n = static_cast<std::uint32_t>(g_.tasks.size());
    next_.begin.assign(n + 1, 0);
    for (const TaskEdge& e : g_.after.values) ++next_.begin[e.task + 1];
    for (std::uint32_t t = 0; t < n; ++t) next_.begin[t + 1] += next_.begin[t];
    next_.values.resize(g_.after.values.size());
    std::vector<std::uint32_t> at(next_.begin.begin(), next_.begin.end() - 1);
    for (std::uint32_t t = 0; t < n; ++t) {
      for (const TaskEdge& e : g_.after.row(t)) next_.values[at[e.task]++] = {t, e.event};
      progress_[t].waits_for = static_cast<std::uint32_t>(g_.after.row(t).size());
      if (progress_[t].waits_for == 0) clock_.start_at(t, 0);
    }
  }

  void release(std::uint32_t by, TaskEvent event, std::int64_t at_ps) {
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
    const MessageTask& m = g_.tasks[t];
    if (m.is_work() && m.unit != MessageTask::kNoUnit) {
      std::int64_t& free = free_at_[{m.from, m.unit}];
      now = std::max(now, free);
      free = now + m.work.in_ps();
    }
    out_.tasks[t].start = SimTime::at(Duration::ps(now));
    release(t, TaskEvent::kStarted, now);
    if (m.is_work()) return clock_.end_at(t, now + m.work.in_ps());
    const Way& w = *ways_[t];
    ++out_.messages;
    out_.bytes += count(m.bytes);
    out_.tasks[t].latency = duration_from_ps(w.latency_ps);
    if (count(m.bytes) == 0 || w.links.empty()) return clock_.end_at(t, now);
    clock_.send(t, static_cast<double>(count(m.bytes)), now);
  }

  void end(std::uint32_t t, std::int64_t now) {
    TaskOutcome& o = out_.tasks[t];
    if (clock_.sends(t)) o.held_by = rates_.held_by(t);
    o.sent = SimTime::at(Duration::ps(now));
    o.done = o.sent + o.latency;
    out_.end = std::max(out_.end, o.done);
    release(t, TaskEvent::kSent, now);
    release(t, TaskEvent::kDone, o.done.since_start().in_ps());
  }

  void find_loads() {
    std::vector<double> load(routes_.link_of.size(), 0.0);
    for (std::size_t t = 0; t < ways_.size(); ++t)
      for (std::size_t i = 0; ways_[t] != nullptr && i < ways_[t]->links.size(); ++i)
        load[ways_[t]->links[i]] += ways_[t]->weights[i] * static_cast<double>(count(g_.tasks[t].bytes));
    double most_ps = 0;
    for (std::size_t l = 0; l < load.size(); ++l) {
      const double wire =
          static_cast<double>(per_second(routes_.topology().link_class(routes_.link_of[l]).floor_rate())) /
          kPsPerSecond;
      most_ps = std::max(most_ps, load[l] / wire);
    }
    out_.algorithm_floor = duration_from_ps(most_ps);
  }

  /// Back from the task that ended last, by what released each: where did the time go?
  void find_bound() {
    std::uint32_t last = TaskOutcome::kNobodyReleased;
    for (std::uint32_t t = 0; t < out_.tasks.size(); ++t)
      if (last == TaskOutcome::kNobodyReleased || out_.tasks[t].done > out_.tasks[last].done) last = t;
    double most = 0;
    for (std::uint32_t t = last; t != TaskOutcome::kNobodyReleased; t = out_.tasks[t].released_by) {
      const TaskOutcome& o = out_.tasks[t];
      const MessageTask& m = g_.tasks[t];
      const Duration sending = o.sent - o.start;
      (m.is_work() ? out_.chain_work : out_.chain_transfer) += sending;
      out_.chain_latency += o.latency;
      const double weight = static_cast<double>((sending + o.latency).in_ps());
      if (m.is_work() || weight < most) continue;
      most = weight;
      out_.bound.link = o.held_by != kNone<LinkId> ? o.held_by : ways_[t]->first;
      const auto name = [](std::uint32_t r) {
        return r == MessageTask::kSwitch ? "switch" : fmt::format("rank {}", r);
      };
      out_.bound.phase = fmt::format("{} -> {}, channel {}", name(m.from), name(m.to), m.channel);
    }
    out_.bound.kind = out_.chain_latency > out_.chain_transfer ? BoundKind::kLatency : BoundKind::kBandwidth;
  }

  const MessageGraph& g_;
  const MessageRoutes& routes_;
  const std::vector<const Way*>& ways_;  ///< per task; null: work
  Rates& rates_;
  TransferClock<Rates> clock_;
  Csr<Next> next_;
  std::vector<Progress> progress_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> free_at_;
  std::size_t started_ = 0;
  MessageRun out_;
};

template <typename Rates>
Result<MessageRun> run_fixed(const MessageGraph& graph, const MessageRoutes& routes,
                             const std::vector<const Way*>& ways, const Shortcuts& shortcuts) {
  Rates rates(routes.link_of, routes.capacity, shortcuts);
  for (const Way* w : ways)
    if (w != nullptr)
      rates.add(w->links, w->weights, routes.cap());
    else
      rates.add({}, {}, 1);
  return GraphRun(graph, routes, ways, rates).run();
}

Result<MessageRun> run_adaptive(const Router& router, const MessageGraph& graph, const MessageRoutes& routes,
                                const std::vector<const Way*>& ways, const Shortcuts& shortcuts) {
  const auto way = [&](std::uint32_t task, const SplitBias& bias, std::vector<LinkShare>& path) {
    const MessageTask& m = graph.tasks[task];
    const Status found = routes.route(m, path, bias);
    BUSBAR_CHECK(found.ok());  // MessageRoutes::way() has gone there
    for (LinkShare& s : path) s.share *= routes.sent_per_byte(m);
  };
  const auto rate = [&](CapacityId c) { return routes.rate(c.link()); };
  AdaptiveRates rates(router, way, rate, routes.cap(), static_cast<std::uint32_t>(graph.tasks.size()), shortcuts);
  return GraphRun(graph, routes, ways, rates).run();
}

}  // namespace

Result<MessageRun> run_messages(const Router& router, const Placement& placement, const ProtocolModel& model,
                                Protocol protocol, const MessageGraph& graph, const Shortcuts& shortcuts) {
  if (graph.ranks > placement.ranks())
    return invalid(fmt::format("{} ranks, but only {} have a GPU", graph.ranks, placement.ranks()));
  MessageRoutes routes(router, placement, model, protocol, graph.nics.get());
  std::vector<const Way*> ways;
  for (const MessageTask& m : graph.tasks) {
    ways.push_back(nullptr);
    if (m.is_work()) continue;
    BUSBAR_ASSIGN(ways.back(), routes.way(m));
  }
  if (router.splits()) return run_adaptive(router, graph, routes, ways, shortcuts);
  return shortcuts.take(Shortcut::kOnlineRates) ? run_fixed<FixedRates>(graph, routes, ways, shortcuts)
                                                : run_fixed<FreshRates>(graph, routes, ways, shortcuts);
}

}  // namespace busbar
