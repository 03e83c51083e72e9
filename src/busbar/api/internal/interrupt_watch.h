// SIGINT ends a call, for callers whose own handler only notes it, such as Python's.
#pragma once

#include <csignal>

#include "busbar/api/internal/time_limit.h"

namespace busbar::api {

/// While one exists, SIGINT stops `limit`; then the handler of the program runs. Null, or while another call watches:
/// changes nothing.
class InterruptWatch {
 public:
  explicit InterruptWatch(TimeLimit* limit);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  bool watches_ = false;
};

}  // namespace busbar::api
