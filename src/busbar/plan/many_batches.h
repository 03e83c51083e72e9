// The time of a step of many micro-batches from two steps of fewer.
#pragma once

#include <functional>

#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/workload/layout.h"

namespace busbar::plan {

/// What is timed of a layout: a step, or a bound of one.
using LayoutTime = std::function<Result<Duration>(const workload::LayoutSpec&)>;

/// `time` of a resolved layout. With more than 64 micro-batches for each stage of the pipeline, `time` is asked for 8
/// and for 16 for each stage, and the rest takes as long as the second 8: a full pipeline repeats itself. Differs from
/// `time` by at most 0.1 % (ManyBatches.TakeTheTimeOfTwoShorterSteps). Without errors of its own.
Result<Duration> time_of_many(const workload::LayoutSpec& layout, const LayoutTime& time);

}  // namespace busbar::plan
