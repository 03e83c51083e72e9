// Groups of ranks that communicate, as families in the layout's rank order.
#pragma once

#include <cstdint>

#include "busbar/program/program.h"
#include "busbar/workload/layout.h"

namespace busbar {

GroupFamily stage_ranks(const LayoutSpec& l, std::uint32_t stage);  ///< one group with all ranks of the stage
GroupFamily tp_groups(const LayoutSpec& l, std::uint32_t stage);    ///< of TP neighbours
GroupFamily cp_groups(const LayoutSpec& l, std::uint32_t stage);    ///< ranks that share a sequence
GroupFamily dp_groups(const LayoutSpec& l, std::uint32_t stage);    ///< all DP x CP ranks that hold the same parameters
GroupFamily shard_groups(const LayoutSpec& l, std::uint32_t stage);   ///< its subgroups that share one set of shards
GroupFamily copy_groups(const LayoutSpec& l, std::uint32_t stage);    ///< its subgroups that hold the same shard
GroupFamily expert_groups(const LayoutSpec& l, std::uint32_t stage);  ///< EP: that exchange tokens
/// The parts of an EP group: ranks that are in the same domain of `scale_up_gpus` GPUs, and equal ranks of all its
/// domains.
struct NodeGroups {
  GroupFamily inside, across;
};
NodeGroups expert_node_groups(const LayoutSpec& l, std::uint32_t stage, std::uint32_t scale_up_gpus);
GroupFamily expert_tensor_groups(const LayoutSpec& l, std::uint32_t stage);  ///< that share each of their experts
GroupFamily expert_data_groups(const LayoutSpec& l, std::uint32_t stage);    ///< that hold the same experts
/// Pairs of equal ranks of two stages; member 0 is on `from`. Ranks add modulo 2^32, so the stride may be negative.
GroupFamily stage_pairs(const LayoutSpec& l, std::uint32_t from, std::uint32_t to);

/// Pairs of each rank of a stage and its host memory (KernelTable::host_ranks); member 0 sends.
GroupFamily host_pairs(const LayoutSpec& l, std::uint32_t stage, std::uint32_t host_ranks, bool to_host);

/// A call over `groups` without a chosen algorithm.
CollectiveCall auto_call(Collective op, std::uint64_t bytes, GroupFamily groups);

}  // namespace busbar
