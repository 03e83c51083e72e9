#include "busbar/workload/internal/rank_groups.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace busbar::workload {
namespace {

struct Strides {
  std::uint32_t tp, cp, dp, pp;
};

Strides strides_of(const LayoutSpec& l) {
  const std::uint32_t degrees[] = {l.tp, l.cp, l.dp, l.pp};
  std::uint32_t strides[4], ranks = 1;
  for (const ParallelAxis axis : l.rank_order) {
    strides[static_cast<std::size_t>(axis)] = ranks;
    ranks *= degrees[static_cast<std::size_t>(axis)];
  }
  return {strides[0], strides[1], strides[2], strides[3]};
}

using Axes = std::vector<collectives::Axis>;

/// Removes axes with one member, puts adjacent ranks first, and merges axes that continue each other.
Axes merged(Axes axes) {
  std::stable_sort(axes.begin(), axes.end(), [](const collectives::Axis& a, const collectives::Axis& b) {
    return a.actor_stride < b.actor_stride;
  });
  Axes out;
  for (const collectives::Axis& a : axes) {
    if (a.extent == 1) continue;
    if (!out.empty() && a.actor_stride == out.back().actor_stride * out.back().extent) {
      out.back().extent *= a.extent;
    } else {
      out.push_back(a);
    }
  }
  if (out.empty()) out.push_back({.extent = 1, .actor_stride = 1});
  return out;
}

collectives::GroupFamily family(const LayoutSpec& l, std::uint32_t stage, const Axes& outer, const Axes& inner) {
  collectives::GroupFamily f;
  f.base = stage * strides_of(l).pp;
  if (!outer.empty()) f.outer = merged(outer);
  f.inner = merged(inner);
  return f;
}

/// CP and DP ranks, divided into groups of `shard` ranks that share shards, and the copies of these groups.
struct DataAxes {
  Axes shard, copies;
};

DataAxes data_axes(const LayoutSpec& l) {
  const Strides s = strides_of(l);
  const std::uint32_t dp_in_shard = l.shard_ranks() / l.cp;
  return {{{.extent = l.cp, .actor_stride = s.cp}, {.extent = dp_in_shard, .actor_stride = s.dp}},
          {{.extent = l.dp / dp_in_shard, .actor_stride = s.dp * dp_in_shard}}};
}

Axes joined(Axes a, const Axes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Axes tp_axis(const LayoutSpec& l) { return {{.extent = l.tp, .actor_stride = strides_of(l).tp}}; }

Axes dp_axes(const LayoutSpec& l) {
  const Strides s = strides_of(l);
  return {{.extent = l.cp, .actor_stride = s.cp}, {.extent = l.dp, .actor_stride = s.dp}};
}

/// Parts of the ranks of a stage: those that share an expert, then those that share all experts, then their copies.
struct ExpertAxes {
  Axes tensor, experts, copies;
};

/// Moves the innermost `count` ranks of `from` to the result. Precondition: check_experts of layout.cc.
Axes take_innermost(Axes& from, std::uint32_t count) {
  Axes out;
  for (collectives::Axis& a : from) {
    const std::uint32_t taken = std::min(a.extent, count);
    out.push_back({.extent = taken, .actor_stride = a.actor_stride});
    a.extent /= taken;
    a.actor_stride *= taken;
    count /= taken;
  }
  return out;
}

ExpertAxes expert_axes(const LayoutSpec& l) {
  ExpertAxes out;
  out.copies = joined(tp_axis(l), dp_axes(l));
  std::stable_sort(out.copies.begin(), out.copies.end(), [](const collectives::Axis& a, const collectives::Axis& b) {
    return a.actor_stride < b.actor_stride;
  });
  out.tensor = take_innermost(out.copies, l.expert_tensor());
  out.experts = take_innermost(out.copies, l.ep);
  return out;
}

}  // namespace

collectives::GroupFamily stage_ranks(const LayoutSpec& l, std::uint32_t stage) {
  return family(l, stage, {}, joined(tp_axis(l), dp_axes(l)));
}

collectives::GroupFamily tp_groups(const LayoutSpec& l, std::uint32_t stage) {
  return family(l, stage, dp_axes(l), tp_axis(l));
}

collectives::GroupFamily cp_groups(const LayoutSpec& l, std::uint32_t stage) {
  const Strides s = strides_of(l);
  return family(l, stage, joined(tp_axis(l), {{.extent = l.dp, .actor_stride = s.dp}}),
                {{.extent = l.cp, .actor_stride = s.cp}});
}

collectives::GroupFamily dp_groups(const LayoutSpec& l, std::uint32_t stage) {
  return family(l, stage, tp_axis(l), dp_axes(l));
}

collectives::GroupFamily shard_groups(const LayoutSpec& l, std::uint32_t stage) {
  const DataAxes d = data_axes(l);
  return family(l, stage, joined(tp_axis(l), d.copies), d.shard);
}

collectives::GroupFamily copy_groups(const LayoutSpec& l, std::uint32_t stage) {
  const DataAxes d = data_axes(l);
  return family(l, stage, joined(tp_axis(l), d.shard), d.copies);
}

collectives::GroupFamily expert_groups(const LayoutSpec& l, std::uint32_t stage) {
  const ExpertAxes e = expert_axes(l);
  return family(l, stage, joined(e.tensor, e.copies), e.experts);
}

NodeGroups expert_node_groups(const LayoutSpec& l, std::uint32_t stage, std::uint32_t scale_up_gpus) {
  const ExpertAxes e = expert_axes(l);
  Axes inside, across;
  for (const collectives::Axis& a : e.experts) {  // an axis, or its first part, stays inside as long as its ranks do
    const std::uint32_t room = std::max(1u, scale_up_gpus / a.actor_stride), near = std::gcd(a.extent, room);
    inside.push_back({.extent = near, .actor_stride = a.actor_stride});
    across.push_back({.extent = a.extent / near, .actor_stride = a.actor_stride * near});
  }
  const Axes others = joined(e.tensor, e.copies);
  return {family(l, stage, joined(others, across), inside), family(l, stage, joined(others, inside), across)};
}

collectives::GroupFamily expert_tensor_groups(const LayoutSpec& l, std::uint32_t stage) {
  const ExpertAxes e = expert_axes(l);
  return family(l, stage, joined(e.experts, e.copies), e.tensor);
}

collectives::GroupFamily expert_data_groups(const LayoutSpec& l, std::uint32_t stage) {
  const ExpertAxes e = expert_axes(l);
  return family(l, stage, joined(e.tensor, e.experts), e.copies);
}

collectives::GroupFamily stage_pairs(const LayoutSpec& l, std::uint32_t from, std::uint32_t to) {
  return family(l, from, joined(tp_axis(l), dp_axes(l)),
                {{.extent = 2, .actor_stride = (to - from) * strides_of(l).pp}});
}

collectives::GroupFamily host_pairs(const LayoutSpec& l, std::uint32_t stage, std::uint32_t host_ranks, bool to_host) {
  collectives::GroupFamily f = family(l, stage, joined(tp_axis(l), dp_axes(l)),
                                      {{.extent = 2, .actor_stride = to_host ? host_ranks : 0u - host_ranks}});
  if (!to_host) f.base += host_ranks;
  return f;
}

program::CollectiveCall auto_call(collectives::Collective op, std::uint64_t bytes, collectives::GroupFamily groups) {
  program::CollectiveCall call;
  call.op = op;
  call.bytes = Bytes{bytes};
  call.groups = std::move(groups);
  call.algorithm = "auto";
  return call;
}

}  // namespace busbar::workload
