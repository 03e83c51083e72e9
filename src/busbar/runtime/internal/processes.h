// Ranks as processes that share the memory of their parent.
#pragma once

#include "busbar/runtime/internal/act.h"

namespace busbar::runtime {

/// Starts a process per actor and returns when all have ended. A process that ends early ends all others.
Status play_as_processes(const std::vector<Task>& tasks, const Arena& arena, Board& board,
                         const SessionOptions& options);

}  // namespace busbar::runtime
