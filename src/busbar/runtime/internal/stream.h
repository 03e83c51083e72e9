// Copies that go past the caches of this core to memory.
#pragma once

#include <cstddef>

namespace busbar::runtime {

/// Whether this processor has them; else they are plain copies.
bool has_streams();
/// Precondition: no thread reads `to` before end_stream() of this thread.
void stream(std::byte* to, const std::byte* from, std::size_t bytes);
/// What this thread has streamed is seen by others before what it writes from now on.
void end_stream();

}  // namespace busbar::runtime
