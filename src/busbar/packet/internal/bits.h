// One bit per packet of a window, at sequence number modulo the window. The number of words must be a power of two.
#pragma once

#include <cstdint>

namespace busbar::packet {

inline bool test(const std::uint64_t* bits, std::uint32_t words, std::uint32_t seq) {
  return bits[seq >> 6 & (words - 1)] >> (seq & 63) & 1;
}
inline void set(std::uint64_t* bits, std::uint32_t words, std::uint32_t seq) {
  bits[seq >> 6 & (words - 1)] |= std::uint64_t{1} << (seq & 63);
}
inline void clear(std::uint64_t* bits, std::uint32_t words, std::uint32_t seq) {
  bits[seq >> 6 & (words - 1)] &= ~(std::uint64_t{1} << (seq & 63));
}

}  // namespace busbar::packet
