// Groups of ranks that communicate, as families in the layout's rank order.
#pragma once

#include <cstdint>

#include "busbar/program/program.h"
#include "busbar/workload/layout.h"

namespace busbar::workload {

collectives::GroupFamily stage_ranks(const LayoutSpec& l,
                                     std::uint32_t stage);  ///< one group with all ranks of the stage
collectives::GroupFamily tp_groups(const LayoutSpec& l, std::uint32_t stage);  ///< of TP neighbours
collectives::GroupFamily cp_groups(const LayoutSpec& l, std::uint32_t stage);  ///< ranks that share a sequence
collectives::GroupFamily dp_groups(const LayoutSpec& l,
                                   std::uint32_t stage);  ///< all DP x CP ranks that hold the same parameters
collectives::GroupFamily shard_groups(const LayoutSpec& l,
                                      std::uint32_t stage);  ///< its subgroups that share one set of shards
collectives::GroupFamily copy_groups(const LayoutSpec& l,
                                     std::uint32_t stage);  ///< its subgroups that hold the same shard
collectives::GroupFamily expert_groups(const LayoutSpec& l, std::uint32_t stage);  ///< EP: that exchange tokens
/// The parts of an EP group: ranks that are in the same domain of `scale_up_gpus` GPUs, and equal ranks of all its
/// domains.
struct NodeGroups {
  collectives::GroupFamily inside, across;
};
NodeGroups expert_node_groups(const LayoutSpec& l, std::uint32_t stage, std::uint32_t scale_up_gpus);
collectives::GroupFamily expert_tensor_groups(const LayoutSpec& l,
                                              std::uint32_t stage);  ///< that share each of their experts
collectives::GroupFamily expert_data_groups(const LayoutSpec& l, std::uint32_t stage);  ///< that hold the same experts
/// Pairs of equal ranks of two stages; member 0 is on `from`. Ranks add modulo 2^32, so the stride may be negative.
collectives::GroupFamily stage_pairs(const LayoutSpec& l, std::uint32_t from, std::uint32_t to);

/// Pairs of each rank of a stage and its host memory (KernelTable::host_ranks); member 0 sends.
collectives::GroupFamily host_pairs(const LayoutSpec& l, std::uint32_t stage, std::uint32_t host_ranks, bool to_host);

/// A call over `groups` without a chosen algorithm.
program::CollectiveCall auto_call(collectives::Collective op, std::uint64_t bytes, collectives::GroupFamily groups);

}  // namespace busbar::workload
