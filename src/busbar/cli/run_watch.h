// How far the answer of a request is, and the wish that it stops.
#pragma once

#include <csignal>
#include <cstddef>
#include <mutex>
#include <string>

namespace busbar::cli {

/// What an answer shares with another thread: how far it is, and the wish that it stops.
class RunWatch {
 public:
  struct Progress {
    std::size_t done = 0, total = 0;  ///< total 0: not begun
    std::string what;                 ///< unit, "layouts"
  };
  RunWatch() = default;
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  /// The answer ends at its next event or part, as after `signal`. Only the first call counts.
  void stop(int signal);
  /// For the next answer.
  void reset();
  void report(const std::string& what, std::size_t done, std::size_t total);
  Progress progress() const;
  const volatile std::sig_atomic_t* flag() const { return &stop_; }

 private:
  volatile std::sig_atomic_t stop_ = 0;  // the type that engines check
  mutable std::mutex mutex_;             // guards the member below
  Progress progress_;
};

}  // namespace busbar::cli
