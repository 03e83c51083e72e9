// The settings of hosts and switches that a run begins with.
#pragma once

#include <functional>

#include "busbar/packet/internal/host_settings.h"
#include "busbar/packet/internal/network_options.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

/// The longest route of an idle network; it sets windows and queues.
struct Scale {
  Ps rtt = 0;
  double bdp = 0;        ///< bytes
  double line_rate = 0;  ///< bytes per ps, of the fastest host
  Ps longest_cable = 0;  ///< largest latency of a cable
};

struct Profile {
  PacketTransport transport = PacketTransport::kNscc;
  HostSettings hosts;
  NetworkOptions network;
  std::uint32_t queue_pairs = 1;  ///< per connection; internal/queue_pairs.h
};

Profile make_profile(const PacketOptions& options, const Scale& scale);
/// run_packet_list() with a profile that `adjust` has changed.
Result<PacketResult> run_adjusted(const routing::Router& router, const program::FlowList& list,
                                  const PacketOptions& options, const std::function<void(Profile&)>& adjust);

}  // namespace busbar::packet
