// Algorithms with levels: a rank is a mixed-radix number, and each digit has an algorithm of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "busbar/collectives/schedule.h"

namespace busbar {

/// How one level does its part.
enum class LevelAlgorithm : std::uint8_t { kRing, kTree, kHalvingDoubling, kPat, kDirect, kNvls };
/// By the name of the algorithm.
Result<LevelAlgorithm> parse_level(std::string_view name);

/// Those that there are.
std::vector<std::string_view> level_names();

struct RankLevel {
  std::uint32_t extent = 1;
  std::uint32_t stride = 1;  ///< ranks from one member of a group to the next
  LevelAlgorithm algorithm = LevelAlgorithm::kRing;
  bool backwards = false;  ///< rings run the other way round
  /// nvls in a broadcast or reduce: every member passes on a piece to the levels above, not one member the whole. So do
  /// halving_doubling, pat and direct in any case.
  bool in_pieces = false;
};

/// Adds families and phases of `op` over the levels to `channel` of the schedule: reduce-scatter from the first level
/// to the last, all-gather back; the last level may reduce and broadcast by one tree instead (tree 0, or its mate where
/// `mate`). Broadcast from the last level to the first, reduce the other way; with levels in pieces a broadcast first
/// scatters in the group of the root, from the first level on, and gathers on the way back, and a reduce the other way.
/// Chunks: [chunk_base, chunk_base + product of extents), in a broadcast or reduce of the levels in pieces.
/// Levels of extent 1 add nothing. Errors name a level that cannot do its part.
Status add_levels(Schedule& schedule, std::span<const RankLevel> levels, std::uint16_t channel,
                  std::uint32_t chunk_base, bool mate = false);

/// Chunks of a broadcast or reduce.
std::uint32_t rooted_chunks(std::span<const RankLevel> levels);

/// Where the chunks of add_levels lie in the buffer: the last level's digit is the fastest.
std::vector<Axis> layout_of(std::span<const RankLevel> levels);

}  // namespace busbar
