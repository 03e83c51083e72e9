#include "busbar/engine/flow/flow_list.h"

#include <algorithm>
#include <cmath>

#include "busbar/engine/adaptive.h"
#include "busbar/engine/flow/end_queue.h"
#include "busbar/engine/online_max_min.h"

namespace busbar {
namespace {

constexpr double kPsPerSecond = 1e12;
constexpr std::uint32_t kUnused = 0xffff'ffffu;

/// The links of all flows, numbered densely as they are met.
struct Paths {
  std::vector<std::uint32_t> number;          ///< link -> dense number
  std::vector<LinkId> link_of;                ///< dense number -> link
  std::vector<double> capacity;               ///< bytes per ps
  std::vector<LinkUse> use;                   ///< by dense number
  Csr<std::uint32_t> links;                   ///< per flow
  std::vector<double> weights;                ///< beside links.values
  std::vector<double> latency_ps, narrowest;  ///< per flow; narrowest in bytes per ps, infinity on no link

  Status route(const Router& router, const FlowList& list);
};

/// Under adaptive routing the split that evens the loads of the whole list best.
Result<Paths> paths_of(const Router& router, const FlowList& list) {
  const bool adaptive = router.policy() == RoutingPolicy::kAdaptive;
  if (adaptive) {
    BUSBAR_RETURN_IF_ERROR(lean_well(router, [&]() -> Result<SplitTrial> {
      Paths paths;
      BUSBAR_RETURN_IF_ERROR(paths.route(router, list));
      SplitTrial out{1, std::vector<double>(router.topology().link_count(), 0.0)};
      for (std::size_t n = 0; n < paths.use.size(); ++n) {
        double& load = out.load_ps[index(paths.link_of[n])] = paths.use[n].bytes / paths.capacity[n];
        out.cost = std::max(out.cost, load);
      }
      return out;
    }));
  }
  Paths out;
  const Status routed = out.route(router, list);
  if (adaptive) router.set_lean({});
  BUSBAR_RETURN_IF_ERROR(routed);
  return out;
}

Status Paths::route(const Router& router, const FlowList& list) {
  const Topology& t = router.topology();
  number.assign(t.link_count(), kUnused);
  std::vector<LinkShare> path;
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
    const ListedFlow& flow = list.flows[f];
    path.clear();
    BUSBAR_RETURN_IF_ERROR(
        spread_reaching(router, list.reach, flow.from, flow.to, flow.nic_from, flow.nic_to, f, path));
    double latency = 0, rate = INFINITY;
    for (const LinkShare& s : path) {
      std::uint32_t& n = number[index(s.link)];
      if (n == kUnused) {
        n = static_cast<std::uint32_t>(link_of.size());
        link_of.push_back(s.link);
        capacity.push_back(t.payload_rate(s.link) / kPsPerSecond);
        use.push_back({s.link});
      }
      use[n].bytes += s.share * static_cast<double>(count(flow.bytes));
      ++use[n].flows;
      links.values.push_back(n);
      weights.push_back(s.share);
      latency += s.share * static_cast<double>(t.link_class(s.link).latency.in_ps());
      rate = std::min(rate, capacity[n] / s.share);
    }
    links.close_row();
    latency_ps.push_back(latency);
    narrowest.push_back(rate);
  }
  return {};
}

/// The clockwork: starts and ends in order of (time, flow), all of one picosecond before rates are settled.
class ListRun {
 public:
  ListRun(const FlowList& list, const Paths& paths) : list_(list), paths_(paths), solver_(paths.capacity) {
    const auto n = static_cast<std::uint32_t>(list.flows.size());
    for (std::uint32_t f = 0; f < n; ++f) {
      const std::uint32_t begin = paths.links.begin[f], size = paths.links.begin[f + 1] - begin;
      solver_.add_flow(paths.links.row(f), std::span(paths.weights).subspan(begin, size), INFINITY);
    }
    out_.flows.resize(n);
    progress_.resize(n);
    starts_.reset(n);
    ends_.reset(n);
    index_successors();
  }

  FlowListResult run() {
    while (!starts_.empty() || !ends_.empty()) {
      const std::int64_t now =
          std::min(starts_.empty() ? INT64_MAX : starts_.next_ps(), ends_.empty() ? INT64_MAX : ends_.next_ps());
      while (!ends_.empty() && ends_.next_ps() == now) end(ends_.next_item(), now);
      while (!starts_.empty() && starts_.next_ps() == now) start(starts_.next_item(), now);
      settle(now);
      ++out_.events;
    }
    for (const std::uint32_t n : paths_.number)
      if (n != kUnused && paths_.use[n].bytes > 0) out_.links.push_back(paths_.use[n]);
    return std::move(out_);
  }

