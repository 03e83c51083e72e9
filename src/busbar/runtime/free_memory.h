// How much memory this host can still give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace busbar::runtime {

/// Bytes of `MemAvailable:` in the text of /proc/meminfo; empty without such a line.
std::optional<std::uint64_t> available_bytes(const std::string& meminfo);

/// Of this host, or of what is left to this process's control group, whichever is less; empty where neither is known.
std::optional<std::uint64_t> free_memory();

}  // namespace busbar::runtime
