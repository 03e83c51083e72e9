// When each flow in progress will end, kept in order while rates change.
#pragma once

#include <cstdint>
#include <vector>

namespace busbar::solve {

/// A binary heap of (time, item) with a place per item, so that a time can be changed or taken out.
/// Order:   by (time, item). Allocates in reset() only.
class EndQueue {
 public:
  void reset(std::uint32_t items) {
    place_.assign(items, kOut);
    heap_.clear();
    heap_.reserve(items);
  }
  bool empty() const { return heap_.empty(); }
  std::int64_t next_ps() const { return heap_.front().ps; }
  std::uint32_t next_item() const { return heap_.front().item; }

  void set(std::uint32_t item, std::int64_t ps) {
    std::uint32_t at = place_[item];
    if (at == kOut) {
      at = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back({ps, item});
    }
    heap_[at].ps = ps;
    sift(at, {ps, item});
  }
  void erase(std::uint32_t item) {
    const std::uint32_t at = place_[item];
    if (at == kOut) return;
    place_[item] = kOut;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at < heap_.size()) sift(at, last);
  }

 private:
  static constexpr std::uint32_t kOut = 0xffff'ffffu;
  struct Entry {
    std::int64_t ps;
    std::uint32_t item;
    bool operator<(const Entry& o) const { return ps != o.ps ? ps < o.ps : item < o.item; }
  };
  void put(std::uint32_t at, Entry e) {
    heap_[at] = e;
    place_[e.item] = at;
  }
  /// Finds the place of `e`, whose entry is the hole at `at`.
  void sift(std::uint32_t at, Entry e) {
    while (at > 0 && e < heap_[(at - 1) / 2]) {
      put(at, heap_[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    for (;;) {
      std::uint32_t child = 2 * at + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < e)) break;
      put(at, heap_[child]);
      at = child;
    }
    put(at, e);
  }
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;
};

}  // namespace busbar::solve
