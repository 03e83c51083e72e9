// Messages of one rank that know nothing of each other: its processor sends and takes them in one after another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "busbar/lowering/internal/planned_call.h"

namespace busbar::lowering {

/// Connections that neither wait for each other nor share a rate. A pairwise exchange keeps its rounds.
bool all_at_once(const collectives::Schedule& schedule, const collectives::Phase& phase);

/// The messages of each actor.
class TurnCount {
 public:
  explicit TurnCount(std::uint32_t actors = 0) : sent_(actors), taken_(actors) {}
  void add(std::uint32_t src, std::uint32_t dst) {
    ++sent_[src];
    ++taken_[dst];
  }
  /// Of the busiest actor, beyond the first that it sends and the first that it takes in.
  double beyond_first() const;
  /// Adds the messages of another channel, and keeps the most that an actor has in any channel.
  void add_channel(const TurnCount& channel);
  /// Of the busiest actor, beyond those of the channel in which it sends most and of that in which it takes in most.
  double beyond_channel() const;

 private:
  std::vector<std::uint32_t> sent_, taken_;
  std::vector<std::uint32_t> most_sent_{}, most_taken_{};  ///< in one channel; empty before add_channel()
};

/// Messages of the busiest actor in the runs of `step`, or of all steps if there is none, beyond those in its busiest
/// channel, which wait for each other. Of one chunk of the pipeline; without phases whose messages are all_at_once().
double turns_among_channels(const PlannedCall& plan, std::optional<std::size_t> step);

}  // namespace busbar::lowering
