#include "busbar/collectives/schedule.h"

#include "busbar/base/check.h"

namespace busbar {
namespace {

std::uint32_t extent_of(const std::vector<Axis>& axes) {
  std::uint32_t n = 1;
  for (const Axis& a : axes) n *= a.extent;
  return n;
}

/// Sum of digit x stride of the mixed-radix number `index`; the last axis takes what is left, so one axis costs no
/// division.
std::uint32_t dot(const std::vector<Axis>& axes, std::uint32_t Axis::*stride, std::uint32_t index) {
  std::uint32_t sum = 0;
  const std::size_t n = axes.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Axis& a = axes[i];
    if (i + 1 == n) return sum + index * (a.*stride);
    sum += (index % a.extent) * (a.*stride);
    index /= a.extent;
  }
  return sum;
}

}  // namespace

std::uint32_t GroupFamily::groups() const { return listed.empty() ? extent_of(outer) : listed_groups; }

std::uint32_t GroupFamily::size() const {
  if (listed.empty()) return extent_of(inner);
  BUSBAR_DCHECK(listed_groups > 0 && listed.size() % listed_groups == 0);
  return static_cast<std::uint32_t>(listed.size()) / listed_groups;
}

std::uint32_t GroupFamily::actor(std::uint32_t group, std::uint32_t member) const {
  if (!listed.empty()) return listed[static_cast<std::size_t>(group) * size() + member];
  return base + dot(outer, &Axis::actor_stride, group) + dot(inner, &Axis::actor_stride, member);
}

std::uint32_t GroupFamily::chunk_offset(std::uint32_t group) const { return dot(outer, &Axis::chunk_stride, group); }

GroupFamily one_group(std::uint32_t n) {
  GroupFamily f;
  f.inner = {Axis{.extent = n, .actor_stride = 1}};
  return f;
}

std::uint32_t Schedule::part_of(std::uint32_t chunk) const {
  return layout.empty() ? chunk : dot(layout, &Axis::chunk_stride, chunk);
}

}  // namespace busbar
