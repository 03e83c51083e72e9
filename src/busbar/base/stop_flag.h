// A request to end a long computation, made by a signal handler.
#pragma once

#include <csignal>

#include "busbar/base/result.h"

namespace busbar {

/// Loops that may take long look at it and end early once it is not 0. Null: nothing ends them.
using StopFlag = const volatile std::sig_atomic_t*;

inline bool stops(StopFlag stop) { return stop != nullptr && *stop != 0; }
/// What an interrupted computation returns instead of a result.
inline Error interrupted() { return invalid("interrupted"); }

}  // namespace busbar
