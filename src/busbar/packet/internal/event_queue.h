// Events in the order of (time, source): a calendar of short buckets. Each bucket is sorted when its turn comes.
//
// Invariants:
//  1. A source (a wire, a port, a host, a timer) has at most one pending event. So an event is a place in two arrays.
//     The number of pending events depends on the size of the machine, not on the number of packets.
//  2. Time never goes back: push() accepts no time before that of the last pop().
//  3. Buckets [now, now + kBuckets) are lists linked through next_; one bit per bucket says whether it is empty. Later
//     events wait in a heap.
//  4. No two events share (time, source), so their order does not depend on the order of pushes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
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
  explicit EventQueue(int width_bits) : width_(width_bits) { head_.fill(kNone32); }
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
    if (bucket - now_ >= kBuckets) return push_far({time, source});
    link(bucket & kMask, source);
  }
  /// Moves the pending event of a source to the earlier time `time`. Cost: a walk through its bucket, or through all
  /// events later than the calendar if it is one of those.
  void advance(std::uint32_t source, Ps time) {
    const std::uint64_t bucket = bucket_of(time_[source]);
    const auto same = [&](const Event& e) { return e.source == source; };
    if (bucket <= now_) {
      current_.erase(std::find_if(current_.begin() + static_cast<std::ptrdiff_t>(place_), current_.end(), same));
    } else if (const auto far = std::find_if(far_.begin(), far_.end(), same); far != far_.end()) {
      far_.erase(far);
      std::make_heap(far_.begin(), far_.end(), later);
    } else {
      std::uint32_t* at = &head_[bucket & kMask];
      while (*at != source) at = &next_[*at];
      *at = next_[source];
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
  /// The time of the next event; INT64_MAX if there is none. Cost: a walk through a bucket.
  Ps next_time() const {
    if (place_ < current_.size()) return current_[place_].time;
    Ps first = far_.empty() ? INT64_MAX : far_.front().time;
    const std::uint64_t bucket = next_full();
    if (bucket == kNever) return first;
    for (std::uint32_t s = head_[bucket & kMask]; s != kNone32; s = next_[s]) first = std::min(first, time_[s]);
    return first;
  }
  /// The source of the event `n` places after the last one taken, if it is in the current bucket; otherwise kNone32.
  std::uint32_t ahead(std::uint32_t n) const {
    return place_ + n < current_.size() ? current_[place_ + n].source : kNone32;
  }

 private:
  static constexpr std::uint32_t kBuckets = 1u << 14, kMask = kBuckets - 1;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

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
  void push_far(const Event& e) {
    far_.push_back(e);
    std::push_heap(far_.begin(), far_.end(), later);
  }
  /// Makes the next non-empty bucket the current one; false if none begins by `limit`.
  bool turn(Ps limit) {
    current_.clear();
    place_ = 0;
    const std::uint64_t ring = next_full();
    const std::uint64_t bucket = far_.empty() ? ring : std::min(ring, bucket_of(far_.front().time));
    if (bucket == kNever || bucket > bucket_of(limit)) return false;
    now_ = bucket;
    const std::uint32_t slot = bucket & kMask;
    for (std::uint32_t s = head_[slot]; s != kNone32; s = next_[s]) current_.push_back({time_[s], s});
    head_[slot] = kNone32;
    unmark(slot);
    while (!far_.empty() && bucket_of(far_.front().time) - now_ < kBuckets) draw_near();
    sort_current();
    return true;
  }
  void draw_near() {
    const Event e = far_.front();
    std::pop_heap(far_.begin(), far_.end(), later);
    far_.pop_back();
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
};

}  // namespace busbar::packet
