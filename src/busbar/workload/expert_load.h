// How unequal the loads of experts are: the slowest rank of an EP group, and tokens that find an expert full.
#pragma once

#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

/// Loads relative to their mean before any token is dropped. The load of one expert is normal with the deviation of
/// LayoutSpec::expert_skew and the noise of a fair router over the group's tokens; a rank has the mean of its experts.
/// Source: expected maximum and quantile of the largest of EP normals (Blom); docs/models/step.md.
struct ExpertLoad {
  double busiest = 1;      ///< of the busiest rank, in the mean over exchanges. All ranks wait for it.
  double busiest_p90 = 1;  ///< exceeded in one of ten exchanges
  double dropped = 0;      ///< share of copies of tokens that an expert of LayoutSpec::expert_capacity has no place for
};
ExpertLoad expert_load(const ModelSpec& model, const LayoutSpec& layout);

/// Loads of the ranks of an EP group by member, in the mean over exchanges: the expected first, second, ... of EP
/// normals (Blom), in a fixed order that keeps busy ranks apart. The largest is `busiest`; without capacity their mean
/// is 1.
std::vector<double> rank_loads(const ModelSpec& model, const LayoutSpec& layout);

}  // namespace busbar::workload
