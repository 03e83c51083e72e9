#include "busbar/workload/rank_groups.h"

#include <algorithm>

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

GroupFamily stage_pairs(const LayoutSpec& l, std::uint32_t stage_a, std::uint32_t stage_b) {
  const auto [low, high] = std::minmax(stage_a, stage_b);
  const std::uint32_t per_stage = l.tp * l.dp;
  GroupFamily f;
  f.base = low * per_stage;
  f.outer = {{.extent = per_stage, .actor_stride = 1}};
  f.inner = {{.extent = 2, .actor_stride = (high - low) * per_stage}};
  return f;
}

}  // namespace busbar
