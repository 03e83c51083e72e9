// Limits of whole devices: root complexes and host memory that all their links share, adders of switches that reduce.
#include <algorithm>

#include "busbar/engine/lowering_state.h"
#include "busbar/routing/slowest_cable.h"

namespace busbar {

void Lowering::State::read_units() {
  unit.clear();
  for (std::uint32_t d = 0; d < topology().device_count(); ++d) {
    const DeviceClass& c = topology().device_class(static_cast<DeviceId>(d));
    const auto limit = static_cast<double>(per_second(c.reduces ? c.reduce_rate : c.transit_rate));
    if (limit > 0 && unit.empty()) unit.assign(topology().device_count(), 0.0);
    if (limit > 0) unit[d] = limit / kPsPerSecond;
  }
  const auto limited = [&](DeviceId d) {
    return !unit.empty() && unit[index(d)] > 0 && !topology().device_class(d).reduces;
  };
  const auto switches = topology().fabric_switches();
  bundles = std::any_of(switches.begin(), switches.end(), limited) ? nullptr : router.bundles();
}

/// Appends the limits of the devices that path[begin..) enters; those of adders only where it is added up there.
void Lowering::State::add_units(std::size_t begin, bool adds) {
  if (unit.empty()) return;
  const std::size_t end = path.size();
  for (std::size_t i = begin; i < end; ++i) {
    if (is_bundle(path[i].link)) continue;  // between switches without limits
    const DeviceId d = topology().to(path[i].link);
    if (unit[index(d)] > 0 && (adds || !topology().device_class(d).reduces))
      path.push_back({unit_of(d), path[i].share});
  }
}

void Lowering::State::find_slowest() {
  slowest.clear();
  for (std::uint32_t b = 0; bundles && !bundles->alike() && b < bundles->count(); ++b)
    slowest.push_back(slowest_cable(*bundles, b, [this](LinkId l) { return rate[topology().link_class_index(l)]; }));
}

/// For messages: a link of the device whose limit `l` is, the slowest cable of a bundle.
LinkId Lowering::State::as_link(LinkId l) const {
  if (l == kNone<LinkId> || is_link(l)) return l;
  if (is_bundle(l)) return slowest_of(bundle_of(l));
  const auto links = topology().out_links(static_cast<DeviceId>(index(l) - topology().link_count()));
  return links.empty() ? kNone<LinkId> : links[0];
}

}  // namespace busbar
