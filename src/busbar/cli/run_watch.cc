#include "busbar/cli/run_watch.h"

namespace busbar::cli {

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

}  // namespace busbar::cli
