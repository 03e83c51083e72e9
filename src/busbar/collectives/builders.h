// Builders of schedules, one file per algorithm, and the registry of legal combinations.
// Every builder accepts one rank: a schedule without moves. docs/collectives.md has a row for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar::collectives {

/// What to build. Only the first four fields are required; an algorithm ignores fields that it does not use.
struct ScheduleSpec {
  /// "ring", "tree", ...; "hierarchical(ring,tree)" names the algorithm of each level, the innermost first,
  /// "torus(4,4,4)" the extents.
  std::string algorithm;
  Collective op{};
  std::uint32_t ranks = 1;
  std::uint32_t ranks_per_group = 1;  ///< size of a scale-up domain, for hierarchical, nvls and sharp
  std::uint32_t root = 0;
  std::uint32_t channels = 0;  ///< 0: as many as the algorithm needs (sharp: its trees)
  /// Extents, innermost first, of the levels (hierarchical) or dimensions (torus). Empty: groups and domains of
  /// ranks_per_group, and for a torus the two factors of `ranks` that are nearest to each other.
  std::vector<std::uint32_t> dimensions;
  /// Torus: the dimension that each channel of one direction starts with. Empty: each dimension once.
  std::vector<std::uint32_t> starts;
  /// For algorithms that take orders: the rank at each position, one order per AlgorithmTraits::channels_per_order
  /// channels. Empty: 0, 1, 2 ...
  std::vector<std::vector<std::uint32_t>> orders;
  PairCounts pairs;  ///< for all_to_allv
  // Limits of aggregation in the network (sharp). The defaults allow everything; machines with limits set them.
  std::uint64_t message_bytes = 0;  ///< 0: unknown
  std::uint64_t max_message_bytes = UINT64_MAX;
  std::uint32_t max_trees = UINT32_MAX;
};

/// An error says why a combination is impossible and which combinations are possible.
Result<Schedule> build_schedule(const ScheduleSpec& spec);

/// All algorithms, in the order of docs/collectives.md.
std::vector<std::string> algorithm_names();

/// Algorithms that build `spec.op` for spec.ranks and spec.ranks_per_group, in the order of docs/collectives.md.
/// Algorithms with levels are included only if there are two, with dimensions only if `spec` gives them, and those that
/// reduce in the network only with `in_network`.
std::vector<std::string> algorithms_for(const ScheduleSpec& spec, bool in_network);

/// For algorithms that name levels, the forms over two levels that build `spec.op`: "hierarchical(nvls,tree)". Forms
/// that reduce in the network only with `in_network`.
std::vector<std::string> nested_forms(const ScheduleSpec& spec, bool in_network);

/// By name, including "hierarchical(ring,tree)". For an unknown name: the defaults.
AlgorithmTraits traits_of(std::string_view algorithm);

Result<Schedule> build_schedule(std::string_view algorithm, Collective op, std::uint32_t ranks,
                                std::uint32_t ranks_per_group, std::uint32_t root);

/// all_reduce, all_gather, reduce_scatter go around the ring 0 -> 1 -> ... -> 0; broadcast and reduce go along the
/// chain that starts or ends at `root`.
Result<Schedule> build_ring(Collective op, std::uint32_t ranks, std::uint32_t root = 0);

/// Double binary tree; each tree is a channel with half of the chunks: all_reduce, broadcast and reduce. Gather and
/// scatter use one binomial tree.
Result<Schedule> build_tree(Collective op, std::uint32_t ranks, std::uint32_t root = 0);

/// Two levels: groups of `group_size` consecutive ranks, and the ranks at the same place of all groups. all_reduce,
/// all_gather, reduce_scatter use rings, broadcast and reduce use chains.
Result<Schedule> build_hierarchical(Collective op, std::uint32_t groups, std::uint32_t group_size,
                                    std::uint32_t root = 0);

/// A tree over all ranks that carries `weight` parts of the buffer.
struct WeightedTree {
  GivenTree tree;
  std::uint32_t weight = 1;
};
/// all_reduce (up each tree and down again), broadcast and reduce over given trees. Each tree is a channel with its
/// share of the buffer. Errors: no tree, a tree that does not span the ranks, or one whose node 0 is not the root.
Result<Schedule> build_tree_packing(Collective op, std::uint32_t ranks, std::uint32_t root,
                                    const std::vector<WeightedTree>& trees);

/// All-reduce in one round: every rank sends its whole buffer to every other. For few bytes.
Schedule build_one_shot(std::uint32_t ranks);

/// One message from rank 0 to rank 1.
Schedule build_send_recv();

/// A schedule of `chunks` chunks over one group of all ranks, without phases.
Schedule blank_schedule(const ScheduleSpec& spec, std::uint32_t chunks);

/// A phase over family 0 with its own chunks.
Phase phase_of(Pattern pattern, Buffer source, Buffer work, Buffer result);

/// The same schedule with every chunk cut into `parts` chunks. Precondition: parts >= 1, parts x chunks < 2^32.
Schedule with_finer_chunks(Schedule schedule, std::uint32_t parts);

/// orders.size() copies on separate channels, copy i with the ranks in the order orders[i]; a root keeps its rank.
/// Error: an order that does not contain each rank once. Precondition: every family is one group of all ranks.
Result<Schedule> with_orders(Schedule schedule, const std::vector<std::vector<std::uint32_t>>& orders);

/// Turns the all-gather `pieces` into a broadcast from `root`, which first sends every rank its piece; or the
/// reduce-scatter `pieces` into a reduce to `root`, which finally collects the pieces. Pieces go as direct messages.
/// Precondition: each channel of `pieces` has its chunks after those of the previous channel.
Schedule with_root(Schedule pieces, std::uint32_t root);

/// The all-reduce `sums` as a broadcast: a rank without data keeps what arrives, and what it would send before is left
/// out. Its time counts these sends too, so it is an upper bound. Or as a reduce, of which only the root keeps the
/// sums.
Schedule for_root_alone(Schedule sums, Collective op, std::uint32_t root);

/// `copies` copies, each on its own channels with 1/copies of the buffer.
/// Precondition: copies >= 1, no all-to-all, no layouts by channel.
Schedule with_copies(Schedule schedule, std::uint32_t copies);

}  // namespace busbar::collectives
