// A barrier for threads that meet many thousand times a second.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace busbar::packet {

/// Like std::barrier, but a thread looks for the others for a while before it sleeps. To sleep and to be woken takes
/// tens of microseconds, as long as the work between two meetings of the parts of a network. A thread that looked in
/// vain looks half as long the next time, so on busy cores this costs little. Measured:
/// docs/decisions/064-what-made-it-fast.md.
class SpinBarrier {
 public:
  explicit SpinBarrier(std::uint32_t members) : members_(members) {}

  /// `look` belongs to the calling thread: how long it looks before it sleeps.
  void arrive_and_wait(std::chrono::nanoseconds& look) {
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == members_) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    if (seen_after(round, look)) {
      look = std::min(2 * look, kLongest);
      return;
    }
    look = std::max(look / 2, kShortest);
    while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
  }

  static constexpr std::chrono::nanoseconds kLongest{200'000}, kShortest{1'000};

 private:
  bool seen_after(std::uint32_t round, std::chrono::nanoseconds look) const {
    const auto end = std::chrono::steady_clock::now() + look;
    do {
      for (int i = 0; i < 32; ++i) {
        if (round_.load(std::memory_order_acquire) != round) return true;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    } while (std::chrono::steady_clock::now() < end);
    return false;
  }

  const std::uint32_t members_;
  alignas(64) std::atomic<std::uint32_t> arrived_ = 0;
  alignas(64) std::atomic<std::uint32_t> round_ = 0;
};

}  // namespace busbar::packet
