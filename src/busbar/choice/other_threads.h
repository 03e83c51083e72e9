// What threads next to the caller's need: each a router of its own, since routers have work space.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "busbar/routing/router.h"

namespace busbar::choice {

struct OtherThreads {
  std::uint32_t count = 0;                                     ///< next to the caller's; 0: the caller works alone
  std::function<std::unique_ptr<routing::Router>()> router{};  ///< one more of the same machine and settings
  double worth_s = 0.02;                                       ///< what takes less is not worth more threads
};

}  // namespace busbar::choice
