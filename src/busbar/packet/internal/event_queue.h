// Events in the order of (time, source): a calendar of short buckets. Each bucket is sorted when its turn comes.
//
// Invariants:
//  1. A source (a wire, a port, a host, a timer) has at most one pending event. So an event is a place in two arrays.
//     The number of pending events depends on the size of the machine, not on the number of packets.
//  2. Time never goes back: push() accepts no time before that of the last pop().
//  3. Buckets [now, now + kBuckets) are lists linked through next_; one bit per bucket says whether it is empty. Later
//     events, most of them timers, wait in blocks of half as many buckets, lists likewise; still later ones in a heap.
//     Blocks below open_ are empty: their events have moved to buckets.
//  4. No two events share (time, source), so their order does not depend on the order of pushes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {

/// Cost: a push is three stores. A pop is one step in a sorted array, plus a few comparisons per event for sorting.
class EventQueue {
 public:
  struct Event {
    Ps time;
    std::uint32_t source;
    bool operator<(const Event& o) const { return time != o.time ? time < o.time : source < o.source; }
  };

  /// Buckets of 2^width_bits ps. Best with a handful of events per bucket.
  explicit EventQueue(int width_bits) : width_(width_bits) {
    head_.fill(kNone32);
    block_.fill(kNone32);
  }
  /// Makes room for sources [0, n).
  void reserve(std::uint32_t n) {
    if (n > time_.size()) {
      time_.resize(n);
      next_.resize(n);
    }
  }

  void push(std::uint32_t source, Ps time) {
    const std::uint64_t bucket = bucket_of(time);
    time_[source] = time;
    if (bucket <= now_) return insert_now({time, source});
    if (bucket - now_ < kBuckets) return link(bucket & kMask, source);
    if ((bucket >> kBlockBits) - open_ < kBlocks) return push_block(bucket >> kBlockBits, source);
    far_.push_back({time, source});
    std::push_heap(far_.begin(), far_.end(), later);
  }
  /// Moves the pending event of a source to the earlier time `time`. Cost: a walk through its bucket or block, or
  /// through all events later than those.
  void advance(std::uint32_t source, Ps time) {
    const std::uint64_t bucket = bucket_of(time_[source]);
    const auto same = [&](const Event& e) { return e.source == source; };
    if (bucket <= now_) {
      current_.erase(std::find_if(current_.begin() + static_cast<std::ptrdiff_t>(place_), current_.end(), same));
    } else if (const auto far = std::find_if(far_.begin(), far_.end(), same); far != far_.end()) {
      far_.erase(far);
      std::make_heap(far_.begin(), far_.end(), later);
    } else if (in_blocks_ > 0 && bucket >> kBlockBits >= open_ &&
               unlink(block_[bucket >> kBlockBits & (kBlocks - 1)], source)) {
      --in_blocks_;
    } else {
      unlink(head_[bucket & kMask], source);
      if (head_[bucket & kMask] == kNone32) unmark(bucket & kMask);
    }
    push(source, time);
  }
  /// Takes the earliest event; false if there is none.
  bool pop(Event& out) { return pop_until(INT64_MAX, out); }
  /// The same, but leaves events later than `limit`.
  bool pop_until(Ps limit, Event& out) {
    if (place_ == current_.size() && !turn(limit)) return false;
    if (current_[place_].time > limit) return false;
    out = current_[place_++];
    return true;
  }
  /// The time of the next event; INT64_MAX if there is none. Cost: a walk through a bucket, or through a block if no
  /// event is near.
  Ps next_time() const {
    if (place_ < current_.size()) return current_[place_].time;
    Ps first = far_.empty() ? INT64_MAX : far_.front().time;
    const auto take = [&](std::uint32_t list) {
      for (std::uint32_t s = list; s != kNone32; s = next_[s]) first = std::min(first, time_[s]);
    };
    const std::uint64_t bucket = next_full();
    if (bucket != kNever) take(head_[bucket & kMask]);
    if (in_blocks_ > 0 && (bucket == kNever || bucket >> kBlockBits >= open_))
      take(block_[first_block() & (kBlocks - 1)]);
    return first;
  }
  /// The source of the event `n` places after the last one taken, if it is in the current bucket; otherwise kNone32.
  std::uint32_t ahead(std::uint32_t n) const {
    return place_ + n < current_.size() ? current_[place_ + n].source : kNone32;
  }

 private:
  static constexpr std::uint32_t kBuckets = 1u << 14, kMask = kBuckets - 1;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr int kBlockBits = 13;               ///< a block has 2^13 buckets, half of all
  static constexpr std::uint64_t kBlocks = 1u << 12;  ///< 8.6 ms with buckets of 256 ps

