#include "busbar/runtime/internal/stream.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace busbar::runtime {

#if defined(__SSE2__)

bool has_streams() { return true; }

/// HOT: every byte of results written past the caches.
void stream(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kUnit = sizeof(__m128i);
  const std::size_t head = std::min(bytes, (kUnit - reinterpret_cast<std::uintptr_t>(to) % kUnit) % kUnit);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + kUnit <= bytes; at += kUnit)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
  std::memcpy(to + at, from + at, bytes - at);
}

void end_stream() { _mm_sfence(); }

#else

bool has_streams() { return false; }
void stream(std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); }
void end_stream() {}

#endif

}  // namespace busbar::runtime
