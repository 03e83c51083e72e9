#include "busbar/runtime/internal/watch.h"

#include <fmt/core.h>

namespace busbar::runtime {

std::uint64_t Watch::steps() const {
  std::uint64_t sum = 0;
  for (std::uint32_t a = 0; a < board_.actors(); ++a) sum += board_.seat(a).steps.load(std::memory_order_relaxed);
  return sum;
}

/// The actors that wait for no other.
std::string Watch::who_stands() const {
  std::string out;
  for (std::uint32_t a = 0; a < board_.actors(); ++a)
    if (wait_of(a, tasks_, board_).empty()) out += fmt::format("{}rank {}", out.empty() ? "" : ", ", a);
  return out.empty() ? "each rank waits for another" : out + " made no step";
}

std::string Watch::who_waits(std::uint32_t except) const {
  std::string out;
  for (std::uint32_t a = 0; a < board_.actors(); ++a)
    if (const std::string w = wait_of(a, tasks_, board_); a != except && !w.empty())
      out += fmt::format("{}rank {} waited for {}", out.empty() ? "" : "; ", a, w);
  return out;
}

Status Watch::look() {
  if (options_.stop != nullptr && *options_.stop != 0) return Error{ErrorCode::kIo, "stopped", {}};
  const auto now = std::chrono::steady_clock::now();
  if (const std::uint64_t n = steps(); n != seen_) {
    seen_ = n;
    since_ = now;
  }
  if (std::chrono::duration<double>(now - since_).count() < options_.timeout_s) return {};
  const std::string waits = who_waits(0xffff'ffffu);
  return Error{ErrorCode::kIo,
               fmt::format("no step for {:g} s (--timeout): {}{}{}", options_.timeout_s, who_stands(),
                           waits.empty() ? "" : "; ", waits),
               {}};
}

}  // namespace busbar::runtime
