// What a caller lends to a long answer: the wish that it stops, and where to tell how far it is.
//
//   for (std::size_t i = 0; i < rows.size(); ++i) {
//     if (!context.go_on("rows", i, rows.size())) break;  // what is known stays
//     ...
//   }
#pragma once

#include <csignal>
#include <cstddef>
#include <functional>
#include <string>

namespace busbar {

/// How far an answer is.
struct Progress {
  std::string what;                          ///< the unit, "layouts"; of a part that cannot tell, what it does
  std::size_t done = 0, total = 0;           ///< total 0: not known
  std::function<std::string()> so_far = {};  ///< what follows the number done and the unit, if `total` is not known
};

/// All members may be left as they are.
struct Context {
  const volatile std::sig_atomic_t* stop = nullptr;     ///< an answer ends early once this is not 0
  std::function<void(const Progress&)> progress = {};   ///< may set what `stop` points to
  std::function<void(const std::string&)> notice = {};  ///< takes what a user should know while it runs

  bool stopped() const { return stop != nullptr && *stop != 0; }
  /// Call between parts: `done` of `total` are finished. False: stop, and keep these.
  bool go_on(const char* what, std::size_t done, std::size_t total) const {
    if (progress) progress({what, done, total});
    return !stopped();
  }
  /// The same where how many are left is not known.
  bool go_on_with(const char* what, std::size_t done, const std::function<std::string()>& so_far) const {
    if (progress) progress({what, done, 0, so_far});
    return !stopped();
  }
  /// Call before a part that cannot tell how far it is: "timing the step of 512 GPUs".
  void begin(const std::string& part) const {
    if (progress) progress({part, 0, 0});
  }
};

}  // namespace busbar
