#include "busbar/lowering/internal/turns.h"

#include <algorithm>

#include "busbar/collectives/moves.h"

namespace busbar::lowering {

bool all_at_once(const collectives::Schedule& s, const collectives::Phase& phase) {
  return collectives::coupling_of(phase.pattern) == collectives::Coupling::kFree &&
         collectives::stepwise_rounds(phase.pattern, s.families[phase.family].size()) == 1;
}

double TurnCount::beyond_first() const {
  double out = 0;
  for (std::size_t a = 0; a < sent_.size(); ++a)
    out = std::max(out, std::max(sent_[a] - 1.0, 0.0) + std::max(taken_[a] - 1.0, 0.0));
  return out;
}

void TurnCount::add_channel(const TurnCount& channel) {
  most_sent_.resize(sent_.size());
  most_taken_.resize(sent_.size());
  for (std::size_t a = 0; a < sent_.size(); ++a) {
    sent_[a] += channel.sent_[a];
    taken_[a] += channel.taken_[a];
    most_sent_[a] = std::max(most_sent_[a], channel.sent_[a]);
    most_taken_[a] = std::max(most_taken_[a], channel.taken_[a]);
  }
}

double TurnCount::beyond_channel() const {
  std::uint32_t out = 0;
  for (std::size_t a = 0; a < most_sent_.size(); ++a)
    out = std::max(out, sent_[a] - most_sent_[a] + taken_[a] - most_taken_[a]);
  return out;
}

double turns_among_channels(const PlannedCall& plan, std::optional<std::size_t> step) {
  const collectives::Schedule& s = plan.schedule;
  if (plan.runs.size() < 2) return 0;
  TurnCount all(s.ranks + s.reducers);
  for (const std::vector<collectives::PhaseRun>& runs : plan.runs) {
    TurnCount channel(s.ranks + s.reducers);
    for (std::size_t i = step.value_or(0); i < (step ? std::min(*step + 1, runs.size()) : runs.size()); ++i)
      for (std::uint32_t p = runs[i].begin; p < runs[i].end; ++p) {
        const collectives::Phase& phase = s.phases[p];
        if (all_at_once(s, phase)) continue;
        for (std::uint32_t r = 0; r < collectives::rounds(s, phase); ++r)
          collectives::for_each_move(s, phase, r, [&](const collectives::Move& m) { channel.add(m.src, m.dst); });
      }
    all.add_channel(channel);
  }
  return all.beyond_channel();
}

}  // namespace busbar::lowering
