// Algorithms with levels: a rank is a mixed-radix number, and each digit has its own algorithm.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

/// The algorithm of one level.
enum class LevelAlgorithm : std::uint8_t { kRing, kTree, kHalvingDoubling, kPat, kDirect, kNvls };
/// Parses the name of the algorithm.
Result<LevelAlgorithm> parse_level(std::string_view name);

/// All names.
std::vector<std::string_view> level_names();

struct RankLevel {
  std::uint32_t extent = 1;
  std::uint32_t stride = 1;  ///< ranks from one member of a group to the next
  LevelAlgorithm algorithm = LevelAlgorithm::kRing;
  bool backwards = false;  ///< whether rings run backwards
  /// For nvls in a broadcast or reduce: every member passes one piece to the levels above, instead of one member all.
  /// halving_doubling, pat and direct always do so.
  bool in_pieces = false;
};

/// Adds families and phases of `op` over the levels to `channel` of the schedule: reduce-scatter from the first level
/// to the last, all-gather back. The last level may reduce and broadcast by one tree instead (tree 0, or with `mate`
/// its mate). Broadcast goes from the last level to the first, reduce the other way. With levels in pieces, a broadcast
/// first scatters in the root's group, from the first level on, and gathers on the way back; a reduce does the reverse.
/// Chunks: [chunk_base, chunk_base + product of extents), in a broadcast or reduce the extents of the levels in pieces.
/// Levels of extent 1 add nothing. Errors name the level that cannot take part.
Status add_levels(Schedule& schedule, std::span<const RankLevel> levels, std::uint16_t channel,
                  std::uint32_t chunk_base, bool mate = false);

/// The number of chunks of a broadcast or reduce.
std::uint32_t rooted_chunks(std::span<const RankLevel> levels);

/// Where the chunks of add_levels are in the buffer: the digit of the last level is the fastest.
std::vector<Axis> layout_of(std::span<const RankLevel> levels);

}  // namespace busbar::collectives
