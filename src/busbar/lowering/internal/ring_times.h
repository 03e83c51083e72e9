// When the pieces of rings that share links have gone around, message by message.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "busbar/base/shortcuts.h"
#include "busbar/lowering/capacity_table.h"
#include "busbar/lowering/internal/planned_call.h"
#include "busbar/lowering/internal/send_classes.h"

namespace busbar::lowering {

/// A routed ring: its connections in the order of the ring, each with the bytes of all rounds.
struct RingRun {
  RoutedRun* run = nullptr;
  std::uint32_t rounds = 0;
};

/// A rank sends its piece of a round when that of the round before has arrived and its own has left. All pieces under
/// way share the links max-min fairly.
class RingTimes {
 public:
  RingTimes(const CapacityTable& table, const Shortcuts& shortcuts)
      : table_(table), shortcuts_(shortcuts), own_(table.counts(), 0.0), number_(table.counts(), kNone32) {}

  /// Sets RoutedRun::equal of all rings. If the plan follows rings, and if rings that differ share links and have no
  /// more sends than are worth following, also RoutedRun::followed. Returns whether they have more. `loads`: of all
  /// rings together.
  bool send(std::span<const RingRun> rings, const RunLoads& loads, const PlannedCall& plan);

 private:
  std::vector<RingRun> unequal(std::span<const RingRun> rings, std::vector<std::size_t>& as) const;
  bool open_question(std::span<const RingRun> rings, const RunLoads& loads);
  /// What is known of rings by their edges and links, numbered as they occur.
  struct Known {
    SendClasses classes;
    std::map<std::vector<double>, std::vector<FollowedRing>> followed;  ///< by the bytes of edges that differ
  };
  const std::vector<FollowedRing>& follow(std::span<const RingRun> rings, const PlannedCall& plan);
  std::vector<FollowedRing> run(std::span<const SendOver> edges, const SendClasses& classes, double cap) const;
  std::vector<SendOver> sends_of(std::span<const RingRun> rings, const PlannedCall& plan,
                                 std::vector<double>& capacity);

  const CapacityTable& table_;
  const Shortcuts& shortcuts_;
  routing::PerCapacity<double> own_;            ///< bytes of the equal rings that are looked at
  routing::PerCapacity<std::uint32_t> number_;  ///< kNone32 between calls
  std::map<std::vector<double>, Known> known_;
  std::size_t kept_ = 0;  ///< numbers in known_
};

}  // namespace busbar::lowering
