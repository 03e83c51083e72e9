// Where the time of a call is counted more simply than message by message, with an effect worth saying:
// docs/models/flow.md, "Simplified calls".
#pragma once

#include <array>
#include <cstdint>

namespace busbar::lowering {

enum class Simplification : std::uint8_t {
  kRoundsApart,    ///< more sends in rounds than are followed: rounds of different ranks are taken not to meet
  kRingsByLaw,     ///< more sends of rings that share links than are followed
  kPhasesInTurn,   ///< rings, rounds or direct sends before or after another phase, which may overlap with it
  kFirstChunk,     ///< trees or chains with more sends than are followed: only the first chunk is
  kOnePieceTrees,  ///< reductions by several trees, or broadcasts by several chains, in one piece
};
inline constexpr std::uint32_t kSimplificationCount = 5;

/// What the same schedule takes message by message, from the predicted time on.
struct SimplificationEffect {
  const char* words;
  int low_percent, high_percent;
};

/// Source of the percentages: the comparisons of docs/models/flow.md.
inline const SimplificationEffect& effect_of(Simplification s) {
  static constexpr std::array<SimplificationEffect, kSimplificationCount> kEffects{{
      {"more than 4,096 sends in rounds are not followed one by one, and rounds are taken not to meet", 0, 50},
      {"more than 16,384 sends of rings that share links are counted by a law", -12, 15},
      {"a rank waits for the whole phase or chunk before, though its own part of it is there", -27, 5},
      {"of trees or chains with so many sends only the first chunk is followed", -18, 5},
      {"pieces of several trees or chains that meet at one rank are counted once", -5, 30},
  }};
  return kEffects[static_cast<std::size_t>(s)];
}

class Simplifications {
 public:
  void add(Simplification s) { bits_ |= bit(s); }
  void add(const Simplifications& others) { bits_ |= others.bits_; }
  bool has(Simplification s) const { return (bits_ & bit(s)) != 0; }
  /// Calls f(simplification) in order.
  template <typename F>
  void for_each(F f) const {
    for (std::uint32_t i = 0; i < kSimplificationCount; ++i)
      if (const auto s = static_cast<Simplification>(i); has(s)) f(s);
  }

 private:
  static constexpr std::uint32_t bit(Simplification s) { return 1u << static_cast<std::uint32_t>(s); }
  std::uint32_t bits_ = 0;
};

}  // namespace busbar::lowering
