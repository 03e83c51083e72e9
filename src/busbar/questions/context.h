// What a caller lends to an answer.
#pragma once

#include <csignal>
#include <cstddef>
#include <functional>
#include <string>

namespace busbar::questions {

/// All members may be left as they are.
struct Context {
  const volatile std::sig_atomic_t* stop = nullptr;  ///< an answer ends early, with what it has, once this is not 0
  /// Called between the parts of a long answer: `done` of `total` units `what` ("layouts") are finished.
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress = {};
};

}  // namespace busbar::questions
