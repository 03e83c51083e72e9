// One layout on one or more machines with batches of many sizes: where published figures hold.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/result.h"
#include "busbar/spec/claims_file.h"
#include "busbar/step/batch_range.h"
#include "busbar/step/scale_run.h"
#include "busbar/step/train_variants.h"

namespace busbar::step {

struct BatchAsk {
  std::uint32_t from = 0, to = 0;  ///< sequences per step
};
/// "64..4096". Error kInvalid names the field batches.
Result<BatchAsk> parse_batches(const std::string& text);

struct ClaimRange {
  spec::Claim claim;
  std::uint32_t from_batch = 0, to_batch = 0;  ///< 0, 0: for no batch
  bool reaches_below = false, reaches_above = false;
  double least_percent = 0, most_percent = 0;  ///< of the measure, over the sampled batches
};
struct MachineBatches {
  std::string change, cluster;
  workload::LayoutSpec layout;     ///< with the smallest batch
  std::vector<ScalePoint> points;  ///< batches that double; efficiency: relative to a replica with as many
                                   ///< micro-batches
  std::vector<ClaimRange> claims;  ///< those that apply to the layout: DP above 1 for efficiency, TP for exposed_tp
  std::string does_not_fit;        ///< message; empty: it fits
};
struct BatchesRun {
  std::vector<MachineBatches> machines;  ///< first the scenario's machine
  std::string model;
  spec::Claims claims;
};
/// Stops early, with the results so far, if `context` asks for it.
Result<BatchesRun> run_batches(const std::vector<TrainVariant>& variants, const TrainAsk& ask, const BatchAsk& batches,
                               const spec::Claims& claims, const Context& context);

/// What a claim is about, in percent.
double measured_percent(const ScalePoint& point, spec::ClaimMeasure measure);
/// Whether a layout has what the measure is about.
bool concerns(spec::ClaimMeasure measure, const workload::LayoutSpec& layout);

}  // namespace busbar::step
