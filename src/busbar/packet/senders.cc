#include "busbar/packet/internal/senders.h"

#include <algorithm>
#include <bit>

namespace busbar::packet {

std::uint32_t Senders::take() {
  if (free_.empty()) {
    senders_.emplace_back();
    bits_.resize(bits_.size() + 2 * words_);
    return size() - 1;
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  senders_[slot] = Sender{};
  std::fill_n(known(slot), 2 * words_, 0);
  return slot;
}

void Senders::give_up(std::uint32_t slot, std::uint32_t seq) {
  if (missing(slot, seq)) return;
  set(gone(slot), words_, seq);
  ++senders_[slot].lost;
}

void Senders::go_back(std::uint32_t slot, std::uint32_t seq) {
  for (; seq < senders_[slot].next; ++seq) give_up(slot, seq);
  senders_[slot].outstanding = 0;
}

void Senders::give_up_flight(std::uint32_t slot) {
  Sender& s = senders_[slot];
  for (std::uint32_t seq = s.all_before; seq < s.next; ++seq)
    if (!arrived(slot, seq)) give_up(slot, seq);
  s.outstanding = 0;
}

void Senders::note_all_before(std::uint32_t slot, std::uint32_t seq) {
  Sender& s = senders_[slot];
  std::uint64_t *there = known(slot), *again = gone(slot);
  for (; s.all_before < seq; ++s.all_before) {
    clear(there, words_, s.all_before);
    if (s.lost > 0 && test(again, words_, s.all_before)) {
      clear(again, words_, s.all_before);
      --s.lost;
    }
  }
}

void Senders::note_beyond(std::uint32_t slot, std::uint32_t first, std::uint64_t there) {
  Sender& s = senders_[slot];
  std::uint64_t *bits = known(slot), *again = gone(slot);
  if (there != 0) s.seen = std::max(s.seen, first + 64 - static_cast<std::uint32_t>(std::countl_zero(there)));
  for (; there != 0; there &= there - 1) {
    const std::uint32_t seq = first + static_cast<std::uint32_t>(std::countr_zero(there));
    set(bits, words_, seq);
    if (s.lost == 0 || !test(again, words_, seq)) continue;
    clear(again, words_, seq);
    --s.lost;
  }
}

std::uint32_t Senders::count_new(Sender& s, std::uint32_t total) {
  const std::uint32_t fresh = total > s.acked ? total - s.acked : 0;
  s.acked += fresh;
  s.outstanding -= std::min(fresh, s.outstanding);
  return fresh;
}

std::uint32_t Senders::pick_sequence(std::uint32_t slot, std::uint8_t& flags) {
  Sender& s = senders_[slot];
  if (s.lost == 0) return s.next++;
  std::uint64_t* again = gone(slot);
  std::uint32_t seq = s.all_before;
  while (!test(again, words_, seq)) ++seq;
  clear(again, words_, seq);
  --s.lost;
  flags |= kResent;
  return seq;
}

void Senders::foresee(std::uint32_t slot) const {
  const auto* at = reinterpret_cast<const char*>(&senders_[slot]);
  for (std::size_t i = 0; i < sizeof(Sender); i += 64) prefetch_to_write(at + i);
  prefetch_to_write(known(slot));
}

}  // namespace busbar::packet
