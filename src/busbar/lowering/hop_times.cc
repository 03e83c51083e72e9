// Trees and chains hop by hop: a link carries first what came first, and at one rate what came at one time.
#include "busbar/lowering/internal/hop_times.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "busbar/base/csr.h"

namespace busbar::lowering {
namespace {

/// The sends of trees and chains, chunk after chunk, in the order in which they become possible. A hop sends a chunk
/// when it is there and the one before has left.
class HopQueue {
 public:
  struct Event {
    double at_ps;
    std::uint32_t hop;
    bool operator>(const Event& o) const { return std::tie(at_ps, hop) > std::tie(o.at_ps, o.hop); }
  };

  HopQueue(std::span<const HopRun> runs, std::uint32_t chunks) : chunks_(chunks) {
    std::uint32_t stages = 0;
    for (const HopRun& r : runs) stages = std::max(stages, r.stage + 1);
    std::vector<std::uint32_t> last(stages, 0);  // hops with which a stage ends
    first_.resize(stages);
    for (const HopRun& r : runs) add(r, last[r.stage]);
    close_rows();
    for (const std::uint32_t n : last) left_.insert(left_.end(), chunks, n);
    end_ps_.assign(left_.size(), 0.0);
    ready_ps_.assign(waits_.size(), 0.0);
    for (std::uint32_t h = 0; h < hops_.size(); ++h) offer(h);
  }

  const HopRun& run(std::uint32_t hop) const { return *hops_[hop].run; }
  Connection& connection(std::uint32_t hop) const { return run(hop).run->connections[hop - hops_[hop].base]; }

  /// All that become possible next, at one time.
  std::span<const Event> pop() {
    constexpr double kAlike = 1e-9;  // round-off
    batch_.clear();
    while (!queue_.empty() && (batch_.empty() || queue_.top().at_ps <= batch_[0].at_ps * (1 + kAlike))) {
      batch_.push_back(queue_.top());
      queue_.pop();
    }
    return batch_;
  }

  /// The hop's chunk leaves by `left_ps` and arrives at `there_ps`.
  void send(std::uint32_t hop, double left_ps, double there_ps) {
    Hop& h = hops_[hop];
    const std::uint32_t chunk = h.next++;
    h.free_ps = left_ps;
    for (const std::uint32_t f : followers_.row(hop)) arrive(f, chunk, there_ps);
    if (h.last) end(h.run->stage, chunk, there_ps);
    offer(hop);
  }

  /// Per stage, when its last chunk is there.
  std::vector<double> ends() const {
    std::vector<double> out;
    for (std::size_t i = chunks_ - 1; i < end_ps_.size(); i += chunks_) out.push_back(end_ps_[i]);
    return out;
  }

 private:
  struct Hop {
    const HopRun* run;
    std::uint32_t base;  ///< number of the first hop of its run
    std::uint32_t next;  ///< chunk
    double free_ps;
    bool last;
  };

  void add(const HopRun& r, std::uint32_t& last) {
    const auto base = static_cast<std::uint32_t>(hops_.size());
    const auto& hops = r.run->connections;
    std::vector<std::uint32_t> waits(hops.size(), 0), followers(hops.size(), 0);
    for (std::uint32_t i = 0; i < hops.size(); ++i) {
      const std::uint32_t t = hops[i].toward_root;
      if (t == kNone32) continue;
      ++waits[r.up ? t : i];
      ++followers[r.up ? i : t];
      links_.push_back(r.up ? std::pair(base + i, base + t) : std::pair(base + t, base + i));
    }
    for (std::uint32_t i = 0; i < hops.size(); ++i) {
      hops_.push_back({&r, base, 0, 0, followers[i] == 0});
      last += followers[i] == 0;
      if (waits[i] == 0) first_[r.stage].push_back(base + i);
      if (waits[i] == 0 && r.waits) waits[i] = 1;
      waits_.insert(waits_.end(), chunks_, waits[i]);
    }
  }
  void close_rows() {
    followers_.begin.assign(hops_.size() + 1, 0);
    for (const auto& [from, to] : links_) ++followers_.begin[from + 1];
    for (std::size_t i = 0; i < hops_.size(); ++i) followers_.begin[i + 1] += followers_.begin[i];
    std::vector<std::uint32_t> at(followers_.begin.begin(), followers_.begin.end() - 1);
    followers_.values.resize(links_.size());
    for (const auto& [from, to] : links_) followers_.values[at[from]++] = to;
  }
  std::size_t at(std::uint32_t hop, std::uint32_t chunk) const { return std::size_t{hop} * chunks_ + chunk; }
  void offer(std::uint32_t hop) {
    const Hop& h = hops_[hop];
    if (h.next < chunks_ && waits_[at(hop, h.next)] == 0)
      queue_.push({std::max(h.free_ps, ready_ps_[at(hop, h.next)]), hop});
  }
  void arrive(std::uint32_t hop, std::uint32_t chunk, double at_ps) {
    const std::size_t i = at(hop, chunk);
    ready_ps_[i] = std::max(ready_ps_[i], at_ps);
    if (--waits_[i] == 0 && hops_[hop].next == chunk) offer(hop);
  }
  void end(std::uint32_t stage, std::uint32_t chunk, double at_ps) {
    const std::size_t i = at(stage, chunk);
    end_ps_[i] = std::max(end_ps_[i], at_ps);
    if (--left_[i] > 0 || stage + 1 >= first_.size()) return;
    for (const std::uint32_t hop : first_[stage + 1])
      if (run(hop).waits) arrive(hop, chunk, end_ps_[i]);
  }

