// All memory of a run in one mapping: the board, counters, results and the data of each actor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/runtime/session.h"

namespace busbar::runtime {

/// What one actor measured in one task.
struct Measured {
  double seconds = 0;
  double tried_s[2] = {0, 0};  ///< of a run whose results go to caches, and past them
  std::uint64_t wrong = 0;
};

class Arena {
 public:
  /// `shared`: processes that are forked later share it.
  static Result<Arena> make(const std::vector<Task>& tasks, bool shared);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  std::uint32_t actors() const { return actors_; }
  void* board() const { return base_; }
  Counter* counters(std::size_t task) const { return reinterpret_cast<Counter*>(base_ + counters_[task]); }
  StepTime* steps(std::size_t task) const { return reinterpret_cast<StepTime*>(base_ + steps_[task]); }
  Measured& measured(std::size_t task, std::uint32_t actor) const {
    return reinterpret_cast<Measured*>(base_ + measured_)[task * actors_ + actor];
  }
  std::byte* block(std::uint32_t actor) const { return base_ + blocks_[actor]; }
  std::vector<std::byte*> blocks() const;

 private:
  Arena() = default;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, measured_ = 0;
  std::uint32_t actors_ = 0;
  std::vector<std::size_t> counters_, steps_, blocks_;  ///< offsets
};

}  // namespace busbar::runtime
