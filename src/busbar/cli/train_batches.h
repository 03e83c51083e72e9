// One layout on one or more machines with batches of many sizes: where published figures hold.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/batch_range.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/train_scale.h"
#include "busbar/spec/claims_file.h"
#include "busbar/step/train_variants.h"

namespace busbar {

struct BatchAsk {
  std::uint32_t from = 0, to = 0;  ///< sequences per step
};
/// "64..4096". Error kInvalid names --batches.
Result<BatchAsk> parse_batches(const std::string& text);

struct ClaimRange {
  Claim claim;
  std::uint32_t from_batch = 0, to_batch = 0;  ///< 0, 0: for no batch
  bool reaches_below = false, reaches_above = false;
  double least_percent = 0, most_percent = 0;  ///< of the measure, over the sampled batches
};
/// "192", "960 to 1920", "960 and more", or "nowhere: 98.0 to 99.9 %".
std::string words_of(const ClaimRange& r);

struct MachineBatches {
  std::string change, cluster;
  LayoutSpec layout;               ///< with the smallest batch
  std::vector<ScalePoint> points;  ///< batches that double; efficiency: relative to a replica with as many
                                   ///< micro-batches
  std::vector<ClaimRange> claims;  ///< those that apply to the layout: DP above 1 for efficiency, TP for exposed_tp
  std::string does_not_fit;        ///< message; empty: it fits
};
struct BatchesRun {
  std::vector<MachineBatches> machines;  ///< first the scenario's machine
  std::string model;
  Claims claims;
};
/// Stops early, with the results so far, if `watch` requests it.
Result<BatchesRun> run_batches(const std::vector<TrainVariant>& variants, const TrainAsk& ask, const BatchAsk& batches,
                               const Claims& claims, LongRun& watch);

Json batches_json(const BatchesRun& run);
Document batches_document(const BatchesRun& run, const std::string& typed);

}  // namespace busbar
