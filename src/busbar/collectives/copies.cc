// Functions that builders share, and schedules made from other schedules.
#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/check.h"
#include "busbar/collectives/builders.h"

namespace busbar::collectives {
namespace {

/// Whether `order` contains each of n members once.
bool is_permutation_of(std::uint32_t n, const std::vector<std::uint32_t>& order) {
  std::vector<std::uint8_t> seen(n, 0);  // bits take longer, and there may be a thousand orders
  for (const std::uint32_t m : order) {
    if (m >= n || seen[m]) return false;
    seen[m] = 1;
  }
  return order.size() == n;
}

}  // namespace

Schedule blank_schedule(const ScheduleSpec& spec, std::uint32_t chunks) {
  Schedule s;
  s.algorithm = spec.algorithm;
  s.op = spec.op;
  s.ranks = spec.ranks;
  s.root = spec.root;
  s.chunks = chunks;
  s.families = {one_group(spec.ranks)};
  if (spec.op != Collective::kAllToAll && spec.op != Collective::kAllToAllV) return s;
  const std::uint32_t n = spec.ranks;
  if (spec.op == Collective::kAllToAllV) s.pairs = spec.pairs;
  const auto& begin = s.pairs.begin;
  s.parts = begin.empty() ? n + s.pairs.hot * (s.pairs.hot_chunks - 1) : 1;
  s.chunks = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{n} * s.parts, UINT32_MAX));
  if (begin.empty()) return s;
  s.chunks = begin.back();
  for (std::size_t r = 0; r < n; ++r) s.parts = std::max(s.parts, begin[(r + 1) * n] - begin[r * n]);
  return s;
}

Phase phase_of(Pattern pattern, Buffer source, Buffer work, Buffer result) {
  Phase p;
  p.pattern = pattern;
  p.source = source;
  p.work = work;
  p.result = result;
  return p;
}

Schedule build_send_recv() {
  Schedule s;
  s.algorithm = "direct";
  s.op = Collective::kSendRecv;
  s.ranks = 2;
  s.chunks = 1;
  s.families = {one_group(2)};
  s.phases = {Phase{.pattern = Pattern::kChainBroadcast}};
  return s;
}

Schedule with_finer_chunks(Schedule s, std::uint32_t parts) {
  s.chunks *= parts;
  s.parts *= parts;
  for (GroupFamily& f : s.families)
    for (Axis& a : f.outer) a.chunk_stride *= parts;
  for (Phase& p : s.phases) {
    p.chunk_base *= parts;
    p.span *= parts;
  }
  const auto refine = [&](std::vector<Axis>& layout) {
    for (Axis& a : layout) a.chunk_stride *= parts;
    layout.insert(layout.begin(), Axis{.extent = parts, .chunk_stride = 1});
  };
  if (!s.layout.empty()) refine(s.layout);
  for (auto& layout : s.channel_layouts) refine(layout);
  return s;
}

Schedule with_copies(Schedule s, std::uint32_t copies) {
  BUSBAR_CHECK(copies >= 1 && s.channel_layouts.empty() && s.parts == 0) << s.algorithm;
  if (copies == 1) return s;
  if (s.layout.empty()) s.layout = {Axis{.extent = s.chunks, .chunk_stride = 1}};
  for (Axis& a : s.layout) a.chunk_stride *= copies;
  s.layout.push_back(Axis{.extent = copies, .chunk_stride = 1});
  const std::vector<Phase> one = s.phases;
  for (std::uint32_t c = 1; c < copies; ++c)
    for (Phase p : one) {
      p.channel = static_cast<std::uint16_t>(p.channel + c * s.channels);
      p.chunk_base += c * s.chunks;
      s.phases.push_back(p);
    }
  s.channels *= copies;
  s.chunks *= copies;
  return s;
}

Result<Schedule> with_orders(Schedule schedule, const std::vector<std::vector<std::uint32_t>>& orders) {
  const std::uint32_t each = schedule.channels;
  Schedule s = with_copies(std::move(schedule), static_cast<std::uint32_t>(orders.size()));
  const std::vector<GroupFamily> natural = std::move(s.families);
  s.families.clear();
  std::vector<std::uint32_t> root;  // position of the root in each family
  for (std::size_t i = 0; i < orders.size(); ++i) {
    if (!is_permutation_of(s.ranks, orders[i]))
      return invalid(fmt::format("order {} does not contain each of {} ranks once", i, s.ranks));
    for (const GroupFamily& f : natural) {
      s.families.push_back(one_group(s.ranks));
      std::vector<std::uint32_t>& order = s.families.back().order;
      for (std::uint32_t position = 0; position < s.ranks; ++position)
        order.push_back(orders[i][f.member_at(position)]);
      root.push_back(static_cast<std::uint32_t>(std::find(order.begin(), order.end(), s.root) - order.begin()));
    }
  }
  const bool rooted = s.op == Collective::kBroadcast || s.op == Collective::kReduce;
  for (Phase& p : s.phases) {
    p.family = static_cast<std::uint16_t>(p.channel / each * natural.size() + p.family);
    if (rooted) p.root = root[p.family];
  }
  return s;
}

}  // namespace busbar::collectives
