// Builders of schedules, one file per algorithm, and the registry that knows which are legal.
// Every one accepts one rank: a schedule without moves. docs/collectives.md has a row for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar {

/// What to build. Only the first four fields are needed; an algorithm ignores what it has no use for.
struct ScheduleSpec {
  /// "ring", "tree", ...; "hierarchical(ring,tree)" names the algorithm of each level, the innermost first,
  /// "torus(4,4,4)" the extents.
  std::string algorithm;
  Collective op{};
  std::uint32_t ranks = 1;
  std::uint32_t ranks_per_group = 1;  ///< size of a scale-up domain, as hierarchical, nvls and sharp shall see it
  std::uint32_t root = 0;
  std::uint32_t channels = 0;  ///< 0: as many as the algorithm needs (sharp: its trees)
  /// hierarchical: extents of its levels, torus: of its dimensions, the innermost first; empty: groups and domains of
  /// ranks_per_group, and for a torus the two factors of `ranks` that are nearest to each other.
  std::vector<std::uint32_t> dimensions;
  /// Algorithms that take orders: rank at each position, one for every AlgorithmTraits::channels_per_order channels;
  /// empty: 0, 1, 2 ...
  std::vector<std::vector<std::uint32_t>> orders;
  PairCounts pairs;  ///< all_to_allv
  // Limits of aggregation in the network (sharp). Defaults refuse nothing; machines that have limits state them.
  std::uint64_t message_bytes = 0;  ///< 0: not known
  std::uint64_t max_message_bytes = UINT64_MAX;
  std::uint32_t max_trees = UINT32_MAX;
};

/// Errors say why a combination is not possible and which are.
Result<Schedule> build_schedule(const ScheduleSpec& spec);

/// All of them, in the order of docs/collectives.md.
std::vector<std::string> algorithm_names();

/// Algorithms that build `spec.op` for spec.ranks and spec.ranks_per_group, in the order of docs/collectives.md.
/// Those with levels only where there are two, those with dimensions only where `spec` gives them, and those that
/// reduce in the network only with `in_network`.
std::vector<std::string> algorithms_for(const ScheduleSpec& spec, bool in_network);

/// Of algorithms that name levels, the forms over two levels that build `spec.op`:
/// "hierarchical(nvls,tree)". Those that reduce in the network only with `in_network`.
std::vector<std::string> nested_forms(const ScheduleSpec& spec, bool in_network);

/// Of an algorithm by name, "hierarchical(ring,tree)" included. Of a name that is none: the defaults.
AlgorithmTraits traits_of(std::string_view algorithm);

Result<Schedule> build_schedule(std::string_view algorithm, Collective op, std::uint32_t ranks,
                                std::uint32_t ranks_per_group, std::uint32_t root);

/// all_reduce, all_gather, reduce_scatter around the ring 0 -> 1 -> ... -> 0; broadcast and reduce along the chain that
/// starts or ends at `root`.
Result<Schedule> build_ring(Collective op, std::uint32_t ranks, std::uint32_t root = 0);

/// Double binary tree, each tree a channel with half of the chunks: all_reduce, broadcast and reduce. Gather and
/// scatter by one binomial tree.
Result<Schedule> build_tree(Collective op, std::uint32_t ranks, std::uint32_t root = 0);

/// Two levels: groups of `group_size` consecutive ranks, and the ranks with the same place in all groups.
/// all_reduce, all_gather, reduce_scatter by rings, broadcast and reduce by chains.
Result<Schedule> build_hierarchical(Collective op, std::uint32_t groups, std::uint32_t group_size,
                                    std::uint32_t root = 0);

/// A tree over all ranks that carries `weight` parts of the buffer.
struct WeightedTree {
  GivenTree tree;
  std::uint32_t weight = 1;
};
/// all_reduce (up each tree and down again), broadcast and reduce over given trees, each a channel with its share of
/// the buffer. Errors: no tree, one that does not span the ranks, or one whose node 0 is not the root.
Result<Schedule> build_tree_packing(Collective op, std::uint32_t ranks, std::uint32_t root,
                                    const std::vector<WeightedTree>& trees);

/// One message from rank 0 to rank 1.
Schedule build_send_recv();

/// A schedule of `chunks` chunks over one group of all ranks, without phases.
Schedule blank_schedule(const ScheduleSpec& spec, std::uint32_t chunks);

/// A phase over family 0 and chunks of their own.
Phase phase_of(Pattern pattern, Buffer source, Buffer work, Buffer result);

/// The same schedule with every chunk cut into `parts` chunks. Precondition: parts >= 1, parts x chunks < 2^32.
Schedule with_finer_chunks(Schedule schedule, std::uint32_t parts);

/// orders.size() copies side by side, copy i over the ranks in the order orders[i]; a root keeps its rank.
/// Error: an order that does not name each rank once. Precondition: every family is one group of all ranks.
Result<Schedule> with_orders(Schedule schedule, const std::vector<std::vector<std::uint32_t>>& orders);

/// A broadcast from `root` that sends every rank its piece and then does the all-gather `pieces`, or a reduce to `root`
/// that does the reduce-scatter `pieces` and then collects them. Both ends by direct messages.
/// Precondition: each channel of `pieces` has its chunks after those of the one before.
Schedule with_root(Schedule pieces, std::uint32_t root);

/// `copies` copies side by side, each on channels of its own with 1/copies of the buffer.
/// Precondition: copies >= 1, no all-to-all, no layouts by channel.
Schedule with_copies(Schedule schedule, std::uint32_t copies);

}  // namespace busbar
