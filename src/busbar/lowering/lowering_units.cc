// Limits of whole devices: root complexes and host memory that all their links share, adders of switches that reduce,
// memory of GPUs.
#include <algorithm>

#include "busbar/lowering/lowering_state.h"
#include "busbar/lowering/memory_limit.h"
#include "busbar/routing/slowest_cable.h"

namespace busbar {

void Lowering::State::read_units() {
  unit.clear();
  for (std::uint32_t d = 0; d < topology().device_count(); ++d) {
    const DeviceClass& c = topology().device_class(static_cast<DeviceId>(d));
    const BytesPerSecond rate = c.kind == DeviceKind::kGpu ? memory_limit(topology(), static_cast<DeviceId>(d), shortcuts)
                                : c.reduces                ? c.reduce_rate
                                                           : c.transit_rate;
    const auto limit = static_cast<double>(per_second(rate));
    if (limit > 0 && unit.empty()) unit.assign(topology().device_count(), 0.0);
    if (limit > 0) unit[d] = limit / kPsPerSecond;
  }
  const auto limited = [&](DeviceId d) {
    return !unit.empty() && unit[index(d)] > 0 && !topology().device_class(d).reduces;
  };
  const auto switches = topology().fabric_switches();
  bundles = std::any_of(switches.begin(), switches.end(), limited) ? nullptr : router.bundles();
  if (bundles && !shortcuts.has(Shortcut::kBundles)) bundles = nullptr;
}

/// Appends the limits of the devices that path[begin..) enters; those of adders only where it is added up there, and
/// those of GPUs not at all: what passes a GPU on its way does not touch its memory.
void Lowering::State::add_units(std::size_t begin, bool adds) {
  if (unit.empty()) return;
  const std::size_t end = path.size();
  for (std::size_t i = begin; i < end; ++i) {
    if (!path[i].on.is_link()) continue;  // between switches without limits
    const DeviceId d = topology().to(path[i].on.link());
    if (unit[index(d)] > 0 && topology().kind(d) != DeviceKind::kGpu && (adds || !topology().device_class(d).reduces))
      path.push_back({CapacityId::limit_of(d), path[i].share});
  }
}

/// For phases [first, last), which cross the same edges. A byte that arrives is written; where it is added, its receiver
/// reads its own byte as well.
void Lowering::State::set_arrival_cost(const Schedule& s, std::uint32_t first, std::uint32_t last) {
  double sum = 0;
  for (std::uint32_t p = first; p < last; ++p) sum += adds_at_ranks(s.phases[p].pattern) ? 2 : 1;
  arrival_cost = sum / (last - first);
}

/// Appends the memory of `gpu` to the path in the making: it moves `bytes` for every byte on the path.
void Lowering::State::add_memory(DeviceId gpu, double bytes) {
  if (memory_limited(gpu)) path.push_back({CapacityId::limit_of(gpu), bytes});
}

void Lowering::State::find_slowest() {
  slowest.clear();
  for (std::uint32_t b = 0; bundles && !bundles->alike() && b < bundles->count(); ++b)
    slowest.push_back(slowest_cable(*bundles, b, [this](LinkId l) { return rate[topology().link_class_index(l)]; }));
}

/// For messages: a link of the device whose limit `l` is, the slowest cable of a bundle.
LinkId Lowering::State::as_link(CapacityId c) const {
  if (c == CapacityId()) return kNone<LinkId>;
  if (c.is_link()) return c.link();
  if (c.is_bundle()) return slowest_of(c.number());
  const auto links = topology().out_links(c.device());
  return links.empty() ? kNone<LinkId> : links[0];
}

}  // namespace busbar