 private:
  struct Progress {
    double left = 0, rate = 0;
    std::int64_t updated_ps = 0, ready_ps = 0;
    std::uint32_t waits_for = 0;
  };

  void index_successors() {
    successors_ = successors_of(list_);
    for (std::uint32_t f = 0; f < list_.flows.size(); ++f) {
      progress_[f].waits_for = static_cast<std::uint32_t>(list_.after.row(f).size());
      progress_[f].ready_ps = list_.flows[f].start.since_start().in_ps();
      if (progress_[f].waits_for == 0) starts_.set(f, progress_[f].ready_ps);
    }
  }

  void start(std::uint32_t f, std::int64_t now) {
    starts_.erase(f);
    FlowOutcome& o = out_.flows[f];
    o.start = SimTime::at(Duration::ps(now));
    o.latency = duration_from_ps(paths_.latency_ps[f]);
    const auto bytes = static_cast<double>(count(list_.flows[f].bytes));
    o.transfer = duration_from_ps(bytes / paths_.narrowest[f]);
    if (o.transfer == Duration()) return arrive(f, now);
    progress_[f].left = bytes;
    progress_[f].rate = 0;
    progress_[f].updated_ps = now;
    solver_.open(f);
  }

  void end(std::uint32_t f, std::int64_t now) {
    ends_.erase(f);
    const std::uint32_t l = solver_.held_by(f);
    if (l != OnlineMaxMin::kNobody) out_.flows[f].held_by = paths_.link_of[l];
    solver_.close(f);
    arrive(f, now);
  }

  void arrive(std::uint32_t f, std::int64_t sent_ps) {
    FlowOutcome& o = out_.flows[f];
    const Duration sending = Duration::ps(sent_ps) - o.start.since_start();
    o.sharing = std::max(Duration(), sending - o.transfer);  // both are rounded up: the difference may be -1 ps
    o.transfer = sending - o.sharing;
    o.fct = sending + o.latency;
    out_.end = std::max(out_.end, o.start + o.fct);
    for (const std::uint32_t next : successors_.row(f)) {
      Progress& p = progress_[next];
      const bool acked = list_.flows[next].trigger == FlowTrigger::kAcked;
      p.ready_ps = std::max(p.ready_ps, sent_ps + o.latency.in_ps() * (acked ? 2 : 1));
      if (--p.waits_for == 0) starts_.set(next, p.ready_ps);
    }
  }

  void settle(std::int64_t now) {
    solver_.settle();
    for (const std::uint32_t f : solver_.changed()) {
      Progress& p = progress_[f];
      p.left = std::max(0.0, p.left - p.rate * static_cast<double>(now - p.updated_ps));
      p.rate = solver_.rate(f);
      p.updated_ps = now;
      ends_.set(f, now + duration_from_ps(p.left / p.rate).in_ps());
    }
    out_.rate_changes += solver_.changed().size();
  }

  const FlowList& list_;
  const Paths& paths_;
  OnlineMaxMin solver_;
  Csr<std::uint32_t> successors_;
  std::vector<Progress> progress_;
  EndQueue starts_, ends_;
  FlowListResult out_;
};

}  // namespace

Csr<std::uint32_t> successors_of(const FlowList& list) {
  const auto n = static_cast<std::uint32_t>(list.flows.size());
  Csr<std::uint32_t> out;
  out.begin.assign(n + 1, 0);
  for (const std::uint32_t before : list.after.values) ++out.begin[before + 1];
  for (std::uint32_t f = 0; f < n; ++f) out.begin[f + 1] += out.begin[f];
  out.values.resize(list.after.values.size());
  std::vector<std::uint32_t> at(out.begin.begin(), out.begin.end() - 1);
  for (std::uint32_t f = 0; f < n; ++f)
    for (const std::uint32_t before : list.after.row(f)) out.values[at[before]++] = f;
  return out;
}

Result<FlowListResult> run_flow_list(const Router& router, const FlowList& list) {
  BUSBAR_ASSIGN(const Paths paths, paths_of(router, list));
  return ListRun(list, paths).run();
}

}  // namespace busbar
