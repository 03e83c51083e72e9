// What each capacity of a machine carries, and what it costs to cross it.
#pragma once

#include <span>
#include <vector>

#include "busbar/base/shortcuts.h"
#include "busbar/lowering/what_if.h"
#include "busbar/program/protocol.h"
#include "busbar/routing/router.h"

namespace busbar::lowering {

/// Links, the devices whose whole throughput is limited, and bundles of cables.
/// Limited devices: root complexes and host memory, switches that add, GPUs whose memory is slower than their links.
/// Bundles: those of the router. None if messages are held up on single cables, or if a switch between servers that
/// does not add is limited itself.
/// Units: bytes per ps, ps.
class CapacityTable {
 public:
  CapacityTable(const routing::Router& router, const program::ProtocolModel& protocol, const WhatIf& what_if = {},
                std::span<const LinkDelay> delays = {}, const Shortcuts& shortcuts = {});

  const routing::CapacityCounts& counts() const { return counts_; }
  /// Payload rate under the protocol and the what-if.
  double rate(routing::CapacityId c) const {
    if (c.is_link()) return class_rate_[topology().link_class_index(c.link())];
    return c.is_device() ? limit_[c.number()] : width(c) * class_rate_[topology().link_class_index(link_of(c))];
  }
  /// Wire rate of a link or a bundle; of a machine that was calibrated to more, the payload rate.
  double wire_rate(routing::CapacityId c) const {
    return (c.is_bundle() ? width(c) : 1) * class_wire_rate_[topology().link_class_index(link_of(c))];
  }
  /// 0 of a device.
  double latency_ps(routing::CapacityId c) const {
    return c.is_device() ? 0 : class_latency_ps_[topology().link_class_index(link_of(c))];
  }
  std::span<const double> class_latency_ps() const { return class_latency_ps_; }  ///< per link class

  /// Whether messages are held up anywhere.
  bool holds() const { return !held_ps_.empty(); }
  /// How long a message is held up there, in expectation.
  double held_ps(routing::CapacityId c) const { return held_ps_[c]; }

  /// Whether the device is a capacity. Of a GPU: its memory.
  bool limited(topology::DeviceId d) const { return !limit_.empty() && limit_[index(d)] > 0; }
  const routing::FabricBundles* bundles() const { return bundles_; }  ///< null: each cable is a capacity
  /// The link itself, the slowest cable of a bundle, or a link of the device, to name the capacity by.
  topology::LinkId link_of(routing::CapacityId c) const;
  /// Calls f(link, part) for the link that `c` is, or for the cables of the bundle; never for a device.
  template <typename F>
  void for_each_link(routing::CapacityId c, F f) const;

 private:
  const topology::Topology& topology() const { return *topology_; }
  double width(routing::CapacityId bundle) const { return bundles_->width(bundle.number()); }
  void read_limits(const routing::Router& router, const Shortcuts& shortcuts);
  void read_classes(const program::ProtocolModel& protocol, const WhatIf& what_if);
  const topology::Topology* topology_;
  const routing::FabricBundles* bundles_ = nullptr;
  routing::CapacityCounts counts_;
  std::vector<double> class_rate_, class_wire_rate_, class_latency_ps_;  ///< per link class
  std::vector<double> limit_;              ///< per device, 0: no limit; empty: no device has one
  std::vector<topology::LinkId> slowest_;  ///< per bundle; empty: the cables of each bundle are of one class
  routing::PerCapacity<double> held_ps_;   ///< empty: nowhere
};

template <typename F>
void CapacityTable::for_each_link(routing::CapacityId c, F f) const {
  if (c.is_link()) return f(c.link(), 1.0);
  if (!c.is_bundle()) return;
  const std::uint32_t cables = bundles_->width(c.number());
  for (std::uint32_t i = 0; i < cables; ++i) f(bundles_->link(c.number(), i), 1.0 / cables);
}

}  // namespace busbar::lowering
