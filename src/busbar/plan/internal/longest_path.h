// The time of a program whose operations never slow each other, without an engine.
#pragma once

#include <span>

#include "busbar/base/units.h"
#include "busbar/program/program.h"

namespace busbar::plan {

/// `calls`: the time of each call of the program. Result: what run_program() finds where calls take these times at any
/// time, and kernels theirs. Pre: no operations wait for each other in a circle. Cost: linear in operations and
/// dependencies.
Duration longest_path(const program::Program& program, std::span<const Duration> calls);

}  // namespace busbar::plan
