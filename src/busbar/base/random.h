// Named random streams: equal on every machine and standard library.
#pragma once

#include <cstdint>
#include <string_view>

namespace busbar {

/// One step of splitmix64, also the project's integer mixer for ECMP hashes.
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A stream of 64-bit numbers determined by (seed, name).
class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, std::string_view name) : state_(mix64(seed)) {
    for (const char c : name) state_ = mix64(state_ ^ static_cast<unsigned char>(c));
  }
  constexpr std::uint64_t next() { return mix64(state_ += 0x9e3779b97f4a7c15u); }
  /// Uniform in [0, n); n > 0. Bias below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * n) >> 64);
  }
  /// Uniform in [0, 1) with 53 bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace busbar
