// Rings along one dimension after the other. Channels start with different dimensions, and half of them run backwards,
// so that all links of the torus are busy. ScheduleSpec::starts gives fast dimensions more channels. Several tori
// (pods) are joined by rings over the chips at the same place of each, on the pieces that the dimensions leave.
#include <fmt/format.h>

#include <numeric>

#include "busbar/base/text.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/internal/legality.h"
#include "busbar/collectives/internal/levels.h"

namespace busbar::collectives {
namespace {

/// The dimensions in the name; otherwise the machine's, or the two factors nearest to each other.
Result<std::vector<std::uint32_t>> dimensions_of(const ScheduleSpec& spec) {
  BUSBAR_ASSIGN(const auto words, arguments_of(spec.algorithm));
  std::vector<std::uint32_t> out;
  for (const std::string_view word : words) {
    std::uint32_t& extent = out.emplace_back(0);
    if (!is_number(word, extent) || extent == 0)
      return invalid("write the extents of a torus like torus(4,4,4), the innermost first");
  }
  if (!out.empty()) return out;
  if (!spec.dimensions.empty()) return spec.dimensions;
  std::uint32_t x = 1;
  for (std::uint32_t d = 1; std::uint64_t{d} * d <= spec.ranks; ++d)
    if (spec.ranks % d == 0) x = d;
  return std::vector<std::uint32_t>{spec.ranks / x, x};
}

}  // namespace

Result<Schedule> build_torus(const ScheduleSpec& spec) {
  BUSBAR_ASSIGN(const auto dims, dimensions_of(spec));
  const auto d = static_cast<std::uint32_t>(dims.size());
  std::uint64_t product = 1;
  std::vector<RankLevel> levels;
  for (const std::uint32_t extent : dims) {
    levels.push_back({extent, static_cast<std::uint32_t>(product), LevelAlgorithm::kRing});
    product = extent == 0 || product >= kMaxRanks ? kMaxRanks : product * extent;
  }
  const bool pods = product == spec.ranks_per_group && product < spec.ranks && spec.ranks % product == 0;
  if ((product != spec.ranks && !pods) || d > 3)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("torus needs up to three dimensions whose product is the number of ranks; {} is not {}",
                             fmt::join(dims, " x "), spec.ranks),
                 {}};
  std::vector<std::uint32_t> starts = spec.starts;
  if (starts.empty()) starts.resize(d), std::iota(starts.begin(), starts.end(), 0u);
  const auto turns = static_cast<std::uint32_t>(starts.size());
  const std::uint32_t channels = spec.channels == 0 ? 2 * turns : spec.channels;
  if (std::uint64_t{channels} * spec.ranks >= kMaxRanks) return too_many_ranks(std::uint64_t{channels} * spec.ranks);
  Schedule s = blank_schedule(spec, spec.ranks * channels);
  s.families.clear();
  s.channels = channels;
  for (std::uint32_t c = 0; c < channels; ++c) {
    std::vector<RankLevel> own;
    for (std::uint32_t i = 0; i < d; ++i) {
      own.push_back(levels[(starts[c % turns] + i) % d]);
      own.back().backwards = c % (2 * turns) >= turns;
    }
    if (pods) own.push_back({spec.ranks / spec.ranks_per_group, spec.ranks_per_group, LevelAlgorithm::kRing});
    BUSBAR_RETURN_IF_ERROR(add_levels(s, own, static_cast<std::uint16_t>(c), c * spec.ranks));
    auto layout = layout_of(own);
    for (Axis& a : layout) a.chunk_stride *= channels;
    layout.push_back(Axis{.extent = channels, .chunk_stride = 1});
    s.channel_layouts.push_back(std::move(layout));
  }
  return s;
}

}  // namespace busbar::collectives
