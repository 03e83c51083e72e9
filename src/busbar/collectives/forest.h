// Collectives over many trees and paths of any shape at once: from every root, in one server or in equal ones side by
// side, and from rank to rank over relays.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/builders.h"

namespace busbar {

/// A share of the buffer with the trees that it goes up and comes down, both of one root.
struct ForestTree {
  GivenTree up;    ///< reduce_scatter, all_reduce
  GivenTree down;  ///< all_gather, all_reduce
  std::uint32_t weight = 1;
};

struct ForestSpec {
  Collective op{};
  std::uint32_t ranks = 1;
  /// The trees span so many consecutive ranks, and stand in every such run of ranks alike; 0: all ranks.
  std::uint32_t per_node = 0;
  /// Rank at each place of each run, run by run; empty: 0, 1, 2 ... Over several runs for all_reduce alone: elsewhere
  /// the pieces of a place would not follow each other in the buffer.
  std::vector<std::uint32_t> order;
  /// How the ranks of one place, one of each run, do their part among themselves.
  Pattern scatter = Pattern::kRingReduceScatter, gather = Pattern::kRingAllGather;
  std::vector<ForestTree> trees;  ///< all_gather and reduce_scatter: of every root the same weight
};

/// all_gather: the ranks of a place gather among themselves, then every root broadcasts what it has down its trees.
/// reduce_scatter: the same backwards. all_reduce: both, roots with any weights. Each tree is a channel; over several
/// nodes a tree of weight w is w of them.
/// Errors: other collectives, trees that do not span a node, roots that differ or have unequal weights.
Result<Schedule> build_forest(const ForestSpec& spec);

/// A share of what the first rank has for the last one, with the ranks that pass it on between them.
struct RankPath {
  std::vector<std::uint32_t> ranks;
  std::uint32_t weight = 1;
};

/// gather and scatter (a path from, or to, every rank but the root), all_to_all (one between every two ranks): each
/// path a channel. Errors: other collectives, a pair without a path, pairs with unequal weights, a path that meets a
/// rank twice or belongs to no pair.
Result<Schedule> build_paths(Collective op, std::uint32_t ranks, std::uint32_t root,
                             const std::vector<RankPath>& paths);

}  // namespace busbar
