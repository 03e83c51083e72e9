// Rounds send by send: a rank ends a round when all that it sends and receives in it has ended, so ranks run ahead of
// each other, and sends of different rounds share links.
#include <cmath>
#include <map>

#include "busbar/lowering/internal/online_rates.h"
#include "busbar/lowering/internal/run_times.h"
#include "busbar/solve/transfer_clock.h"

namespace busbar::lowering {
namespace {

/// Which rank is in which round.
class Rounds {
 public:
  Rounds(std::span<const RoundSend> sends, std::uint32_t ranks)
      : sends_(sends),
        rounds_(sends.empty() ? 0 : sends.back().round + 1),
        next_(ranks, 0),
        ready_ps_(ranks, 0),
        left_(std::size_t{ranks} * rounds_),
        done_ps_(left_.size(), 0) {
    own_.begin.assign(left_.size() + 1, 0);
    for (const RoundSend& s : sends) {
      ++left_[at(s.from, s.round)];
      ++left_[at(s.to, s.round)];
      ++own_.begin[at(s.from, s.round) + 1];
    }
    for (std::size_t i = 0; i < left_.size(); ++i) own_.begin[i + 1] += own_.begin[i];
    std::vector<std::uint32_t> place(own_.begin.begin(), own_.begin.end() - 1);
    own_.values.resize(sends.size());
    for (std::uint32_t i = 0; i < sends.size(); ++i) own_.values[place[at(sends[i].from, sends[i].round)]++] = i;
  }
  std::int64_t ready_ps(std::uint32_t send) const { return ready_ps_[sends_[send].from]; }

  /// Calls start(send, ps) for what a rank sends first.
  template <typename Start>
  void begin(Start start) {
    for (std::uint32_t rank = 0; rank < next_.size(); ++rank) enter(rank, start);
  }
  /// The send has left its rank, and arrives later.
  template <typename Start>
  void end(std::uint32_t send, std::int64_t left_ps, std::int64_t there_ps, Start start) {
    const RoundSend& s = sends_[send];
    end_at(s.from, s.round, left_ps, start);
    end_at(s.to, s.round, there_ps, start);
  }

 private:
  std::size_t at(std::uint32_t rank, std::uint32_t round) const { return std::size_t{rank} * rounds_ + round; }
  /// Goes on to the first round in which something is left to be done.
  template <typename Start>
  void enter(std::uint32_t rank, Start start) {
    for (; next_[rank] < rounds_; ++next_[rank]) {
      const std::size_t i = at(rank, next_[rank]);
      for (const std::uint32_t send : own_.row(static_cast<std::uint32_t>(i))) start(send, ready_ps_[rank]);
      if (left_[i] > 0) return;
      ready_ps_[rank] = std::max(ready_ps_[rank], done_ps_[i]);
    }
  }
  template <typename Start>
  void end_at(std::uint32_t rank, std::uint32_t round, std::int64_t ps, Start start) {
    const std::size_t i = at(rank, round);
    done_ps_[i] = std::max(done_ps_[i], ps);
    if (--left_[i] > 0 || next_[rank] != round) return;
    ready_ps_[rank] = std::max(ready_ps_[rank], done_ps_[i]);
    ++next_[rank];
    enter(rank, start);
  }

  std::span<const RoundSend> sends_;
  std::uint32_t rounds_;
  std::vector<std::uint32_t> next_;     ///< per rank: its round
  std::vector<std::int64_t> ready_ps_;  ///< per rank: when it began that
  std::vector<std::uint32_t> left_;     ///< per rank and round: sends and receives that have not ended
  std::vector<std::int64_t> done_ps_;   ///< likewise: the latest end
  Csr<std::uint32_t> own_;              ///< likewise: the rank's sends
};

}  // namespace

void RunTimes::follow_rounds(OpenRun& run, std::span<const RoundSend> sends, std::uint32_t ranks) const {
  std::map<routing::CapacityId, std::uint32_t> number;
  std::vector<double> capacity;
  for (const routing::CapacityShare& l : run.path)
    if (number.try_emplace(l.on, static_cast<std::uint32_t>(capacity.size())).second)
      capacity.push_back(table_.rate(l.on));
  OnlineRates rates{solve::OnlineMaxMin(std::move(capacity), shortcuts_)};
  const double cap = plan_->lanes.cap;
  for (const Connection& c : run.connections) {
    std::map<std::uint32_t, double> weight_on;
    for (std::uint32_t k = c.begin; k < c.end; ++k)
      if (run.path[k].share > 0) weight_on[number[run.path[k].on]] += run.path[k].share * plan_->sent.of(c);
    std::vector<std::uint32_t> on;
    std::vector<double> weights;
    for (const auto& [link, w] : weight_on) on.push_back(link), weights.push_back(w);
    rates.solver.add_flow(on, weights, cap > 0 ? cap : INFINITY);
  }
  solve::TransferClock clock(rates, static_cast<std::uint32_t>(run.connections.size()));
  Rounds rounds(sends, ranks);
  const auto start = [&](std::uint32_t send, std::int64_t ps) { clock.start_at(send, ps); };
  rounds.begin(start);
  clock.run(
      [&](std::uint32_t send, std::int64_t now) {
        const Connection& c = run.connections[send];
        if (c.bytes == 0 || c.begin == c.end) return clock.end_at(send, now);
        clock.send(send, c.bytes, now);
      },
      [&](std::uint32_t send, std::int64_t now) {
        Connection& c = run.connections[send];
        c.transfer_ps = static_cast<double>(now - rounds.ready_ps(send));
        rounds.end(send, now, now + static_cast<std::int64_t>(std::llround(c.latency_ps)), start);
      });
}

}  // namespace busbar::lowering
