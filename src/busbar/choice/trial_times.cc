#include "busbar/choice/trial_times.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "busbar/base/cores.h"
#include "busbar/lowering/lowering.h"

namespace busbar::choice {
namespace {

using Clock = std::chrono::steady_clock;

/// The sum of the link times of all stages; 0 if the engine does not give them.
double simple_links_ps(const lowering::LoweredCall* lowered) {
  double sum = 0;
  for (std::size_t s = 0; lowered != nullptr && s < lowered->stages.size(); ++s) sum += lowered->stages[s].load_ps;
  return sum;
}

}  // namespace

TrialTimes::TrialTimes(TrialMachine own, const TrialHelpers* helpers, std::vector<Candidate> candidates)
    : helpers_(helpers), candidates_(std::move(candidates)), timed_(candidates_.size()) {
  machines_.resize(1 + (helpers == nullptr ? 0 : helpers->threads.count));
  machines_.front().ask = own;
}
TrialTimes::~TrialTimes() = default;

TimedTrial TrialTimes::time(const TrialMachine& machine, const program::CollectiveCall& call,
                            std::optional<Duration> best) const {
  TimedTrial out;
  if (best && machine.lower_bound != nullptr) {
    const Result<program::CallId> cheap = machine.lower_bound->prepare(call);
    if (cheap.ok()) out.at_least = machine.lower_bound->time_alone(*cheap);
    if (out.at_least && *out.at_least > *best) return out;
  }
  const Result<program::CallId> id = machine.engine->prepare(call);
  if (!id.ok()) {
    out.status = id.error();
    return out;
  }
  out.time = machine.engine->time_alone(*id);
  out.links_ps = simple_links_ps(machine.engine->lowered(*id));
  return out;
}

std::uint32_t TrialTimes::machine_of(std::size_t candidate) const {
  const auto known = algorithm_.find(candidates_[candidate].algorithm);
  return known == algorithm_.end() ? kNone32 : known->second;
}

/// Times candidate `i`, and on every other machine the next candidate that none has.
void TrialTimes::look_ahead(std::size_t i, std::optional<Duration> best,
                            const std::function<bool(std::size_t)>& wanted) {
  std::vector<std::size_t> next(machines_.size(), candidates_.size());
  const auto give = [&](std::size_t candidate, std::size_t machine) {
    algorithm_[candidates_[candidate].algorithm] = static_cast<std::uint32_t>(machine);
    next[machine] = candidate;
  };
  const std::uint32_t own = machine_of(i);
  give(i, own == kNone32 ? 0 : own);
  for (std::size_t j = i + 1; j < candidates_.size() && best; ++j) {
    if (timed_[j] || !wanted(j)) continue;
    const std::uint32_t known = machine_of(j);
    const auto idle = std::find(next.begin(), next.end(), candidates_.size());
    if (known != kNone32 && next[known] == candidates_.size()) give(j, known);
    if (known == kNone32 && idle != next.end()) give(j, static_cast<std::size_t>(idle - next.begin()));
  }
  const bool alone = std::count(next.begin(), next.end(), candidates_.size()) + 1 == std::ssize(next);
  share_out(machines_.size(), alone ? 1 : machines_.size(), [&](std::size_t at, std::size_t) {
    Machine& m = machines_[at];
    if (next[at] == candidates_.size()) return;
    if (at > 0 && !m.router) {
      m.router = helpers_->threads.router();
      m.engines = helpers_->open(*m.router);
      m.ask = {m.engines.engine.get(), m.engines.lower_bound.get()};
    }
    timed_[next[at]] = time(m.ask, *candidates_[next[at]].call, best);
  });
}

const TimedTrial& TrialTimes::of(std::size_t i, std::optional<Duration> best,
                                 const std::function<bool(std::size_t)>& wanted) {
  if (timed_[i]) return *timed_[i];
  if (long_ones_ && machines_.size() > 1) {
    look_ahead(i, best, wanted);
    return *timed_[i];
  }
  const auto begin = Clock::now();
  algorithm_[candidates_[i].algorithm] = 0;
  timed_[i] = time(machines_.front().ask, *candidates_[i].call, best);
  const double took_s = std::chrono::duration<double>(Clock::now() - begin).count();
  long_ones_ = long_ones_ || (helpers_ != nullptr && took_s >= helpers_->threads.worth_s);
  return *timed_[i];
}

}  // namespace busbar::choice