  std::uint64_t bucket_of(Ps time) const { return static_cast<std::uint64_t>(time) >> width_; }
  void link(std::uint32_t slot, std::uint32_t source) {
    next_[source] = head_[slot];
    head_[slot] = source;
    full_[slot >> 6] |= std::uint64_t{1} << (slot & 63);
    some_[slot >> 12] |= std::uint64_t{1} << (slot >> 6 & 63);
  }
  void unmark(std::uint32_t slot) {
    full_[slot >> 6] &= ~(std::uint64_t{1} << (slot & 63));
    if (full_[slot >> 6] == 0) some_[slot >> 12] &= ~(std::uint64_t{1} << (slot >> 6 & 63));
  }
  void insert_now(const Event& e) {
    BUSBAR_DCHECK(place_ == 0 || e.time >= current_[place_ - 1].time) << "an event in the past";
    current_.insert(std::upper_bound(current_.begin() + static_cast<std::ptrdiff_t>(place_), current_.end(), e), e);
  }
  static bool later(const Event& a, const Event& b) { return b < a; }
  void push_block(std::uint64_t block, std::uint32_t source) {
    std::uint32_t& head = block_[block & (kBlocks - 1)];
    next_[source] = head;
    head = source;
    ++in_blocks_;
  }
  /// False: it is not in that list.
  bool unlink(std::uint32_t& head, std::uint32_t source) {
    std::uint32_t* at = &head;
    while (*at != source && *at != kNone32) at = &next_[*at];
    if (*at == kNone32) return false;
    *at = next_[source];
    return true;
  }
  /// Pre: in_blocks_ > 0.
  std::uint64_t first_block() const {
    std::uint64_t block = open_;
    while (block_[block & (kBlocks - 1)] == kNone32) ++block;
    return block;
  }
  /// Moves the events of all blocks that now lie within the buckets.
  void open_blocks() {
    const std::uint64_t end = (now_ >> kBlockBits) + 2;
    for (; in_blocks_ > 0 && open_ < end; ++open_) {
      std::uint32_t s = std::exchange(block_[open_ & (kBlocks - 1)], kNone32);
      while (s != kNone32) {
        const std::uint32_t next = next_[s];
        draw_near({time_[s], s});
        s = next;
        --in_blocks_;
      }
    }
    open_ = std::max(open_, end);
  }
  /// Makes the next non-empty bucket the current one; false if none begins by `limit`.
  bool turn(Ps limit) {
    current_.clear();
    place_ = 0;
    std::uint64_t bucket = next_full();
    if (bucket == kNever || bucket >> kBlockBits >= open_) {  // an event of a block may come before
      const Ps first = next_time();
      bucket = first == INT64_MAX ? kNever : bucket_of(first);
    } else if (!far_.empty()) {
      bucket = std::min(bucket, bucket_of(far_.front().time));
    }
    if (bucket == kNever || bucket > bucket_of(limit)) return false;
    now_ = bucket;
    const std::uint32_t slot = bucket & kMask;
    for (std::uint32_t s = head_[slot]; s != kNone32; s = next_[s]) current_.push_back({time_[s], s});
    head_[slot] = kNone32;
    unmark(slot);
    if (open_ < (now_ >> kBlockBits) + 2) open_blocks();
    for (; !far_.empty() && bucket_of(far_.front().time) - now_ < kBuckets; far_.pop_back()) {
      draw_near(far_.front());
      std::pop_heap(far_.begin(), far_.end(), later);
    }
    sort_current();
    return true;
  }
  void draw_near(const Event& e) {
    const std::uint64_t bucket = bucket_of(e.time);
    if (bucket == now_) {
      current_.push_back(e);
    } else {
      link(bucket & kMask, e.source);
    }
  }
  void sort_current() {
    if (current_.size() > 48) return std::sort(current_.begin(), current_.end());
    for (std::size_t i = 1; i < current_.size(); ++i) {
      const Event e = current_[i];
      std::size_t j = i;
      for (; j > 0 && e < current_[j - 1]; --j) current_[j] = current_[j - 1];
      current_[j] = e;
    }
  }
  /// The next non-empty bucket after now_ in the ring, or kNever.
  std::uint64_t next_full() const {
    const std::uint32_t from = (now_ + 1) & kMask;
    std::uint32_t slot = first_full(from, kBuckets);
    if (slot == kBuckets) slot = first_full(0, from);
    if (slot == kBuckets) return kNever;
    return now_ + 1 + ((slot - from) & kMask);
  }
  /// The first non-empty slot in [from, to), or kBuckets.
  std::uint32_t first_full(std::uint32_t from, std::uint32_t to) const {
    if (from >= to) return kBuckets;
    const std::uint64_t first = full_[from >> 6] >> (from & 63);
    std::uint32_t slot = kBuckets;
    if (first != 0) {
      slot = from + static_cast<std::uint32_t>(std::countr_zero(first));
    } else {
      for (std::uint32_t w = (from >> 6) + 1; w < kBuckets >> 6; w = (w & ~63u) + 64) {
        const std::uint64_t words = some_[w >> 6] >> (w & 63);
        if (words == 0) continue;
        const std::uint32_t word = w + static_cast<std::uint32_t>(std::countr_zero(words));
        slot = (word << 6) + static_cast<std::uint32_t>(std::countr_zero(full_[word]));
        break;
      }
    }
    return slot < to ? slot : kBuckets;
  }

  int width_;
  std::uint64_t now_ = 0;       ///< the current bucket
  std::size_t place_ = 0;       ///< the next place in current_
  std::vector<Event> current_;  ///< sorted
  std::vector<Event> far_;      ///< heap, earliest first
  std::vector<Ps> time_;        ///< per source
  std::vector<std::uint32_t> next_;
  std::array<std::uint32_t, kBuckets> head_;
  std::array<std::uint64_t, kBuckets / 64> full_{};
  std::array<std::uint64_t, kBuckets / 4096> some_{};
  std::array<std::uint32_t, kBlocks> block_;
  std::uint64_t open_ = 2, in_blocks_ = 0;  ///< the first block with room; events in all blocks
};

}  // namespace busbar::packet
