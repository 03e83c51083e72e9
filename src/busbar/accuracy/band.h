// How far a prediction can be trusted, and where that comes from.
#pragma once

#include <string>

#include "busbar/base/units.h"
#include "busbar/spec/cluster.h"

namespace busbar {

struct Band {
  double low_percent = 0, high_percent = 0;  ///< the truth lies within (1 + low/100 .. 1 + high/100) of the prediction
  std::string basis;
};

/// Of a collective's time at one size. Source: the comparison in docs/accuracy.md, widest errors of each size band.
Band collective_band(const Cluster& cluster, Bytes size);

}  // namespace busbar
