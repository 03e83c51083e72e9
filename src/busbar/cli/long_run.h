// Long runs: Ctrl-C and SIGTERM keep the results so far, and a terminal shows progress.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "busbar/base/context.h"

namespace busbar::cli {

/// From now on, while no LongRun exists, SIGINT and SIGTERM end the program with status 130 and 143, without results.
void leave_on_signals();

/// From now on a terminal shows `what` while the program has run for more than two seconds, until a LongRun or a
/// NamedTask has something better.
void show_when_late(const std::string& what);
/// Before a line on standard error: takes the progress from the screen for now.
void clear_progress();
/// Before the result: a terminal shows no progress from now on.
void end_progress();

/// A long part of a command that cannot tell how far it is, such as a step on a large machine. While one exists, a
/// signal that ends the program prints "busbar: interrupted while WHAT; KNOWN", and a terminal shows WHAT after two
/// seconds. At most one exists.
class NamedTask {
 public:
  /// `what`: "timing the step of 512 GPUs".
  explicit NamedTask(const std::string& what, const std::string& known = "no result is known");
  NamedTask(const std::string& what, const std::string& known, bool shown);
  ~NamedTask();
  NamedTask(const NamedTask&) = delete;
  NamedTask& operator=(const NamedTask&) = delete;

 private:
  std::string before_;  ///< what a terminal shows outside of it
};

/// While one exists, the first SIGINT or SIGTERM only sets a flag; a second one ends the program. At most one exists.
class LongRun {
 public:
  /// `what` is the unit of progress: "rows". `shown`: whether stderr is a terminal; it shows a bar after two seconds.
  explicit LongRun(std::string what);
  LongRun(std::string what, bool shown);
  ~LongRun();
  LongRun(const LongRun&) = delete;
  LongRun& operator=(const LongRun&) = delete;

  /// Call between parts: `done` of `total` are finished. False: stop, and keep these.
  bool go_on(std::size_t done, std::size_t total);
  /// The same where how many are left is not known. `so_far`: what follows the number done and the unit.
  bool go_on_with(std::size_t done, const std::function<std::string()>& so_far);
  /// For answers below the command line: their progress is that of this run, in units of their own.
  Context context();
  bool interrupted() const { return stopped() != 0; }
  /// Exit status of the run: `otherwise`, or after a signal 128 and its number, as in shells.
  int status(int otherwise = 0) const { return interrupted() ? 128 + stopped() : otherwise; }
  /// For engines, which check it themselves.
  static const volatile std::sig_atomic_t* flag();
  /// The signal that interrupted a LongRun; 0: none did.
  static int last_signal();
  /// After an interrupt, prints "busbar: interrupted; 3 of 15 rows are known" on stderr.
  void report_interruption() const;

 private:
  static int stopped();
  /// Updates the line of the terminal, at most five times per second. `line`: of the elapsed seconds.
  void show(const std::function<std::string(double)>& line);

  std::string what_;
  bool shown_;
  void (*before_[2])(int);  ///< previous handlers of SIGINT and SIGTERM
  std::chrono::steady_clock::time_point start_;
  std::optional<std::chrono::steady_clock::time_point> drawn_;
  std::string before_line_;  ///< what a terminal shows outside of it
  std::size_t done_ = 0, total_ = 0;
};

/// "12 of 40 rows [######--------------]  30 %, 2 per s, 14 s left".
std::string progress_line(const std::string& what, std::size_t done, std::size_t total, double elapsed_s);

}  // namespace busbar::cli
