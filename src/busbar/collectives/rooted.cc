// Broadcast and reduce made from an all-gather and a reduce-scatter (van de Geijn): first the root sends every rank its
// piece, or at the end it takes all pieces.
#include <algorithm>
#include <numeric>

#include "busbar/collectives/builders.h"

namespace busbar::collectives {
namespace {

/// Adjacent pieces of `span` chunks, each of another rank.
struct Row {
  std::uint32_t first_chunk = 0, span = 0;
  std::vector<std::uint32_t> owners;
};

class RootedWriter {
 public:
  RootedWriter(Schedule pieces, std::uint32_t root) : s_(std::move(pieces)) {
    gathers_ = s_.op == Collective::kAllGather;
    for (std::uint32_t c = 0; c < s_.chunks; ++c)
      owner_.push_back(static_cast<std::uint32_t>(std::uint64_t{s_.part_of(c)} * s_.ranks / s_.chunks));
    s_.op = gathers_ ? Collective::kBroadcast : Collective::kReduce;
    s_.root = root;
  }

  Schedule write() {
    std::vector<Phase> phases = std::move(s_.phases);
    s_.phases.clear();
    const auto earlier = [](const Phase& a, const Phase& b) { return a.channel < b.channel; };
    std::stable_sort(phases.begin(), phases.end(), earlier);
    for (std::size_t begin = 0, end = 0; begin < phases.size(); begin = end) {
      while (end < phases.size() && phases[end].channel == phases[begin].channel) ++end;
      const auto chunks = chunks_of(phases, begin, end);
      if (gathers_) add_ends(phases[begin].channel, chunks.first, chunks.second);
      for (std::size_t p = begin; p < end; ++p) s_.phases.push_back(with_output(phases[p]));
      if (!gathers_) add_ends(phases[begin].channel, chunks.first, chunks.second);
    }
    return std::move(s_);
  }

 private:
  /// The chunks of the channel of phases [begin, end): each channel has one range of chunks.
  std::pair<std::uint32_t, std::uint32_t> chunks_of(const std::vector<Phase>& phases, std::size_t begin,
                                                    std::size_t end) const {
    const auto least = [](std::uint32_t a, const Phase& p) { return std::min(a, p.chunk_base); };
    const auto at = [&](std::size_t i) { return phases.begin() + static_cast<std::ptrdiff_t>(i); };
    return {std::accumulate(at(begin), at(end), s_.chunks, least),
            std::accumulate(at(end), phases.end(), s_.chunks, least)};
  }

  /// A rank's own piece is in the output, and only there.
  Phase with_output(Phase p) const {
    if (gathers_ && p.source == Buffer::kInput) p.source = Buffer::kOutput;
    if (!gathers_ && p.source == Buffer::kScratch) p.source = Buffer::kOutput;
    if (!gathers_) p.work = p.result = Buffer::kOutput;
    return p;
  }

  std::vector<Row> rows(std::uint32_t first, std::uint32_t last) const {
    std::vector<Row> out;
    for (std::uint32_t begin = first, end = first; begin < last; begin = end) {
      while (end < last && owner_[end] == owner_[begin]) ++end;
      const bool again = !out.empty() && std::find(out.back().owners.begin(), out.back().owners.end(), owner_[begin]) !=
                                             out.back().owners.end();
      if (out.empty() || out.back().span != end - begin || again) out.push_back({begin, end - begin, {}});
      out.back().owners.push_back(owner_[begin]);
    }
    return out;
  }

  /// Sends between the root and the owners. A root that owns no piece of a row is at the end of the row.
  void add_ends(std::uint16_t channel, std::uint32_t first, std::uint32_t last) {
    for (Row& row : rows(first, last)) {
      auto& ranks = row.owners;
      auto at = std::find(ranks.begin(), ranks.end(), s_.root);
      if (at == ranks.end()) at = ranks.insert(at, s_.root);
      Phase p = phase_of(gathers_ ? Pattern::kDirectScatter : Pattern::kDirectGather,
                         gathers_ ? Buffer::kInput : Buffer::kOutput, Buffer::kOutput, Buffer::kOutput);
      p.channel = channel;
      p.chunk_base = row.first_chunk;
      p.span = row.span;
      p.root = static_cast<std::uint32_t>(at - ranks.begin());
      GroupFamily family;
      family.listed = std::move(ranks);
      family.listed_groups = 1;
      const auto known = std::find(s_.families.begin(), s_.families.end(), family);
      p.family = static_cast<std::uint16_t>(known - s_.families.begin());
      if (known == s_.families.end()) s_.families.push_back(std::move(family));
      s_.phases.push_back(p);
    }
  }

  Schedule s_;
  bool gathers_ = true;
  std::vector<std::uint32_t> owner_;  ///< per chunk
};

}  // namespace

Schedule with_root(Schedule pieces, std::uint32_t root) { return RootedWriter(std::move(pieces), root).write(); }

Schedule for_root_alone(Schedule sums, Collective op, std::uint32_t root) {
  sums.op = op;
  sums.root = root;
  sums.sends_nothing = op == Collective::kBroadcast;
  return sums;
}

}  // namespace busbar::collectives
