#include "busbar/runtime/host_rates.h"

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "busbar/runtime/board.h"
#include "busbar/runtime/element.h"
#include "busbar/runtime/internal/tcp_wire.h"

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
  const Board& board() const { return board_; }

 private:
  std::vector<Counter> memory_;
  Board board_;
};

RatePoint rates_of(std::uint32_t threads, std::uint64_t bytes) {
  constexpr std::uint64_t kPiece = 256 << 10, kLeast = 4 << 20;  // pieces as of a plan; bytes per measurement
  const std::uint64_t piece = std::min(kPiece, bytes), passes = std::max<std::uint64_t>(1, kLeast / bytes);
  std::vector<std::vector<std::byte>> in(threads), out(threads);
  Crew crew(threads);
  const auto each_piece = [&](const auto& f) {
    for (std::uint64_t pass = 0; pass < passes; ++pass)
      for (std::uint64_t at = 0; at + piece <= bytes; at += piece) f(at);
  };
  crew.least_time(1, [&](std::uint32_t t) {
    in[t].resize(bytes);
    out[t].resize(bytes);
  });
  const double moved = static_cast<double>(bytes / piece * piece * passes);
  const double copy = crew.least_time(3, [&](std::uint32_t t) {
    const std::vector<std::byte>& from = in[(t + 1) % threads];
    each_piece([&](std::uint64_t at) { std::memcpy(out[t].data() + at, from.data() + at, piece); });
  });
  const Combine sum = combine_of(ElementType::kFloat, Reduction::kSum);
  const double add = crew.least_time(3, [&](std::uint32_t t) {
    const std::vector<std::byte>& from = in[(t + 1) % threads];
    each_piece([&](std::uint64_t at) { sum(out[t].data() + at, from.data() + at, in[t].data() + at, piece / 4); });
  });
  return {bytes, moved / copy, moved / add};
}

/// A token goes around the threads.
double hop_time(std::uint32_t threads) {
  constexpr std::uint32_t kRounds = 2000;
  if (threads < 2) return 0;
  Crew crew(threads);
  std::vector<Counter> token(threads);
  const double s = crew.least_time(3, [&](std::uint32_t t) {
    const std::uint64_t first = token[t].value.load();
    for (std::uint64_t round = first + 1; round <= first + kRounds; ++round) {
      Counter& before = token[(t + threads - 1) % threads];
      const std::uint64_t wanted = t == 0 ? round - 1 : round;
      for (std::uint32_t i = 0; before.value.load(std::memory_order_acquire) < wanted; ++i) crew.board().idle(i);
      token[t].value.store(round, std::memory_order_release);
    }
  });
  return s / kRounds / threads;
}

/// Sends or receives all of it.
void pass(int socket, std::byte* data, std::size_t bytes, bool sends) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n =
        sends ? send(socket, data + done, bytes - done, MSG_NOSIGNAL) : recv(socket, data + done, bytes - done, 0);
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else
      sched_yield();
  }
}

/// Least time in which two threads send `bytes` to each other in turn, one way.
double time_one_way(const Mesh& mesh, std::size_t bytes) {
  constexpr std::uint32_t kTurns = 20;
  Crew crew(2);
  std::vector<std::byte> data[2] = {std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
  const double s = crew.least_time(3, [&](std::uint32_t t) {
    for (std::uint32_t i = 0; i < 2 * kTurns; ++i) pass(mesh.end(t, 1 - t, 0), data[t].data(), bytes, i % 2 == t);
  });
  return s / (2 * kTurns);
}

}  // namespace

Status measure_sockets(HostRates& rates) {
  constexpr std::size_t kSmall = 32, kPiece = 256 << 10;
  BUSBAR_ASSIGN(const Mesh mesh, Mesh::make(2, 1));
  rates.socket_hop_s = time_one_way(mesh, kSmall);
  rates.socket_bytes_per_s = kPiece / std::max(1e-9, time_one_way(mesh, kPiece) - rates.socket_hop_s);
  return {};
}

std::uint32_t cores_allowed() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return std::max(1u, std::thread::hardware_concurrency());
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

RatePoint HostRates::at(std::uint64_t bytes) const {
  const auto above = std::find_if(points.begin(), points.end(), [&](const RatePoint& p) { return p.bytes >= bytes; });
  if (above == points.end()) return points.back();
  if (above == points.begin()) return points.front();
  const RatePoint& low = above[-1];
  const double x = std::log(static_cast<double>(bytes) / static_cast<double>(low.bytes)) /
                   std::log(static_cast<double>(above->bytes) / static_cast<double>(low.bytes));
  const auto between = [&](double a, double b) { return a + x * (b - a); };
  return {bytes, between(low.copy_bytes_per_s, above->copy_bytes_per_s),
          between(low.add_bytes_per_s, above->add_bytes_per_s)};
}

HostRates measure_host(std::uint32_t ranks, std::uint64_t bytes) {
  constexpr std::uint64_t kSmallest = 4 << 10, kLargest = 64 << 20;
  HostRates out;
  out.cores = cores_allowed();
  out.hop_s = hop_time(ranks);
  const std::uint32_t at_once = std::max(1u, std::min(ranks, out.cores));
  for (std::uint64_t size = kSmallest; size <= kLargest; size *= 4) {
    out.points.push_back(rates_of(at_once, size));
    if (size >= bytes) break;
  }
  return out;
}

}  // namespace busbar::runtime
