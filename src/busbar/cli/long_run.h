// Runs that take a while: Ctrl-C and SIGTERM keep what is known, and a terminal sees how far they are.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>

namespace busbar {

/// From here on SIGINT and SIGTERM end the program with status 130 and 143, while no LongRun lives: nothing is known.
void leave_on_signals();

/// While one lives, the first SIGINT or SIGTERM only sets a flag; a second one ends the program as ever. One at a time.
class LongRun {
 public:
  /// `what` is counted: "rows". `shown`: whether stderr is a terminal; a bar appears there after two seconds.
  explicit LongRun(std::string what);
  LongRun(std::string what, bool shown);
  ~LongRun();
  LongRun(const LongRun&) = delete;
  LongRun& operator=(const LongRun&) = delete;

  /// Call between parts: `done` of `total` are known. False: stop, and keep those.
  bool go_on(std::size_t done, std::size_t total);
  bool interrupted() const { return stopped() != 0; }
  /// Exit status of the run: `otherwise`, or 128 and the number of the signal, as shells have it.
  int status(int otherwise = 0) const { return interrupted() ? 128 + stopped() : otherwise; }
  /// For engines that look by themselves.
  static const volatile std::sig_atomic_t* flag();
  /// "busbar: interrupted; 3 of 15 rows are known" on stderr where it was.
  void say_what_is_known() const;

 private:
  static int stopped();
  void clear();

  std::string what_;
  bool shown_;
  void (*before_[2])(int);  ///< handlers of SIGINT and SIGTERM
  std::chrono::steady_clock::time_point start_, drawn_;
  bool on_screen_ = false;
  std::size_t done_ = 0, total_ = 0;
};

/// "busbar: 12 of 40 rows [######--------------]  30 %, 14 s left", without a line break.
std::string progress_line(const std::string& what, std::size_t done, std::size_t total, double elapsed_s);

}  // namespace busbar
