#include "busbar/workload/rank_groups.h"

namespace busbar {

GroupFamily stage_ranks(const LayoutSpec& l, std::uint32_t stage) {
  GroupFamily f;
  f.base = stage * l.tp * l.dp;
  f.inner = {{.extent = l.tp * l.dp, .actor_stride = 1}};
  return f;
}

GroupFamily tp_groups(const LayoutSpec& l, std::uint32_t stage) {
  GroupFamily f;
  f.base = stage * l.tp * l.dp;
  f.outer = {{.extent = l.dp, .actor_stride = l.tp}};
  f.inner = {{.extent = l.tp, .actor_stride = 1}};
  return f;
}

GroupFamily dp_groups(const LayoutSpec& l, std::uint32_t stage) {
  GroupFamily f;
  f.base = stage * l.tp * l.dp;
  f.outer = {{.extent = l.tp, .actor_stride = 1}};
  f.inner = {{.extent = l.dp, .actor_stride = l.tp}};
  return f;
}

GroupFamily stage_pairs(const LayoutSpec& l, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t per_stage = l.tp * l.dp;
  GroupFamily f;
  f.base = from * per_stage;
  f.outer = {{.extent = per_stage, .actor_stride = 1}};
  f.inner = {{.extent = 2, .actor_stride = (to - from) * per_stage}};
  return f;
}

CollectiveCall auto_call(Collective op, std::uint64_t bytes, GroupFamily groups) {
  CollectiveCall call;
  call.op = op;
  call.bytes = Bytes{bytes};
  call.groups = std::move(groups);
  call.algorithm = "auto";
  return call;
}

}  // namespace busbar
