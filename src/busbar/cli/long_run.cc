#include "busbar/cli/long_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "busbar/base/output.h"
#include "busbar/cli/streams.h"

namespace busbar {
namespace {

constexpr double kQuiet_s = 2;     // shorter runs show no progress
constexpr double kRedraw_s = 0.2;  // time between two updates
constexpr std::size_t kCells = 20;
constexpr const char* kClearLine = "\r\033[K";

volatile std::sig_atomic_t stop = 0;  // the only type that a signal handler may write

thread_local RunWatch* watcher = nullptr;
thread_local int ended_by = 0;  // see LongRun::last_signal()

constexpr int kSignals[] = {SIGINT, SIGTERM};

void on_interrupt(int number) {
  stop = number;
  for (const int s : kSignals) std::signal(s, SIG_DFL);
}

/// A line for a signal handler, which may only write what is there already.
struct ReadyLine {
  std::string text;
  volatile std::sig_atomic_t ready = 0;

  void set(std::string line) {
    text = std::move(line);
    ready = 1;
  }
  void write() const {
    if (ready != 0 && ::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // its reader has left
  }
};
ReadyLine when_left, when_late;
volatile std::sig_atomic_t late_on_screen = 0;

void leave(int number) {
  when_left.write();
  _exit(128 + number);
}

void show_task(int) {
  when_late.write();
  late_on_screen = 1;
}

double seconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

std::string progress_line(const std::string& what, std::size_t done, std::size_t total, double elapsed_s) {
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kCells));
  std::string left;
  if (done > 0 && done < total)
    left = fmt::format(", {:.3g} per s, {:.0f} s left", static_cast<double>(done) / elapsed_s,
                       elapsed_s * (1 - share) / share);
  return fmt::format("busbar: {} of {} {} [{}{}] {:3.0f} %{}", done, total, what, std::string(full, '#'),
                     std::string(kCells - std::min(kCells, full), '-'), 100 * share, left);
}

void RunWatch::stop(int signal) {
  if (stop_ == 0) stop_ = signal;
}

void RunWatch::reset() {
  stop_ = 0;
  report("", 0, 0);
}

void RunWatch::report(const std::string& what, std::size_t done, std::size_t total) {
  const std::lock_guard lock(mutex_);
  progress_ = {done, total, what};
}

RunWatch::Progress RunWatch::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

WatchedRun::WatchedRun(RunWatch& watch) { watcher = &watch; }
WatchedRun::~WatchedRun() { watcher = nullptr; }

void leave_on_signals() {
  for (const int s : kSignals) std::signal(s, leave);
}

NamedTask::NamedTask(const std::string& what, const std::string& known)
    : NamedTask(what, known, isatty(STDERR_FILENO) != 0) {}

NamedTask::NamedTask(const std::string& what, const std::string& known, bool shown)
    : captured_(CapturedOutput::current() != nullptr) {
  if (captured_) return;
  const char* const begin = shown ? kClearLine : "";
  when_left.set(fmt::format("{}busbar: interrupted while {}; {}\n", begin, what, known));
  if (!shown) return;
  when_late.set(fmt::format("{}busbar: {}", begin, what));
  std::signal(SIGALRM, show_task);
  alarm(static_cast<unsigned>(kQuiet_s));
}

NamedTask::~NamedTask() {
  if (captured_) return;
  alarm(0);
  when_left.ready = 0;
  when_late.ready = 0;
  if (late_on_screen != 0) std::fputs(kClearLine, stderr);
  late_on_screen = 0;
}

LongRun::LongRun(std::string what) : LongRun(std::move(what), isatty(STDERR_FILENO) != 0) {}

LongRun::LongRun(std::string what, bool shown)
    : what_(std::move(what)),
      shown_(shown && CapturedOutput::current() == nullptr),
      captured_(CapturedOutput::current() != nullptr),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_) {
  if (captured_) return;
  stop = 0;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) before_[i] = std::signal(kSignals[i], on_interrupt);
}

LongRun::~LongRun() {
  clear();
  if (stopped() != 0) ended_by = stopped();
  if (captured_) return;
  stop = 0;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) std::signal(kSignals[i], before_[i]);
}

const volatile std::sig_atomic_t* LongRun::flag() { return watcher != nullptr ? watcher->flag() : &stop; }
int LongRun::stopped() { return *flag(); }
int LongRun::last_signal() { return ended_by; }
void LongRun::forget_signal() { ended_by = 0; }

bool LongRun::go_on(std::size_t done, std::size_t total) {
  done_ = done;
  total_ = total;
  if (watcher != nullptr) watcher->report(what_, done, total);
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && seconds(now - start_) > kQuiet_s && (!on_screen_ || seconds(now - drawn_) > kRedraw_s)) {
    drawn_ = now;
    on_screen_ = true;
    std::fputs((kClearLine + progress_line(what_, done, total, seconds(now - start_))).c_str(), stderr);
    std::fflush(stderr);
  }
  if (done >= total || interrupted()) clear();
  return !interrupted();
}

void LongRun::clear() {
  if (on_screen_) std::fputs(kClearLine, stderr);
  on_screen_ = false;
}

void LongRun::report_interruption() const {
  if (!interrupted()) return;
  say(fmt::format("interrupted; {} of {} {} are done", done_, total_, what_));
}

}  // namespace busbar
