// The machine that Busbar runs on: its memory, its cores that have nothing to do, and work for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace busbar {

inline constexpr std::uint32_t kMostIdleCores = 8;  ///< that one computation uses: each costs work space of its own

/// Cores without other work, by the load of the last minute; at least 1.
std::uint32_t idle_cores();

/// Memory of this machine in bytes.
double memory_of_this_machine();

/// Calls work(item, thread) once for each item below `items`, in ascending order on each of up to `threads` threads.
/// Thread 0 is the caller's. Returns when all calls have. An exception of a call ends the work and is thrown here.
void share_out(std::size_t items, std::size_t threads,
               const std::function<void(std::size_t item, std::size_t thread)>& work);

}  // namespace busbar
