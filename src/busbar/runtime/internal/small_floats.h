// Half and bfloat16 as float and back, to the nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace busbar::runtime {

struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

inline float to_float(Bfloat16 x) { return std::bit_cast<float>(std::uint32_t{x.bits} << 16); }

inline Bfloat16 to_bfloat16(float f) {
  const auto b = std::bit_cast<std::uint32_t>(f);
  if ((b & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(b >> 16 | 0x40u)};  // not a number
  return {static_cast<std::uint16_t>((b + 0x7fffu + (b >> 16 & 1)) >> 16)};
}

/// Shifts the exponent by a multiplication, so that subnormal numbers need no case of their own.
inline float to_float(Half x) {
  const std::uint32_t sign = std::uint32_t{x.bits & 0x8000u} << 16, rest = std::uint32_t{x.bits & 0x7fffu} << 13;
  const float scaled = std::bit_cast<float>(rest) * 0x1p112f;
  const std::uint32_t bits = rest >= 0x7c00u << 13 ? rest | 0x7f800000u : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(bits | sign);
}

inline Half to_half(float f) {
  const auto b = std::bit_cast<std::uint32_t>(f);
  const auto sign = static_cast<std::uint16_t>(b >> 16 & 0x8000u);
  const std::uint32_t rest = b & 0x7fffffffu;
  const auto with_sign = [&](std::uint32_t bits) { return Half{static_cast<std::uint16_t>(bits | sign)}; };
  if (rest > 0x7f800000u) return with_sign(0x7e00u);   // not a number
  if (rest >= 0x477ff000u) return with_sign(0x7c00u);  // rounds to infinity
  if (rest < 0x38800000u) {                            // subnormal: the sum rounds it to a multiple of 2^-24
    const float sum = std::bit_cast<float>(rest) + 0.5f;
    return with_sign(std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f));
  }
  return with_sign((rest - 0x38000000u + 0xfffu + (rest >> 13 & 1)) >> 13);
}

}  // namespace busbar::runtime
