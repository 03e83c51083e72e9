// The minimum work of a packet simulator of this kind: one event per packet-hop, first come first served.
//
// 1,024 hosts below 32 leaves and 32 spines, one cable per pair; every host sends packets of 4,160 bytes to another
// one, 54 in flight, each answered by 64 bytes. No queues, no control, no statistics: the result is an upper bound.
//
// With a number N: N loops at the same time, each on a thread, and their speed-up over one loop: the most that N
// threads of a simulator can gain on this machine.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "busbar/base/random.h"

namespace {

constexpr std::uint32_t kHosts = 1024, kLeaves = 32, kSpines = 32, kPerLeaf = kHosts / kLeaves;
constexpr std::uint32_t kPackets = 1000, kWindow = 54;
constexpr std::int64_t kPsPerByte = 20, kLatency = 500'000;

struct Event {
  std::int64_t time;
  std::uint32_t packet;
  bool operator<(const Event& o) const { return time < o.time; }
};
struct Flying {
  std::uint32_t from, to, spine, size, hop;
};

class Loop {
 public:
  std::uint64_t run() {
    for (std::uint32_t h = 0; h < kHosts; ++h)
      for (std::uint32_t i = 0; i < kWindow; ++i) begin(h, (h + kPerLeaf) % kHosts, 4160);
    for (std::uint64_t bucket = 0; pending_ > 0; ++bucket) {
      current_.swap(buckets_[bucket % kBuckets]);
      std::sort(current_.begin(), current_.end());
      for (std::size_t i = 0; i < current_.size(); ++i) arrive(Event(current_[i]));
      current_.clear();
    }
    return hops_;
  }

 private:
  static constexpr std::uint32_t kBuckets = 1u << 15;
  static constexpr int kWidth = 10;

  void begin(std::uint32_t from, std::uint32_t to, std::uint32_t size) {
    std::uint32_t id = static_cast<std::uint32_t>(packets_.size());
    if (free_.empty()) {
      packets_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    packets_[id] = {from, to, static_cast<std::uint32_t>(random_.below(kSpines)), size, 0};
    send(from, id, static_cast<std::int64_t>(time_));
  }
  void send(std::uint32_t wire, std::uint32_t id, std::int64_t now) {
    std::int64_t& free = free_at_[wire];
    free = std::max(free, now) + packets_[id].size * kPsPerByte;
    const Event e{free + kLatency, id};
    buckets_[static_cast<std::uint64_t>(e.time) >> kWidth & (kBuckets - 1)].push_back(e);
    ++pending_;
    ++hops_;
  }
  void arrive(const Event& e) {
    --pending_;
    time_ = e.time;
    Flying& p = packets_[e.packet];
    const std::uint32_t leaf = p.from / kPerLeaf, last = p.to / kPerLeaf;
    switch (p.hop++) {
      case 0:
        return send(2 * kHosts + leaf * kSpines + p.spine, e.packet, e.time);
      case 1:
        return send(2 * kHosts + kLeaves * kSpines + p.spine * kLeaves + last, e.packet, e.time);
      case 2:
        return send(kHosts + p.to, e.packet, e.time);
      default:
        break;
    }
    const Flying done = p;
    free_.push_back(e.packet);
    if (done.size > 64) return begin(done.to, done.from, 64);
    if (sent_[done.to]++ < kPackets) begin(done.to, done.from, 4160);
  }

  std::vector<std::vector<Event>> buckets_{kBuckets};
  std::vector<Event> current_;
  std::vector<Flying> packets_;
  std::vector<std::uint32_t> free_;
  std::vector<std::int64_t> free_at_ = std::vector<std::int64_t>(2 * kHosts + 2 * kLeaves * kSpines);
  std::vector<std::uint32_t> sent_ = std::vector<std::uint32_t>(kHosts);
  busbar::RandomStream random_{1, "spine"};
  std::int64_t time_ = 0;
  std::uint64_t pending_ = 0, hops_ = 0;
};

double wall_s(int loops) {
  std::vector<std::unique_ptr<Loop>> all;
  for (int i = 0; i < loops; ++i) all.push_back(std::make_unique<Loop>());
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (auto& loop : all) threads.emplace_back([&loop] { loop->run(); });
  for (std::thread& t : threads) t.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (const int loops = argc > 1 ? std::atoi(argv[1]) : 1; loops > 1) {
    const double alone_s = wall_s(1), together_s = wall_s(loops);
    fmt::print("bare loops: one {:.2f} s, {} at once {:.2f} s: {:.2f} times as much\n", alone_s, loops, together_s,
               loops * alone_s / together_s);
    return 0;
  }
  Loop loop;
  const std::clock_t start = std::clock();
  const std::uint64_t hops = loop.run();
  const double cpu_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  fmt::print("bare loop: {} packet-hops, {:.2f} s, {:.2f} million a second\n", hops, cpu_s,
             static_cast<double>(hops) / cpu_s / 1e6);
  return 0;
}
