// Which pieces the sends of the stepwise patterns carry, and between which buffers.
#pragma once

#include <cstdint>

#include "busbar/collectives/schedule.h"
#include "busbar/collectives/sends.h"

namespace busbar::collectives {

struct Piece {
  std::uint32_t number = 0;  ///< a piece of the group; in an all-to-all: source n + destination, as positions
  Buffer from = Buffer::kInput;
  Buffer to = Buffer::kOutput;
  bool reduce = false;
  Buffer operand = Buffer::kInput;
};

/// Piece i of the send. Pieces are numbered by position: piece p belongs to the member at position p.
Piece piece_of(const Phase& phase, std::uint32_t n, std::uint32_t round, const Send& send, std::uint32_t i);

}  // namespace busbar::collectives
