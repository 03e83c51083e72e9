#include "busbar/predict/rank_groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "busbar/base/text.h"

namespace busbar::predict {
namespace {

constexpr std::uint64_t kMostRanks = 1u << 24;  // of all groups together

Error wrong(const std::string& text, const std::string& why) {
  return invalid(
      fmt::format("'{}' {}; write ranks such as 0,1,4 or 0:512:8, or several groups such as 0:8+8x64", text, why),
      {"", 0, 0, "--ranks"});
}

/// -1 if it is not a number.
std::int64_t number(std::string_view s) {
  std::uint32_t out = 0;
  return is_number(s, out) ? std::int64_t{out} : -1;
}

struct Range {
  std::uint32_t start = 0, extent = 1, step = 1;
};

std::optional<Range> range_of(std::string_view item) {
  const auto parts = split_at(item, ':');
  std::vector<std::uint32_t> n;
  for (const std::string_view p : parts) {
    const std::int64_t value = number(p);
    if (value < 0) return std::nullopt;
    n.push_back(static_cast<std::uint32_t>(value));
  }
  if (n.size() == 1) return Range{n[0], 1, 1};
  const std::uint32_t step = n.size() == 3 ? n[2] : 1;
  if (n.size() > 3 || step == 0 || n[1] <= n[0]) return std::nullopt;
  return Range{n[0], (n[1] - n[0] + step - 1) / step, step};
}

/// The groups of one text.
struct Groups {
  std::vector<Range> ranges;
  std::vector<collectives::Axis> shifts;  ///< the first is the fastest
};

Result<Groups> parse_groups(const std::string& text) {
  Groups out;
  const auto parts = split_at(text, '+');
  for (const std::string_view item : split_at(parts.front(), ',')) {
    const auto range = range_of(item);
    if (!range) return wrong(text, fmt::format("contains '{}', which is not a rank or range", item));
    out.ranges.push_back(*range);
  }
  double all = 0;
  for (const Range& r : out.ranges) all += r.extent;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto shift = split_at(parts[i], 'x');
    const std::int64_t by = number(shift.front()), times = shift.size() == 2 ? number(shift.back()) : -1;
    if (by < 0 || times < 1) return wrong(text, fmt::format("contains '+{}', which is not a shift", parts[i]));
    out.shifts.push_back({.extent = static_cast<std::uint32_t>(times), .actor_stride = static_cast<std::uint32_t>(by)});
    all *= static_cast<double>(times);
  }
  if (all > static_cast<double>(kMostRanks)) return wrong(text, "names too many ranks");
  return out;
}

collectives::GroupFamily affine(const Groups& g) {
  collectives::GroupFamily out;
  out.base = g.ranges.front().start;
  out.inner = {{.extent = g.ranges.front().extent, .actor_stride = g.ranges.front().step}};
  out.outer = g.shifts;
  return out;
}

/// Appends every group of the text to a list.
void list(const Groups& g, collectives::GroupFamily& out) {
  collectives::GroupFamily shifts;
  shifts.outer = g.shifts;
  for (std::uint32_t s = 0; s < shifts.groups(); ++s)
    for (const Range& r : g.ranges)
      for (std::uint32_t m = 0; m < r.extent; ++m) out.listed.push_back(r.start + m * r.step + shifts.actor(s, 0));
  out.listed_groups += shifts.groups();
}

Status check(const collectives::GroupFamily& f, std::uint32_t ranks) {
  std::vector<std::uint32_t> last(ranks, 0);  // 1 + the last group that has the rank
  for (std::uint32_t g = 0; g < f.groups(); ++g)
    for (std::uint32_t m = 0; m < f.size(); ++m) {
      const std::uint32_t rank = f.actor(g, m);
      if (rank >= ranks)
        return wrong(std::to_string(rank), fmt::format("is not a rank of a machine with {} GPUs", ranks));
      if (last[rank] == g + 1) return wrong(std::to_string(rank), "occurs twice in one group");
      last[rank] = g + 1;
    }
  return {};
}

}  // namespace

Result<collectives::GroupFamily> parse_rank_groups(std::span<const std::string> texts, std::uint32_t ranks) {
  collectives::GroupFamily out;
  std::optional<std::size_t> size;
  for (const std::string& text : texts) {
    BUSBAR_ASSIGN(const Groups groups, parse_groups(text));
    std::size_t mine = 0;
    for (const Range& r : groups.ranges) mine += r.extent;
    if (size && *size != mine) return wrong(text, fmt::format("has groups of {} ranks, others have {}", mine, *size));
    size = mine;
    if (texts.size() == 1 && groups.ranges.size() == 1)
      out = affine(groups);
    else
      list(groups, out);
  }
  BUSBAR_RETURN_IF_ERROR(check(out, ranks));
  return out;
}

namespace {

/// The ranks of one group as few ranges, in the order of the members.
std::string group_text(const collectives::GroupFamily& f, std::uint32_t group) {
  std::string out;
  const std::uint32_t n = f.size();
  for (std::uint32_t m = 0; m < n;) {
    const std::uint32_t first = f.actor(group, m);
    std::uint32_t run = 1;
    const std::uint32_t step = m + 1 < n ? f.actor(group, m + 1) - first : 0;  // huge if the ranks descend
    while (m + run < n && step <= kMostRanks && f.actor(group, m + run) == first + run * step) ++run;
    if (!out.empty()) out += ',';
    if (run < 3 && !(run == n && run > 1)) run = 1;
    if (run == 1)
      out += std::to_string(first);
    else if (step == 1)
      out += fmt::format("{}:{}", first, first + run);
    else
      out += fmt::format("{}:{}:{}", first, first + (run - 1) * step + 1, step);
    m += run;
  }
  return out;
}

}  // namespace

std::vector<std::string> rank_groups_text(const collectives::GroupFamily& f) {
  std::vector<std::string> out;
  const bool repeats = f.listed.empty() && std::all_of(f.outer.begin(), f.outer.end(), [](const collectives::Axis& a) {
                         return a.actor_stride <= kMostRanks;
                       });
  for (std::uint32_t g = 0; g < (repeats ? 1 : f.groups()); ++g) out.push_back(group_text(f, g));
  if (repeats)
    for (const collectives::Axis& a : f.outer)
      if (a.extent > 1) out.front() += fmt::format("+{}x{}", a.actor_stride, a.extent);
  return out;
}

}  // namespace busbar::predict
