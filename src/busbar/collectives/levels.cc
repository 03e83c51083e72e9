#include "busbar/collectives/internal/levels.h"

#include <fmt/core.h>

#include <array>

#include "busbar/base/text.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/tree_shape.h"

namespace busbar::collectives {
namespace {

using enum Buffer;

struct Name {
  std::string_view name;
  Pattern scatter, gather;  ///< the two halves of its all-reduce, on pieces
};
constexpr std::array<Name, 6> kNames{{
    {"ring", Pattern::kRingReduceScatter, Pattern::kRingAllGather},
    {"tree", Pattern::kTreeReduce, Pattern::kTreeBroadcast},
    {"halving_doubling", Pattern::kHalvingReduceScatter, Pattern::kDoublingAllGather},
    {"pat", Pattern::kPatReduceScatter, Pattern::kPatAllGather},
    {"direct", Pattern::kDirectReduceScatter, Pattern::kDirectAllGather},
    {"nvls", Pattern::kHubReduce, Pattern::kHubMulticast},
}};

/// For a broadcast or reduce.
bool in_pieces(const RankLevel& l) {
  switch (l.algorithm) {
    case LevelAlgorithm::kRing:
    case LevelAlgorithm::kTree:
      return false;
    case LevelAlgorithm::kNvls:
      return l.in_pieces;
    default:
      return true;
  }
}

class Writer {
 public:
  Writer(Schedule& s, std::span<const RankLevel> all, std::uint16_t channel, std::uint32_t chunk_base, bool mate)
      : s_(s), channel_(channel), chunk_base_(chunk_base), mate_(mate) {
    for (const RankLevel& l : all)
      if (l.extent > 1) levels_.push_back(l);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      spans_.push_back(1);
      for (std::size_t j = i + 1; j < levels_.size(); ++j)
        if (!rooted() || in_pieces(levels_[j])) spans_[i] *= levels_[j].extent;
      hubs_.push_back({0, 0});
    }
    first_family_ = static_cast<std::uint16_t>(s_.families.size());
  }

  Status write() {
    for (std::size_t i = 0; i < levels_.size(); ++i) s_.families.push_back(family(i, false));
    if (!rooted()) return write_pieces();
    write_rooted();
    return {};
  }

 private:
  bool rooted() const { return s_.op == Collective::kBroadcast || s_.op == Collective::kReduce; }
  std::uint32_t digit(std::size_t i) const { return s_.root / levels_[i].stride % levels_[i].extent; }

  /// The groups along level i. `home`: only groups whose upper digits are the root's. Groups with equal lower digits
  /// hold the same chunks. A lower level of a broadcast or reduce that is not in pieces has only the root's group.
  GroupFamily family(std::size_t i, bool home) const {
    GroupFamily f;
    const RankLevel& own = levels_[i];
    for (std::size_t j = 0; j < levels_.size(); ++j) {
      const bool fixed = j < i ? rooted() && !in_pieces(levels_[j]) : home;
      if (j != i && fixed) f.base += digit(j) * levels_[j].stride;
      if (j != i && !fixed) f.outer.push_back({levels_[j].extent, levels_[j].stride, j < i ? spans_[j] : 0});
    }
    f.inner = {Axis{.extent = own.extent, .actor_stride = own.stride}};
    for (std::uint32_t p = 0; own.backwards && p < own.extent; ++p) f.order.push_back(p == 0 ? 0 : own.extent - p);
    return f;
  }

  void add(std::size_t i, Pattern pattern, std::uint32_t span, Buffer source, Buffer work, Buffer result) {
    Phase p = phase_of(pattern, source, work, result);
    p.channel = channel_;
    p.family = static_cast<std::uint16_t>(first_family_ + i);
    p.chunk_base = chunk_base_;
    p.span = span;
    if (is_tree(pattern)) p.tree = mate_ ? 1 : 0, p.root = mate_ ? mate_root(levels_[i].extent) : 0;
    if (uses_hub(pattern)) p.hub = hub(i, pattern);
    s_.phases.push_back(p);
  }

  /// The reducers of a level, created on first use: one per group that reduces, and one that multicasts.
  std::uint32_t hub(std::size_t i, Pattern p) {
    const bool reduces = p == Pattern::kHubReduce || p == Pattern::kHubScatter || p == Pattern::kHubDown;
    std::uint32_t& first = hubs_[i][reduces ? 0 : 1];
    if (first == 0) {
      first = s_.ranks + s_.reducers;
      s_.reducers += s_.families[first_family_ + i].groups();
    }
    return first;
  }

  /// One reduce-scatter or all-gather of pieces; for the last level of an all-reduce, one direction of a tree.
  void add_half(std::size_t i, bool scatter, Buffer source, Buffer work, Buffer result) {
    const RankLevel& l = levels_[i];
    const Name& n = kNames[static_cast<std::size_t>(l.algorithm)];
    const bool whole = l.algorithm == LevelAlgorithm::kTree || l.algorithm == LevelAlgorithm::kNvls;
    const bool nvls = l.algorithm == LevelAlgorithm::kNvls;
    if (nvls && !scatter) add(i, Pattern::kHubGather, spans_[i], source, work, result);
    add(i, scatter ? n.scatter : n.gather, spans_[i] * (whole ? l.extent : 1), source, work, result);
    if (nvls && scatter) add(i, Pattern::kHubScatter, spans_[i], source, work, result);
  }

