#include "busbar/api/internal/time_limit.h"

#include <chrono>

namespace busbar::api {

TimeLimit::TimeLimit(double seconds) {
  if (!(seconds > 0)) return;
  watch_ = std::thread([this, seconds] {
    std::unique_lock lock(mutex_);
    if (!ended_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return done_; })) stop();
  });
}

TimeLimit::~TimeLimit() {
  if (!watch_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  ended_.notify_one();
  watch_.join();
}

}  // namespace busbar::api
