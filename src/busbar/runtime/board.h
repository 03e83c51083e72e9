// What the actors of a run share: counters of finished steps, a meeting point between runs, and what each one waits
// for. It lies in memory that threads or forked processes share, or is one process's view of the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace busbar::runtime {

/// One writer, many readers, and a cache line of its own.
struct alignas(64) Counter {
  std::atomic<std::uint64_t> value{0};
};

/// Of one actor. Only it writes; who watches the run reads.
struct alignas(64) Seat {
  static constexpr std::uint32_t kNothing = 0xffff'ffffu, kMeeting = 0xffff'fffeu;
  std::atomic<std::uint64_t> steps{0};             ///< performed since the run began: it goes on while this grows
  std::atomic<std::uint32_t> waits_for{kNothing};  ///< a thread of the plan, the meeting, or nothing
  std::atomic<std::uint32_t> task{0};
};

/// It does not own its memory: that is given.
class Board {
 public:
  static std::size_t bytes(std::uint32_t actors);
  /// Precondition: `memory` is zero or new, of bytes(actors), aligned to a cache line.
  Board(void* memory, std::uint32_t actors, bool yields);

  Seat& seat(std::uint32_t actor) { return seats_[actor]; }
  void end_run() { stop_->value.store(1, std::memory_order_relaxed); }
  bool ended() const { return stop_->value.load(std::memory_order_relaxed) != 0; }
  /// Returns when all actors have called it as often as `actor`. False: the run has ended.
  bool meet(std::uint32_t actor);
  /// Does not wait at the next `meetings`, so that no other waits for `actor` there.
  void stay_away(std::uint32_t actor, std::uint32_t meetings);
  /// Call while there is nothing to do, with the number of times in a row.
  void idle(std::uint32_t times) const;
  std::uint32_t actors() const { return actors_; }

 private:
  std::uint32_t actors_;
  bool yields_;  ///< there are more actors than cores: who waits gives its core away
  Counter* stop_;
  Counter* arrived_;  ///< per actor: at meetings
  Seat* seats_;
};

}  // namespace busbar::runtime
