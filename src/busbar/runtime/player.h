// Performs the steps of one actor.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/runtime/board.h"
#include "busbar/runtime/checked_data.h"
#include "busbar/runtime/executable.h"

namespace busbar::runtime {

/// When a step began and ended, in nanoseconds of the steady clock.
struct StepTime {
  std::int64_t begin_ns = 0, end_ns = 0;
};

struct Stage;

/// How steps reach actors whose memory and counters are elsewhere.
class Wire : public Courier {
 public:
  /// Zeros for the threads of a task. They stay until it is called again, since steps may come after the last one that
  /// this actor needs. It ends the task before.
  virtual Counter* counters(std::uint32_t threads) = 0;
  /// From now on steps are of this task. Call before actors meet who will perform it.
  virtual void begin(std::uint32_t task, const Stage& stage) = 0;
  /// This actor has performed all its steps of the task.
  virtual void end() = 0;
  /// The step has been performed: sends what it wrote, `data`, and that its thread is one step further, to whoever
  /// needs them. False: not all is on its way yet; keep `data` as it is and call again.
  virtual bool send(std::uint32_t step, const std::byte* data) = 0;
};

/// What a player works with.
struct Stage {
  const Executable* program = nullptr;
  Filling filling;
  Board* board = nullptr;
  Counter* done = nullptr;         ///< per thread of the plan
  std::vector<std::byte*> memory;  ///< per actor; null: in another process
  Wire* wire = nullptr;            ///< null: all memory is shared
};

class Player {
 public:
  Player(const Stage& stage, std::uint32_t actor);

  /// Performs all steps of the actor once, as the run after those before. False: the run was ended from outside.
  bool run();
  /// From now on the times of step s are written to times[s]. Null: no more.
  void record(StepTime* times) { times_ = times; }
  /// From now on results of steps of kLeastStreamed bytes or more go past the caches of this core, or no longer.
  void write_past_caches(bool yes) { past_caches_ = yes; }
  static constexpr std::size_t kLeastStreamed = 16 << 10;

 private:
  /// The next step of one thread.
  struct Cursor {
    std::uint32_t thread = 0, next = 0, end = 0, waited = 0;
    bool performed = false;           ///< the next step has been, and is being sent
    const std::byte* sent = nullptr;  ///< what it wrote to another process
    std::vector<std::byte> sum{};     ///< of a step whose sum goes elsewhere
  };
  bool ready(Cursor& c);
  void perform(Cursor& c);
  const std::byte* move(std::uint32_t step, std::size_t bytes, std::vector<std::byte>& aside);
  std::byte* at(const collectives::PlanSlice& s) const;
  bool streams(std::uint32_t step, std::size_t bytes) const;
  void move_past_caches(std::uint32_t step, std::size_t bytes);
  std::uint32_t advance(Cursor& c);
  void wait_on_wire();

  Stage stage_;
  std::uint32_t actor_;
  std::uint64_t run_ = 0;  ///< finished
  std::vector<Cursor> cursors_;
  StepTime* times_ = nullptr;
  bool past_caches_ = false;
  Combine combine_;
  Divide divide_;
};

}  // namespace busbar::runtime
