// How far a prediction can be trusted, and where that comes from.
#pragma once

#include <string>

#include "busbar/spec/cluster.h"

namespace busbar {

struct Band {
  double low_percent = 0, high_percent = 0;  ///< the truth lies within (1 + low/100 .. 1 + high/100) of the prediction
  std::string basis;
};

/// Of a collective's time. docs/accuracy.md has the comparison it rests on.
Band collective_band(const Cluster& cluster);

}  // namespace busbar
