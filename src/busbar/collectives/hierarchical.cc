// Levels, each with its own algorithm. By default two levels: groups of consecutive ranks, and the ranks at the same
// place of all groups.
#include <fmt/core.h>

#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"
#include "busbar/collectives/internal/levels.h"

namespace busbar::collectives {
namespace {

/// "hierarchical" or "hierarchical(a,b)": one ring per level, or the named algorithms.
Result<std::vector<LevelAlgorithm>> parse(std::string_view name, std::size_t levels) {
  BUSBAR_ASSIGN(const auto words, arguments_of(name));
  if (words.empty()) return std::vector<LevelAlgorithm>(levels, LevelAlgorithm::kRing);
  std::vector<LevelAlgorithm> out;
  for (const std::string_view word : words) {
    BUSBAR_ASSIGN(const LevelAlgorithm level, parse_level(word));
    out.push_back(level);
  }
  if (out.size() != levels)
    return invalid(
        fmt::format("{} algorithms for {} levels; name one for each, the innermost first", out.size(), levels));
  return out;
}

}  // namespace

Result<Schedule> build_hierarchical(const ScheduleSpec& spec) {
  std::vector<std::uint32_t> extents = spec.dimensions;
  const std::uint32_t l = spec.ranks_per_group;
  if (extents.empty() && l != 0) extents = {l, spec.ranks / l};
  BUSBAR_ASSIGN(const auto algorithms, parse(spec.algorithm, extents.empty() ? 2 : extents.size()));
  std::vector<RankLevel> levels;
  std::uint64_t product = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    levels.push_back({extents[i], static_cast<std::uint32_t>(product), algorithms[i]});
    product = extents[i] == 0 || product >= kMaxRanks ? kMaxRanks : product * extents[i];
  }
  if (extents.empty() || product != spec.ranks)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("hierarchical needs equal groups, and {} ranks do not divide into groups of {}; choose "
                             "another number of ranks or algorithm ring",
                             spec.ranks, extents.empty() ? 0 : extents[0]),
                 {}};
  if (algorithms.size() > 3) return invalid("hierarchical has at most three levels");
  for (std::size_t i = 1; i < algorithms.size(); ++i)
    if (algorithms[i] == LevelAlgorithm::kNvls)
      return Error{ErrorCode::kUnsupported,
                   "nvls uses the switch of one scale-up domain, so it can only be the innermost level",
                   {}};
  const bool rooted = spec.op == Collective::kBroadcast || spec.op == Collective::kReduce;
  levels[0].in_pieces = levels.size() > 1;                            // so that all members use their NICs
  const bool two_trees = algorithms.back() == LevelAlgorithm::kTree;  // each with half of the buffer
  const std::uint32_t chunks = rooted ? rooted_chunks(levels) : spec.ranks;
  Schedule s = blank_schedule(spec, chunks * (two_trees ? 2 : 1));
  s.families.clear();
  s.channels = two_trees ? 2 : 1;
  if (!rooted && !two_trees) s.layout = layout_of(levels);
  for (std::uint32_t c = 0; c < s.channels; ++c)
    BUSBAR_RETURN_IF_ERROR(add_levels(s, levels, static_cast<std::uint16_t>(c), c * chunks, c == 1));
  return s;
}

Result<Schedule> build_hierarchical(Collective op, std::uint32_t groups, std::uint32_t group_size, std::uint32_t root) {
  if (std::uint64_t{groups} * group_size >= kMaxRanks) return too_many_ranks(std::uint64_t{groups} * group_size);
  return build_schedule("hierarchical", op, groups * group_size, group_size, root);
}

}  // namespace busbar::collectives
