// How long a routed run takes with its links to itself, or while the other runs of its step use them too.
#pragma once

#include <cmath>
#include <span>

#include "busbar/base/shortcuts.h"
#include "busbar/collectives/chain.h"
#include "busbar/lowering/capacity_table.h"
#include "busbar/lowering/internal/planned_call.h"

namespace busbar::lowering {

inline bool is_ring(collectives::Pattern p) {
  return p == collectives::Pattern::kRingReduceScatter || p == collectives::Pattern::kRingAllGather;
}

/// What one piece costs on a connection of a ring whose links other channels and groups use too: docs/models/flow.md,
/// "Rings of several channels".
struct PieceCost {
  static constexpr double kMet = 2;  ///< a piece that passes shares its links with as many bytes again
  double latency_ps = 0;
  double passing_ps = 0;  ///< transfer of a piece that passes once
  double staying_ps = 0;  ///< transfer of a piece of this and all other channels
  topology::LinkId narrowest = kNone<topology::LinkId>;
  /// In the dependency grid of a ring: a path passes each edge of its window once and stays on the slowest.
  collectives::SendCost in_ring() const { return {latency_ps + passing_ps - staying_ps, staying_ps}; }
};

/// A round of a ring all of whose links are busy with the pieces of other channels too.
struct FullRound {
  static constexpr double kFilled = 2;  ///< of the mean extra latency of the ring's edges
  double idle_ps, busy_ps;              ///< of the links
  topology::LinkId link;
  double ps() const { return idle_ps + busy_ps; }
};

/// A send of a run of rounds, between positions of its group.
struct RoundSend {
  std::uint32_t from = 0, to = 0, round = 0;
};

class RunTimes {
 public:
  RunTimes(const CapacityTable& table, const Shortcuts& shortcuts)
      : table_(table), shortcuts_(shortcuts), round_load_(table.counts(), 0.0) {}

  /// For the runs of `plan` that follow; it must outlive them.
  void begin_call(const PlannedCall& plan) { plan_ = &plan; }

  /// Sets Connection::transfer_ps of the sends of one round, connections [first, last), while the others of the round
  /// are under way. With `others`, also the other runs of the step: they stretch each round by one factor per link; the
  /// run must be whole.
  void time_round(OpenRun& run, std::size_t first, std::size_t last, bool others);
  /// time_round with `others` for every round of `phases`.
  void time_rounds_with_others(OpenRun& run, collectives::PhaseRun phases);
  /// Sets the same, from when the rank of each send could send, while all that is under way at that time shares the
  /// links max-min fairly: ranks run ahead of each other. `sends` are the connections of the run, by round.
  void follow_rounds(OpenRun& run, std::span<const RoundSend> sends, std::uint32_t ranks) const;

  /// The longest dependency chain of the run.
  double alone_ps(const OpenRun& run, const GroupRun& of);
  /// How long the messages of the run wait at the link that holds them up most, `sends` on each connection. One that is
  /// held up holds up all that follow it on that link, and with them the whole chain.
  double held_ps(const OpenRun& run, double sends);
  /// The largest load / rate of the run, at least `ps`.
  double longest_load_ps(const OpenRun& run, double ps) const {
    return run.loads.longest_ps(ps, [&](routing::CapacityId c) { return table_.rate(c); });
  }
  /// The time of `bytes` at the most that the channels of a connection carry; 0 if they have no limit.
  double capped_ps(double bytes) const { return plan_->lanes.cap > 0 ? bytes / plan_->lanes.cap : 0; }

  /// The cost of a piece of a ring. `most`: OpenRun::most_bytes().
  PieceCost piece_cost(const OpenRun& run, const Connection& c, double piece, double most) const;
  /// A round of a ring when its links are as full as that of its quickest edge: all wait for the piece that this edge
  /// brings, but for the time that pieces which came over longer edges fill.
  FullRound full_round(const OpenRun& run, double piece) const;
  /// A round of a ring whose messages wait for the processor of a receiver, or for their half of the buffer, which
  /// holds two of them.
  FullRound waiting_round(const OpenRun& run, double piece) const;

 private:
  const CapacityTable& table_;
  const Shortcuts& shortcuts_;
  const PlannedCall* plan_ = nullptr;
  routing::PerCapacity<double> round_load_;  ///< zero between rounds
  collectives::ChainScratch chain_{};
};

}  // namespace busbar::lowering
