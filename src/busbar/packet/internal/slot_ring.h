// Slots in turn: a list threaded through `ring_next` of what is in the slots.
#pragma once

#include <cstdint>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {

/// `Slots`: what operator[] gives of a slot has a `ring_next`; a slot is in one ring at most.
struct SlotRing {
  std::uint32_t head = kNone32, tail = kNone32;

  bool empty() const { return head == kNone32; }
  template <typename Slots>
  void push(Slots& slots, std::uint32_t slot) {
    slots[slot].ring_next = kNone32;
    if (empty()) {
      head = slot;
    } else {
      slots[tail].ring_next = slot;
    }
    tail = slot;
  }
  /// Pre: not empty.
  template <typename Slots>
  std::uint32_t pop(Slots& slots) {
    const std::uint32_t slot = head;
    head = slots[slot].ring_next;
    return slot;
  }
};

}  // namespace busbar::packet
