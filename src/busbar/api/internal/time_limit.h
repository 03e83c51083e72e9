// The flag that ends one call: by its caller, or when its time is over.
#pragma once

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace busbar::api {

class TimeLimit {
 public:
  explicit TimeLimit(double seconds);  ///< 0: none
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

  const volatile std::sig_atomic_t* flag() const { return &stop_; }
  void stop() { stop_ = 1; }

 private:
  volatile std::sig_atomic_t stop_ = 0;  // the type that engines check
  bool done_ = false;                    // guarded by mutex_
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread watch_;
};

}  // namespace busbar::api
