// Traffic of others: flows that start at random times between random hosts.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/program/flow_list.h"
#include "busbar/routing/router.h"

namespace busbar {

/// How many flows are no larger than what: between two points linear.
struct SizeDistribution {
  struct Point {
    double bytes = 0, share = 0;
  };
  std::vector<Point> points;  ///< both ascending; shares from 0 to 1

  double mean_bytes() const;
  /// The size that `share` of all flows do not exceed.
  Bytes at(double share) const;
};

struct BackgroundTraffic {
  SizeDistribution sizes;
  double load = 0;  ///< of the cable of each host, 0 to 1
  SimTime until;    ///< the last start
  std::uint64_t seed = 0;
};

/// Appends flows: from each GPU, by its nearest NIC, Poisson in time at the rate that gives the load, each to another
/// GPU, all alike. Each host draws from its own stream. Errors: kUnsupported where GPUs have no NIC or there is one
/// only.
Status add_background(const BackgroundTraffic& traffic, const Router& router, FlowList& list);

}  // namespace busbar
