// busbar flows --engine packet
#pragma once

#include <optional>
#include <string>

#include "busbar/cli/flow_source.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/packet_watch.h"
#include "busbar/cli/session.h"

namespace busbar {

inline constexpr std::size_t kRowsShown = 10;  ///< rows per table of flows or links on a terminal

/// The arguments of `busbar flows` for the packet engine.
struct PacketFlowsRequest {
  std::string fabric;
  FlowSource source;
  std::string cdf;
  questions::PacketRun packets;
  std::optional<std::int64_t> seed;
  std::uint32_t links = 1000;
  questions::PacketExtras extras;
  WatchFlags watch;
};

/// Runs and prints; returns the exit status.
Result<int> run_packet_flows(const CommonOptions& common, const PacketFlowsRequest& request);

}  // namespace busbar