  std::uint32_t chunks_;
  std::vector<Hop> hops_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links_;  ///< a hop and one that sends on what it brings
  Csr<std::uint32_t> followers_;
  std::vector<std::vector<std::uint32_t>> first_;  ///< per stage: hops that wait for none of it
  std::vector<std::uint32_t> waits_, left_;        ///< per hop and chunk; per stage and chunk
  std::vector<double> ready_ps_, end_ps_;          ///< likewise
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<Event> batch_;
};

}  // namespace

/// Per run, along its path. Numbers the links as they occur.
std::vector<std::vector<HopTimes::Crossing>> HopTimes::crossings_of(std::span<const HopRun> runs, const SentBytes& sent,
                                                                    std::vector<Link>& links) {
  std::vector<std::vector<Crossing>> out;
  for (const HopRun& r : runs) {
    const std::vector<routing::CapacityShare>& path = r.run->path;
    std::vector<Crossing>& row = out.emplace_back(path.size());
    for (const Connection& c : r.run->connections)
      for (std::uint32_t k = c.begin; k < c.end; ++k) {
        std::uint32_t& number = number_[path[k].on];
        if (number == kNone32) {
          number = static_cast<std::uint32_t>(links.size());
          links.push_back({table_.rate(path[k].on)});
        }
        row[k] = {number, path[k].share * c.bytes * sent.of(c)};
      }
  }
  for (const HopRun& r : runs)
    for (const routing::CapacityShare& l : r.run->path) number_[l.on] = kNone32;
  return out;
}

std::vector<double> HopTimes::send(std::span<const HopRun> runs, std::uint32_t chunks, double cap,
                                   const SentBytes& sent) {
  HopQueue queue(runs, chunks);
  std::vector<Link> links;
  const std::vector<std::vector<Crossing>> crossings = crossings_of(runs, sent, links);
  const auto hop_on = [&](const HopQueue::Event& e, const Connection& c) {
    const auto run = static_cast<std::size_t>(&queue.run(e.hop) - runs.data());
    return std::span(crossings[run]).subspan(c.begin, c.end - c.begin);
  };
  std::vector<std::uint32_t> met;
  for (auto batch = queue.pop(); !batch.empty(); batch = queue.pop()) {
    for (const HopQueue::Event& e : batch)
      for (const Crossing& on : hop_on(e, queue.connection(e.hop))) {
        if (links[on.link].load == 0) met.push_back(on.link);
        links[on.link].load += on.bytes;
      }
    const double now = batch[0].at_ps;
    for (const std::uint32_t l : met) {
      Link& link = links[l];
      link.free_at = std::max(link.free_at, now) + std::exchange(link.load, 0) / link.rate;
    }
    met.clear();
    for (const HopQueue::Event& e : batch) {
      Connection& c = queue.connection(e.hop);
      c.transfer_ps = cap > 0 ? c.bytes / cap : 0;
      for (const Crossing& on : hop_on(e, c)) c.transfer_ps = std::max(c.transfer_ps, links[on.link].free_at - now);
    }
    for (const HopQueue::Event& e : batch) {
      const Connection& c = queue.connection(e.hop);
      queue.send(e.hop, now + c.transfer_ps, now + c.transfer_ps + c.latency_ps);
    }
  }
  return queue.ends();
}

}  // namespace busbar::lowering
