// The part that one actor plays in a session, wherever it runs.
#pragma once

#include <string>
#include <vector>

#include "busbar/runtime/internal/arena.h"

namespace busbar::runtime {

/// Plays all tasks. False: the run was ended from outside.
/// `wire`: how data reach the others; null: memory is shared. `first`: the number of the first task on that wire, never
/// 0.
bool act(std::uint32_t actor, const std::vector<Task>& tasks, const Arena& arena, Board& board, Wire* wire,
         std::uint32_t first);

/// What an actor waits for, in words; empty: it does not wait.
std::string wait_of(std::uint32_t actor, const std::vector<Task>& tasks, Board& board);

}  // namespace busbar::runtime
