// Messages that relays forward: each is a chain of sends on its own channel.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/collectives/forest.h"
#include "busbar/collectives/internal/legality.h"

namespace busbar::collectives {
namespace {

class PathWriter {
 public:
  PathWriter(Collective op, std::uint32_t ranks, std::uint32_t root) : pairs_(op == Collective::kAllToAll) {
    ScheduleSpec spec;
    spec.algorithm = "tree";
    spec.op = op;
    spec.ranks = ranks;
    spec.root = root;
    s_ = blank_schedule(spec, ranks);
    s_.families.clear();
  }

  Result<Schedule> write(const std::vector<RankPath>& paths) {
    if (paths.size() > UINT16_MAX / 2) return invalid("there can be 32767 paths");
    std::vector<std::uint64_t> weight(pairs_ ? std::size_t{s_.ranks} * s_.ranks : s_.ranks, 0);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      BUSBAR_RETURN_IF_ERROR(check(paths[i], i));
      weight[owner(paths[i])] += paths[i].weight;
    }
    std::uint64_t each = s_.ranks > 1 ? weight[pairs_ || s_.root == 0 ? 1 : 0] : 1;
    for (std::size_t i = 0; i < weight.size(); ++i)
      if (!stays(i) && (weight[i] == 0 || weight[i] != each))
        return invalid(fmt::format("the paths of pair {} have weight {}, those of others {}", i, weight[i], each));
    if (each * s_.chunks > UINT32_MAX) return invalid("path weights must stay small");
    s_.chunks *= static_cast<std::uint32_t>(each);
    s_.parts *= static_cast<std::uint32_t>(each);
    s_.channels = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(paths.size()));
    std::vector<std::uint32_t> used(weight.size(), 0);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const std::size_t o = owner(paths[i]);
      add(paths[i], static_cast<std::uint16_t>(i), static_cast<std::uint32_t>(o * each + used[o]));
      used[o] += paths[i].weight;
    }
    return std::move(s_);
  }

 private:
  /// The owner of a piece of the buffer: a rank, or source n + destination.
  std::size_t owner(const RankPath& p) const {
    if (pairs_) return std::size_t{p.ranks.front()} * s_.ranks + p.ranks.back();
    return s_.op == Collective::kGather ? p.ranks.front() : p.ranks.back();
  }
  bool stays(std::size_t owner) const { return pairs_ ? owner / s_.ranks == owner % s_.ranks : owner == s_.root; }

  Status check(const RankPath& p, std::size_t number) const {
    const auto refuse = [&](const char* why) { return invalid(fmt::format("path {}: {}", number, why)); };
    if (p.ranks.size() < 2 || p.weight == 0) return refuse("does not connect two ranks, or has no weight");
    std::vector<bool> seen(s_.ranks, false);
    for (const std::uint32_t r : p.ranks) {
      if (r >= s_.ranks || seen[r]) return refuse("visits a rank twice, or one that does not exist");
      seen[r] = true;
    }
    if ((s_.op == Collective::kGather && p.ranks.back() != s_.root) ||
        (s_.op == Collective::kScatter && p.ranks.front() != s_.root))
      return refuse("does not end at the root");
    return {};
  }

  std::uint16_t family(std::vector<std::uint32_t> ranks) {
    const auto [at, fresh] = family_of_.try_emplace(ranks, static_cast<std::uint16_t>(s_.families.size()));
    if (fresh) {
      GroupFamily f;
      f.listed = std::move(ranks);
      f.listed_groups = 1;
      s_.families.push_back(std::move(f));
    }
    return at->second;
  }

  /// Relays hold the data in scratch; the last rank receives it as output.
  void add(const RankPath& path, std::uint16_t channel, std::uint32_t first_chunk) {
    const auto way = [&](std::vector<std::uint32_t> ranks, Buffer source, Buffer work) {
      Phase p = phase_of(Pattern::kChainBroadcast, source, work, work);
      p.channel = channel;
      p.family = family(std::move(ranks));
      p.chunk_base = first_chunk;
      p.span = path.weight;
      s_.phases.push_back(p);
    };
    const bool relayed = path.ranks.size() > 2;
    if (relayed) way({path.ranks.begin(), path.ranks.end() - 1}, Buffer::kInput, Buffer::kScratch);
    way({path.ranks.end() - 2, path.ranks.end()}, relayed ? Buffer::kScratch : Buffer::kInput, Buffer::kOutput);
  }

  bool pairs_;
  Schedule s_;
  std::map<std::vector<std::uint32_t>, std::uint16_t> family_of_;
};

}  // namespace

Result<Schedule> build_paths(Collective op, std::uint32_t ranks, std::uint32_t root,
                             const std::vector<RankPath>& paths) {
  BUSBAR_RETURN_IF_ERROR(check_ranks(ranks, root));
  if (op != Collective::kGather && op != Collective::kScatter && op != Collective::kAllToAll)
    return not_built("tree", op);
  return PathWriter(op, ranks, root).write(paths);
}

}  // namespace busbar::collectives
