// Notices that a run stands still.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "busbar/runtime/internal/act.h"

namespace busbar::runtime {

class Watch {
 public:
  Watch(const std::vector<Task>& tasks, Board& board, const SessionOptions& options)
      : tasks_(tasks), board_(board), options_(options) {}

  /// Call now and then. Error: nothing moved for the time allowed, or the caller wishes to stop.
  Status look();
  /// "rank 1 waited for rank 0; rank 2 waited for rank 1", without `except`.
  std::string who_waits(std::uint32_t except) const;

 private:
  std::uint64_t steps() const;
  std::string who_stands() const;

  const std::vector<Task>& tasks_;
  Board& board_;
  const SessionOptions& options_;
  std::uint64_t seen_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace busbar::runtime
