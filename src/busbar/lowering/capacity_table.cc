#include "busbar/lowering/capacity_table.h"

#include <algorithm>

#include "busbar/lowering/memory_limit.h"
#include "busbar/lowering/send_costs.h"
#include "busbar/routing/slowest_cable.h"

namespace busbar::lowering {

CapacityTable::CapacityTable(const routing::Router& router, const program::ProtocolModel& protocol,
                             const WhatIf& what_if, std::span<const LinkDelay> delays, const Shortcuts& shortcuts)
    : topology_(&router.topology()) {
  read_limits(router, shortcuts);
  read_classes(protocol, what_if);
  if (!delays.empty() || !shortcuts.has(Shortcut::kBundles)) bundles_ = nullptr;
  for (std::uint32_t b = 0; bundles_ && !bundles_->alike() && b < bundles_->count(); ++b)
    slowest_.push_back(routing::slowest_cable(
        *bundles_, b, [this](topology::LinkId l) { return class_rate_[topology().link_class_index(l)]; }));
  counts_ = {topology().link_count(), static_cast<std::uint32_t>(limit_.size()), bundles_ ? bundles_->count() : 0};
  if (!delays.empty()) held_ps_ = {counts_, 0.0};
  for (const LinkDelay& d : delays) held_ps_[d.link] += d.probability * static_cast<double>(d.delay.in_ps());
}

void CapacityTable::read_limits(const routing::Router& router, const Shortcuts& shortcuts) {
  const topology::Topology& t = topology();
  for (std::uint32_t d = 0; d < t.device_count(); ++d) {
    const topology::DeviceClass& c = t.device_class(static_cast<topology::DeviceId>(d));
    const BytesPerSecond rate = c.kind == topology::DeviceKind::kGpu
                                    ? memory_limit(t, static_cast<topology::DeviceId>(d), shortcuts)
                                : c.reduces ? c.reduce_rate
                                            : c.transit_rate;
    if (c.kind == topology::DeviceKind::kNvme) continue;  // no end of a collective
    const auto limit = static_cast<double>(per_second(rate));
    if (limit > 0 && limit_.empty()) limit_.assign(t.device_count(), 0.0);
    if (limit > 0) limit_[d] = limit / kPsPerSecond;
  }
  const auto switches = t.fabric_switches();
  const auto slows = [&](topology::DeviceId d) { return limited(d) && !t.device_class(d).reduces; };
  bundles_ = std::any_of(switches.begin(), switches.end(), slows) ? nullptr : router.bundles();
}

void CapacityTable::read_classes(const program::ProtocolModel& protocol, const WhatIf& what_if) {
  const auto classes = topology().link_classes();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const bool changed = std::binary_search(what_if.link_classes.begin(), what_if.link_classes.end(), i);
    const double share = rate_shares(protocol).of(classes[i].kind);
    class_rate_.push_back(static_cast<double>(per_second(classes[i].payload_rate())) / kPsPerSecond * share *
                          (changed ? what_if.rate_factor : 1));
    // A machine that was calibrated may carry more than its wires are said to.
    const double reached = static_cast<double>(per_second(classes[i].payload_rate())) * share;
    const auto wire = static_cast<double>(per_second(classes[i].floor_rate()));
    class_wire_rate_.push_back(std::max(reached, wire) / kPsPerSecond);
    const auto latency_ps = static_cast<double>(classes[i].latency.in_ps());
    const auto less_ps = static_cast<double>(what_if.latency_less.in_ps());
    class_latency_ps_.push_back(changed ? std::max(0.0, latency_ps * what_if.latency_factor - less_ps) : latency_ps);
  }
}

topology::LinkId CapacityTable::link_of(routing::CapacityId c) const {
  if (c.is_link()) return c.link();
  if (c.is_bundle()) return slowest_.empty() ? bundles_->first(c.number()) : slowest_[c.number()];
  if (c == routing::CapacityId()) return kNone<topology::LinkId>;
  const auto links = topology().out_links(c.device());
  return links.empty() ? kNone<topology::LinkId> : links[0];
}

}  // namespace busbar::lowering
