// Background traffic: flows that start at random times between random hosts.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/program/flow_list.h"
#include "busbar/routing/router.h"

namespace busbar::packet {

/// The cumulative distribution of flow sizes, linear between its points.
struct SizeDistribution {
  struct Point {
    double bytes = 0, share = 0;
  };
  std::vector<Point> points;  ///< sizes and shares both ascend; shares from 0 to 1

  double mean_bytes() const;
  /// The size that a share `share` of all flows does not exceed.
  Bytes at(double share) const;
};

struct BackgroundTraffic {
  SizeDistribution sizes;
  double load = 0;  ///< of the cables of each host, 0 to 1
  SimTime until;    ///< no flow starts later
  std::uint64_t seed = 0;
  const char* flag = "--background";  ///< named by errors
};

/// Appends flows. Each GPU sends by its nearest NIC, to another GPU drawn uniformly. Starts are Poisson in time, at the
/// rate that gives the load; GPUs that share a NIC share its load. Each GPU draws from a random stream of its own.
/// Errors: kUnsupported if fewer than two GPUs have a NIC, or for too many flows.
Status add_background(const BackgroundTraffic& traffic, const routing::Router& router, program::FlowList& list);

}  // namespace busbar::packet
