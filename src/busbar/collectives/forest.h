// Collectives over many trees and paths of any shape at once: from every root, in one server or in several equal ones,
// and from rank to rank over relays.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/collectives/builders.h"

namespace busbar::collectives {

/// A share of the buffer with the trees up which and down which it goes, both with one root.
struct ForestTree {
  GivenTree up;    ///< reduce_scatter, all_reduce
  GivenTree down;  ///< all_gather, all_reduce
  std::uint32_t weight = 1;
};

struct ForestSpec {
  Collective op{};
  std::uint32_t ranks = 1;
  /// The trees span this many consecutive ranks, and are repeated in every such run of ranks; 0: all ranks.
  std::uint32_t per_node = 0;
  /// The rank at each place of each run, run by run; empty: 0, 1, 2 ... Several runs with an order: only for
  /// all_reduce, since elsewhere the pieces of a place would not be adjacent in the buffer.
  std::vector<std::uint32_t> order;
  /// How the ranks at one place, one per run, exchange among themselves.
  Pattern scatter = Pattern::kRingReduceScatter, gather = Pattern::kRingAllGather;
  std::vector<ForestTree> trees;  ///< all_gather and reduce_scatter: equal weight for every root
};

/// all_gather: the ranks of a place gather among themselves, then every root broadcasts its data down its trees.
/// reduce_scatter: the same backwards. all_reduce: both, roots with any weights. Each tree is a channel; over several
/// nodes a tree of weight w is w channels.
/// Errors: other collectives, trees that do not span a node, roots that differ or have unequal weights.
Result<Schedule> build_forest(const ForestSpec& spec);

/// A share of the data from the first rank to the last one, with the ranks between that forward it.
struct RankPath {
  std::vector<std::uint32_t> ranks;
  std::uint32_t weight = 1;
};

/// gather and scatter (one or more paths from, or to, every rank but the root), all_to_all (between every two ranks).
/// Each path is a channel. Errors: other collectives, a pair without a path, pairs with unequal weights, a path that
/// meets a rank twice or belongs to no pair.
Result<Schedule> build_paths(Collective op, std::uint32_t ranks, std::uint32_t root,
                             const std::vector<RankPath>& paths);

}  // namespace busbar::collectives
