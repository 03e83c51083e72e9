#include "busbar/runtime/host_rates.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>

#include "busbar/runtime/board.h"
#include "busbar/runtime/element.h"

namespace busbar::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Memory of threads that meet.
class Crew {
 public:
  explicit Crew(std::uint32_t threads)
      : memory_(Board::bytes(threads) / sizeof(Counter) + 1),
        board_(memory_.data(), threads, threads > cores_allowed()) {}

  /// Calls work(thread) on each thread at the same time; returns the least time of the last of them in `times` calls.
  double least_time(std::uint32_t times, const std::function<void(std::uint32_t)>& work) {
    std::vector<double> taken(board_.actors());
    std::vector<double> least(board_.actors(), HUGE_VAL);
    const auto body = [&](std::uint32_t thread) {
      for (std::uint32_t i = 0; i < times; ++i) {
        board_.meet(thread);
        const auto begin = Clock::now();
        work(thread);
        taken[thread] = seconds_since(begin);
        board_.meet(thread);
        least[thread] = std::min(least[thread], *std::max_element(taken.begin(), taken.end()));
        board_.meet(thread);
      }
    };
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < board_.actors(); ++t) threads.emplace_back(body, t);
    threads.clear();
    return least[0];
  }

 private:
  std::vector<Counter> memory_;
  Board board_;
};

/// Memory in huge pages, as that of a run.
class Buffer {
 public:
  explicit Buffer(std::uint64_t bytes) : bytes_(std::max<std::uint64_t>(bytes, kHugePage)) {
    data_.reset(
        static_cast<std::byte*>(std::aligned_alloc(kHugePage, (bytes_ + kHugePage - 1) / kHugePage * kHugePage)));
    if (data_) madvise(data_.get(), bytes_, MADV_HUGEPAGE);
  }
  std::byte* data() const { return data_.get(); }  ///< null: there is not enough memory

 private:
  static constexpr std::uint64_t kHugePage = 2 << 20;
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::uint64_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

Result<RatePoint> rates_of(std::uint32_t threads, std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = 256 << 10, kLeast = 4 << 20;  // pieces as of a plan; bytes per measurement
  const std::uint64_t piece = std::min(kPiece, bytes), passes = std::max<std::uint64_t>(1, kLeast / bytes);
  std::vector<Buffer> in, out;
  for (std::uint32_t t = 0; t < threads; ++t) in.emplace_back(bytes), out.emplace_back(bytes);
  const auto missing = [](const Buffer& b) { return b.data() == nullptr; };
  if (std::any_of(in.begin(), in.end(), missing) || std::any_of(out.begin(), out.end(), missing))
    return Error{ErrorCode::kIo,
                 fmt::format("{} MB of memory to measure this host with cannot be had; use a smaller -e",
                             2 * threads * bytes / 1'000'000),
                 {}};
  Crew crew(threads);
  const auto each_piece = [&](const auto& f) {
    for (std::uint64_t pass = 0; pass < passes; ++pass)
      for (std::uint64_t at = 0; at + piece <= bytes; at += piece) f(at);
  };
  crew.least_time(1, [&](std::uint32_t t) {
    std::memset(in[t].data(), 0, bytes);
    std::memset(out[t].data(), 0, bytes);
  });
  const double moved = static_cast<double>(bytes / piece * piece * passes);
  const double copy = crew.least_time(3, [&](std::uint32_t t) {
    const Buffer& from = in[(t + 1) % threads];
    each_piece([&](std::uint64_t at) { std::memcpy(out[t].data() + at, from.data() + at, piece); });
  });
  const Combine sum = combine_of(ElementType::kFloat, Reduction::kSum);
  const double add = crew.least_time(3, [&](std::uint32_t t) {
    const Buffer& from = in[(t + 1) % threads];
    each_piece([&](std::uint64_t at) { sum(out[t].data() + at, from.data() + at, in[t].data() + at, piece / 4); });
  });
  return RatePoint{bytes, moved / copy, moved / add};
}

}  // namespace

std::uint32_t cores_allowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1u, std::thread::hardware_concurrency());
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

void begin_on_own_core(std::uint32_t thread, std::uint32_t threads) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const auto cores = static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  auto left = static_cast<std::uint32_t>(std::uint64_t{thread} * cores / threads);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || left-- > 0) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    if (sched_setaffinity(0, sizeof own, &own) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
    return;
  }
}

Result<HostRates> measure_host(std::uint32_t ranks, std::uint64_t bytes) {
  constexpr std::uint64_t kSmallest = 64 << 10, kLargest = 64 << 20;
  HostRates out;
  out.cores = cores_allowed();
  const std::uint32_t at_once = std::max(1u, std::min(ranks, out.cores));
  BUSBAR_ASSIGN(out.in_cache, rates_of(at_once, kSmallest));
  BUSBAR_ASSIGN(out.largest, rates_of(at_once, std::clamp(bytes, kSmallest, kLargest)));
  return out;
}

}  // namespace busbar::runtime
