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

/// How actors meet whose counters are not in shared memory.
class Courier {
 public:
  virtual ~Courier() = default;
  /// Tells all others that this actor has arrived so often.
  virtual void arrived(std::uint64_t round) = 0;
  /// Takes in and sends what there is, while `actor` has not arrived. If that one is lost, it ends the run.
  virtual void wait_for(std::uint32_t actor) = 0;
  /// True: nothing is held back any more.
  virtual bool poll() = 0;
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
  /// From now on actors of other processes are told through it, and note_arrival() says what they tell.
  void use(Courier* courier) { courier_ = courier; }
  void note_arrival(std::uint32_t actor, std::uint64_t round) {
    arrived_[actor].value.store(round, std::memory_order_release);
  }
  /// Does not wait at the next `meetings`, so that no other waits for `actor` there.
  void stay_away(std::uint32_t actor, std::uint32_t meetings);
  /// Call while there is nothing to do, with the number of times in a row.
  void idle(std::uint32_t times) const;
  std::uint32_t actors() const { return actors_; }
  bool yields() const { return yields_; }

 private:
  std::uint32_t actors_;
  bool yields_;  ///< there are more actors than cores: who waits gives its core away
  Counter* stop_;
  Counter* arrived_;  ///< per actor: at meetings
  Seat* seats_;
  Courier* courier_ = nullptr;
};

}  // namespace busbar::runtime
