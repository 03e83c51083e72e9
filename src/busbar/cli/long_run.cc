#include "busbar/cli/long_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "busbar/cli/streams.h"

namespace busbar::cli {
namespace {

constexpr double kQuiet_s = 2;     // shorter runs show no progress
constexpr double kRedraw_s = 0.2;  // time between two updates
constexpr unsigned kAgain_s = 1;   // the same while the run says nothing new
constexpr std::size_t kCells = 20;
constexpr const char* kClearLine = "\r\033[K";

volatile std::sig_atomic_t stop = 0;  // the only type that a signal handler may write

int ended_by = 0;  // see LongRun::last_signal()

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
ReadyLine when_left;

/// What a terminal shows of a run that takes longer than two seconds. SIGALRM writes it, so that it comes while a part
/// of the run takes long, too. The handler reads one line while set() writes the other.
class LateLine {
 public:
  /// Empty: nothing to show.
  void set(const std::string& text) {
    const int next = 1 - at_;
    text_ = text;
    lines_[next] = text.empty() ? "" : fmt::format("{}busbar: {}", kClearLine, text);
    at_ = next;
  }
  const std::string& text() const { return text_; }
  void listen() {
    std::signal(SIGALRM, [](int) { on_alarm(); });
  }
  void write() {
    const std::string& line = lines_[at_];
    if (line.empty() || ::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
    on_screen_ = 1;
  }
  void clear() {
    if (on_screen_ != 0) std::fputs(kClearLine, stderr);
    on_screen_ = 0;
  }

 private:
  static void on_alarm();

  std::string lines_[2], text_;
  volatile std::sig_atomic_t at_ = 0, on_screen_ = 0;
};
LateLine late_line;

void LateLine::on_alarm() {
  late_line.write();
  alarm(kAgain_s);
}

void leave(int number) {
  when_left.write();
  _exit(128 + number);
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
  return fmt::format("{} of {} {} [{}{}] {:3.0f} %{}", done, total, what, std::string(full, '#'),
                     std::string(kCells - std::min(kCells, full), '-'), 100 * share, left);
}

void leave_on_signals() {
  for (const int s : kSignals) std::signal(s, leave);
}

NamedTask::NamedTask(const std::string& what, const std::string& known)
    : NamedTask(what, known, isatty(STDERR_FILENO) != 0) {}

NamedTask::NamedTask(const std::string& what, const std::string& known, bool shown) {
  when_left.set(fmt::format("{}busbar: interrupted while {}; {}\n", shown ? kClearLine : "", what, known));
  before_ = late_line.text();
  if (shown) late_line.listen();
  late_line.set(shown ? what : "");
}

NamedTask::~NamedTask() {
  when_left.ready = 0;
  late_line.clear();
  late_line.set(before_);
}

void show_when_late(const std::string& what) {
  if (isatty(STDERR_FILENO) == 0) return;
  late_line.set(what);
  late_line.listen();
  alarm(static_cast<unsigned>(kQuiet_s));
}

void clear_progress() { late_line.clear(); }

void end_progress() {
  alarm(0);
  late_line.set("");
  late_line.clear();
}

LongRun::LongRun(std::string what) : LongRun(std::move(what), isatty(STDERR_FILENO) != 0) {}

LongRun::LongRun(std::string what, bool shown)
    : what_(std::move(what)), shown_(shown), start_(std::chrono::steady_clock::now()) {
  if (shown_) late_line.listen();
  before_line_ = late_line.text();
  stop = 0;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) before_[i] = std::signal(kSignals[i], on_interrupt);
}

LongRun::~LongRun() {
  if (stopped() != 0) ended_by = stopped();
  late_line.clear();
  late_line.set(before_line_);
  stop = 0;
  for (std::size_t i = 0; i < std::size(kSignals); ++i) std::signal(kSignals[i], before_[i]);
}

const volatile std::sig_atomic_t* LongRun::flag() { return &stop; }
int LongRun::stopped() { return *flag(); }
int LongRun::last_signal() { return ended_by; }

bool LongRun::go_on(std::size_t done, std::size_t total) {
  done_ = done;
  total_ = total;
  show([&](double elapsed_s) { return progress_line(what_, done, total, elapsed_s); });
  if (shown_ && (done >= total || interrupted())) late_line.clear();
  return !interrupted();
}

bool LongRun::go_on_with(std::size_t done, const std::function<std::string()>& so_far) {
  done_ = done;
  total_ = 0;
  show([&](double) { return fmt::format("{} {}{}", done, what_, so_far()); });
  if (shown_ && interrupted()) late_line.clear();
  return !interrupted();
}

Context LongRun::context() {
  Context out;
  out.stop = flag();
  out.progress = [this](const Progress& p) {
    what_ = p.what;
    if (p.total != 0)
      go_on(p.done, p.total);
    else if (p.so_far)
      go_on_with(p.done, p.so_far);
    else if (shown_)
      late_line.set(p.what);
  };
  return out;
}

void LongRun::show(const std::function<std::string(double)>& line) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && seconds(now - *drawn_) < kRedraw_s) return;
  drawn_ = now;
  const double elapsed_s = seconds(now - start_);
  late_line.set(line(elapsed_s));
  if (elapsed_s > kQuiet_s) late_line.write();
}

void LongRun::report_interruption() const {
  if (!interrupted()) return;
  const std::string all = total_ > 0 ? fmt::format("of {} ", total_) : "";
  say(fmt::format("interrupted; {} {}{} are done", done_, all, what_));
}

}  // namespace busbar::cli
