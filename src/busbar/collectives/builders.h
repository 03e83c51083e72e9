// Builders of schedules, one file per algorithm, and the registry that knows which are legal.
// Every one accepts one rank: a schedule without moves. docs/collectives.md has a row for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/collectives/schedule.h"

namespace busbar {

/// all_reduce, all_gather, reduce_scatter around the ring 0 -> 1 -> ... -> 0; broadcast and reduce along the chain that
/// starts or ends at `root`.
Result<Schedule> build_ring(Collective op, std::uint32_t ranks, std::uint32_t root = 0);

/// Double binary tree, each tree a channel with half of the chunks: all_reduce, and broadcast from `root`.
Result<Schedule> build_tree(Collective op, std::uint32_t ranks, std::uint32_t root = 0);

/// Two levels: groups of `group_size` consecutive ranks, and the ranks with the same place in all groups.
/// all_reduce, all_gather, reduce_scatter by rings, broadcast by chains.
Result<Schedule> build_hierarchical(Collective op, std::uint32_t groups, std::uint32_t group_size,
                                    std::uint32_t root = 0);

/// One message from rank 0 to rank 1.
Schedule build_send_recv();

/// The same schedule with every chunk cut into `parts` chunks. Precondition: parts >= 1, parts x chunks < 2^32.
Schedule with_finer_chunks(Schedule schedule, std::uint32_t parts);

/// `ranks_per_group` is the size of a scale-up domain as the hierarchical algorithm shall see it; others ignore it.
/// Errors say why a combination is not possible and which are.
Result<Schedule> build_schedule(std::string_view algorithm, Collective op, std::uint32_t ranks,
                                std::uint32_t ranks_per_group, std::uint32_t root);

/// Algorithms worth trying, in the order of docs/collectives.md: "hierarchical" only where it has two levels.
std::vector<std::string> algorithms_for(Collective op, std::uint32_t ranks, std::uint32_t ranks_per_group);

}  // namespace busbar
