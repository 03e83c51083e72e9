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
#include <span>
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
    if (n > slots_.size()) slots_.resize(n);
    source_bits_ = std::bit_width(slots_.size());
  }

  [[gnu::always_inline]] void push(std::uint32_t source, Ps time) {
    const std::uint64_t bucket = bucket_of(time);
    slots_[source].time = time;
    if (bucket - now_ - 1 >= kBuckets - 1) [[unlikely]]
      return push_elsewhere(bucket, source);
    link(bucket & kMask, source);
  }
  /// Moves the pending event of a source to the earlier time `time`. Cost: a walk through its bucket or block, or
  /// through all events later than those.
  void advance(std::uint32_t source, Ps time) {
    const std::uint64_t bucket = bucket_of(slots_[source].time);
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
  static constexpr std::uint32_t kAhead = 20;
  /// Takes the earliest event; false if there is none.
  bool pop(Event& out) { return pop_until(INT64_MAX, out); }
  /// The same, but leaves events later than `limit`.
  [[gnu::always_inline]] bool pop_until(Ps limit, Event& out) {
    if (place_ >= refill_at_ && !refill(limit)) return false;
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
      for (std::uint32_t s = list; s != kNone32; s = slots_[s].next) first = std::min(first, slots_[s].time);
    };
    const std::uint64_t bucket = next_full();
    if (bucket != kNever) take(head_[bucket & kMask]);
    if (in_blocks_ > 0 && (bucket == kNever || bucket >> kBlockBits >= open_))
      take(block_[first_block() & (kBlocks - 1)]);
    return first;
  }
  /// The next events in their order: the kAhead next ones, as far as they are near, and maybe more. Valid until the
  /// next push or pop.
  std::span<const Event> ahead() const { return std::span(current_).subspan(place_); }

 private:
  struct Slot {
    Ps time = 0;
    std::uint32_t next = kNone32;
  };
  static constexpr std::uint64_t kNear = 8;  ///< buckets
  static constexpr std::size_t kFew = 20;    ///< events, for which comparing each with each is fastest
  static constexpr std::size_t kKept = 256;  ///< events that were taken stay in current_ for so long
  static constexpr std::uint32_t kBuckets = 1u << 14, kMask = kBuckets - 1;
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};
  static constexpr int kBlockBits = 13;               ///< a block has 2^13 buckets, half of all
  static constexpr std::uint64_t kBlocks = 1u << 12;  ///< 8.6 ms with buckets of 256 ps

  std::uint64_t bucket_of(Ps time) const { return static_cast<std::uint64_t>(time) >> width_; }
  [[gnu::always_inline]] void link(std::uint32_t slot, std::uint32_t source) {
    slots_[source].next = head_[slot];
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
  [[gnu::noinline]] void push_elsewhere(std::uint64_t bucket, std::uint32_t source) {
    const Ps time = slots_[source].time;
    if (bucket <= now_) return insert_now({time, source});
    if ((bucket >> kBlockBits) - open_ < kBlocks) return push_block(bucket >> kBlockBits, source);
    far_.push_back({time, source});
    std::push_heap(far_.begin(), far_.end(), later);
  }
  static bool later(const Event& a, const Event& b) { return b < a; }
  void push_block(std::uint64_t block, std::uint32_t source) {
    std::uint32_t& head = block_[block & (kBlocks - 1)];
    slots_[source].next = head;
    head = source;
    ++in_blocks_;
  }
  /// False: it is not in that list.
  bool unlink(std::uint32_t& head, std::uint32_t source) {
    std::uint32_t* at = &head;
    while (*at != source && *at != kNone32) at = &slots_[*at].next;
    if (*at == kNone32) return false;
    *at = slots_[source].next;
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
        const Slot slot = slots_[s];
        draw_near({slot.time, s});
        s = slot.next;
        --in_blocks_;
      }
    }
    open_ = std::max(open_, end);
  }
  /// Adds the next bucket to current_ before its last events are taken, so that ahead() can see them.
  [[gnu::noinline]] bool refill(Ps limit) {
    const std::size_t left = current_.size() - place_;
    if (left == 0) return turn(limit);
    refill_at_ = current_.size();
    const std::uint64_t bucket = next_full();
    if (bucket == kNever || bucket - now_ > kNear || bucket >> kBlockBits >= open_ ||
        (!far_.empty() && bucket_of(far_.front().time) <= bucket))
      return true;
    if (place_ > kKept) {
      current_.erase(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(place_));
      place_ = 0;
    }
    open(bucket);
    return true;
  }
  /// Makes the next non-empty bucket the current one; false if none begins by `limit`.
  bool turn(Ps limit) {
    current_.clear();
    place_ = refill_at_ = 0;
    std::uint64_t bucket = next_full();
    if (bucket == kNever || bucket >> kBlockBits >= open_) {  // an event of a block may come before
      const Ps first = next_time();
      bucket = first == INT64_MAX ? kNever : bucket_of(first);
    } else if (!far_.empty()) {
      bucket = std::min(bucket, bucket_of(far_.front().time));
    }
    if (bucket == kNever || bucket > bucket_of(limit)) return false;
    open(bucket);
    return true;
  }
  void open(std::uint64_t bucket) {
    now_ = bucket;
    keys_.clear();
    const std::uint32_t slot = bucket & kMask;
    for (std::uint32_t s = head_[slot]; s != kNone32; s = slots_[s].next) draw_now({slots_[s].time, s});
    head_[slot] = kNone32;
    unmark(slot);
    if (open_ < (now_ >> kBlockBits) + 2) open_blocks();
    for (; !far_.empty() && bucket_of(far_.front().time) - now_ < kBuckets; far_.pop_back()) {
      draw_near(far_.front());
      std::pop_heap(far_.begin(), far_.end(), later);
    }
    take_sorted();
    refill_at_ = current_.size() > kAhead ? current_.size() - kAhead : 0;
  }
  void draw_near(const Event& e) {
    const std::uint64_t bucket = bucket_of(e.time);
    bucket == now_ ? draw_now(e) : link(bucket & kMask, e.source);
  }
  void draw_now(const Event& e) {
    const std::uint64_t offset = static_cast<std::uint64_t>(e.time) - (now_ << width_);
    keys_.push_back(offset << source_bits_ | e.source);
  }
  Event event_of(std::uint64_t key) const {
    return {static_cast<Ps>((now_ << width_) + (key >> source_bits_)),
            static_cast<std::uint32_t>(key & ((std::uint64_t{1} << source_bits_) - 1))};
  }
  /// Appends the events of keys_ to current_ in their order. It compares without branches that depend on the outcome,
  /// since a processor would guess every second one wrong.
  void take_sorted() {
    const std::size_t n = keys_.size();
    // A list is in the reverse order of pushes, which often is the reverse order of times.
    const bool turned = n > kFew && std::is_sorted(keys_.rbegin(), keys_.rend());
    if (turned) std::reverse(keys_.begin(), keys_.end());
    if (n > kFew && !turned) sort_by_digits();
    current_.resize(current_.size() + n);
    Event* const out = current_.data() + current_.size() - n;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t key = keys_[i];
      std::size_t place = i;
      if (n <= kFew) {
        place = 0;
        for (std::size_t j = 0; j < n; ++j) place += keys_[j] < key ? 1 : 0;
      }
      out[place] = event_of(key);
    }
  }
  void sort_by_digits() {
    constexpr int kBits = 7;
    scratch_.resize(keys_.size());
    std::uint64_t differ = 0;
    for (const std::uint64_t key : keys_) differ |= key ^ keys_[0];
    for (int shift = 0; differ >> shift != 0; shift += kBits) {
      if ((differ >> shift & ((1u << kBits) - 1)) == 0) continue;
      const auto digit = [&](std::uint64_t key) { return key >> shift & ((1u << kBits) - 1); };
      std::array<std::uint32_t, 1u << kBits> count{};
      for (const std::uint64_t key : keys_) ++count[digit(key)];
      std::uint32_t sum = 0;
      for (std::uint32_t& c : count) c = std::exchange(sum, sum + c);
      for (const std::uint64_t key : keys_) scratch_[count[digit(key)]++] = key;
      keys_.swap(scratch_);
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

  int width_, source_bits_ = 0;
  std::uint64_t now_ = 0;                      ///< the current bucket
  std::size_t place_ = 0;                      ///< the next place in current_
  std::size_t refill_at_ = 0;                  ///< the place from which on the next bucket is wanted
  std::vector<Event> current_;                 ///< sorted: all events up to the bucket now_
  std::vector<Event> far_;                     ///< heap, earliest first
  std::vector<std::uint64_t> keys_, scratch_;  ///< time within the bucket now_, then source
  std::vector<Slot> slots_;                    ///< per source
  std::array<std::uint32_t, kBuckets> head_;
  std::array<std::uint64_t, kBuckets / 64> full_{};
  std::array<std::uint64_t, kBuckets / 4096> some_{};
  std::array<std::uint32_t, kBlocks> block_;
  std::uint64_t open_ = 2, in_blocks_ = 0;  ///< the first block with room; events in all blocks
};

}  // namespace busbar::packet