  Status write_pieces() {
    const bool scatters = s_.op != Collective::kAllGather, gathers = s_.op != Collective::kReduceScatter;
    const Buffer sums = gathers ? kOutput : kScratch;
    const std::size_t n = levels_.size();
    for (std::size_t i = 0; i < n; ++i)
      if (levels_[i].algorithm == LevelAlgorithm::kTree && (i + 1 < n || !scatters || !gathers))
        return invalid(
            "a tree moves the whole buffer, so it can only be the last level of an all_reduce, or a level "
            "of a broadcast or reduce; choose ring, halving_doubling, pat, direct or nvls");
    for (std::size_t i = 0; scatters && i < n; ++i)
      add_half(i, true, i == 0 ? kInput : sums, sums, i + 1 == n ? kOutput : sums);
    for (std::size_t i = n; gathers && i-- > 0;)
      add_half(i, false, !scatters && i + 1 == n ? kInput : kOutput, kOutput, kOutput);
    return {};
  }

  /// Sends between the root and the owners of the pieces of its group.
  void add_ends(std::size_t i, Buffer source) {
    s_.families.push_back(family(i, true));
    const LevelAlgorithm a = levels_[i].algorithm;
    const bool direct = a == LevelAlgorithm::kDirect;
    const Pattern scatter = direct ? Pattern::kDirectScatter : Pattern::kBinomialScatter;
    const Pattern gather = direct ? Pattern::kDirectGather : Pattern::kBinomialGather;
    add(i, s_.op == Collective::kBroadcast ? scatter : gather, spans_[i], source, kOutput, kOutput);
    s_.phases.back().family = static_cast<std::uint16_t>(s_.families.size() - 1);
    s_.phases.back().root = digit(i);
  }

  void add_whole(std::size_t i, Buffer source) {
    const bool down = s_.op == Collective::kBroadcast, hub = levels_[i].algorithm == LevelAlgorithm::kNvls;
    const std::size_t from = s_.phases.size();
    const auto put = [&](Pattern p) { add(i, p, spans_[i], source, kOutput, kOutput); };
    if (levels_[i].algorithm == LevelAlgorithm::kRing) put(down ? Pattern::kChainBroadcast : Pattern::kChainReduce);
    if (levels_[i].algorithm == LevelAlgorithm::kTree) put(down ? Pattern::kTreeBroadcast : Pattern::kTreeReduce);
    if (hub) put(down ? Pattern::kHubUp : Pattern::kHubReduce), put(down ? Pattern::kHubMulticast : Pattern::kHubDown);
    for (std::size_t p = from; p < s_.phases.size(); ++p) {
      s_.phases[p].root = digit(i);
      s_.phases[p].tree = is_tree(s_.phases[p].pattern) && mate_ ? 2 : 0;
    }
    s_.phases.back().at_root = down && hub;
  }

  void write_rooted() {
    const bool down = s_.op == Collective::kBroadcast;
    const std::size_t n = levels_.size();
    const auto source = [&, first = s_.phases.size()] { return s_.phases.size() == first ? kInput : kOutput; };
    for (std::size_t i = 0; down && i < n; ++i)
      if (in_pieces(levels_[i])) add_ends(i, source());
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = down ? n - 1 - k : k;
      if (in_pieces(levels_[i]))
        add_half(i, !down, source(), kOutput, kOutput);
      else
        add_whole(i, source());
    }
    for (std::size_t i = n; !down && i-- > 0;)
      if (in_pieces(levels_[i])) add_ends(i, kOutput);
  }

  Schedule& s_;
  std::uint16_t channel_;
  std::uint32_t chunk_base_;
  bool mate_;
  std::vector<RankLevel> levels_;
  std::vector<std::uint32_t> spans_;  ///< chunks of one piece of a level
  std::vector<std::array<std::uint32_t, 2>> hubs_;
  std::uint16_t first_family_ = 0;
};

}  // namespace

Result<LevelAlgorithm> parse_level(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i].name == name) return static_cast<LevelAlgorithm>(i);
  std::string known;
  for (const Name& n : kNames) append_word(known, n.name);
  return Error{
      ErrorCode::kUnsupported, fmt::format("'{}' is not an algorithm for one level; use one of {}", name, known), {}};
}

std::vector<std::string_view> level_names() {
  std::vector<std::string_view> out;
  for (const Name& n : kNames) out.push_back(n.name);
  return out;
}

Status add_levels(Schedule& schedule, std::span<const RankLevel> levels, std::uint16_t channel,
                  std::uint32_t chunk_base, bool mate) {
  return Writer(schedule, levels, channel, chunk_base, mate).write();
}

std::uint32_t rooted_chunks(std::span<const RankLevel> levels) {
  std::uint32_t chunks = 1;
  for (const RankLevel& l : levels)
    if (in_pieces(l)) chunks *= l.extent;
  return chunks;
}

std::vector<Axis> layout_of(std::span<const RankLevel> levels) {
  std::vector<Axis> out;
  for (std::size_t i = levels.size(); i-- > 0;)
    out.push_back(Axis{.extent = levels[i].extent, .chunk_stride = levels[i].stride});
  return out;
}

}  // namespace busbar::collectives
