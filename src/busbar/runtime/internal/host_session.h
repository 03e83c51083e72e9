// The part of this process in a run on several hosts.
#pragma once

#include <vector>

#include "busbar/runtime/internal/arena.h"

namespace busbar::runtime {

/// run_tasks() of a process that is one rank of options.hosts.
Result<std::vector<TaskResult>> run_on_hosts(const std::vector<Task>& tasks, const SessionOptions& options);

/// What the tasks measured, as it lies in the arena.
std::vector<TaskResult> results_of(const std::vector<Task>& tasks, const Arena& arena);

}  // namespace busbar::runtime
