// One layout on machines of many sizes: where scaling bends and what that costs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/train_run.h"
#include "busbar/report/document.h"

namespace busbar {

struct ScaleAsk {
  std::uint32_t from = 0, to = 0;  ///< GPUs; sizes between double
  bool weak = true, strong = true;
  double usd_per_gpu_hour = 0;  ///< 0: the machine's own price
};
/// "FROM..TO" with 1 <= FROM <= TO <= `most`. Error kInvalid names `flag`, `what` is counted, `example` a good one.
Result<std::pair<std::uint32_t, std::uint32_t>> parse_range(const std::string& text, const char* flag, const char* what,
                                                            const char* example, std::uint32_t most);
/// "8..131072". Error kInvalid names --scale.
Result<ScaleAsk> parse_scale(const std::string& text, const std::string& kind);

/// Weak: the batch grows with the machine. Strong: the scenario's batch is dealt over more and more replicas.
struct ScalePoint {
  bool weak = true;
  LayoutSpec layout;
  Duration step;
  Breakdown breakdown;
  double tokens_per_s_per_gpu = 0, mfu = 0;
  double efficiency = 1;           ///< tokens per second and GPU against the smallest machine of the curve
  double usd_per_day_percent = 0;  ///< 1 % of the step on this machine, for a day
  double exposed_percent() const;  ///< communication that nothing hides, of the step
  double data_percent() const;     ///< of it what data parallelism adds
  double idle_percent() const;     ///< time in which tensor units have nothing to do, bubble included
  std::string skipped;             ///< why there is no result at this size; empty: there is one
};

struct ScaleRun {
  std::vector<ScalePoint> points;  ///< weak ones first, each by size
  std::string cluster, model;
  std::string change;  ///< of --beside; empty: what was asked for
  double usd_per_gpu_hour = 0;
  /// The first size of a curve at which data parallelism is exposed for more than 1 % of the step beyond what it is at
  /// the smallest; 0: nowhere.
  std::uint32_t stops_hiding(bool weak) const;
};
/// Stops early, with the points so far, when `watch` says so.
Result<ScaleRun> run_scale(const Scenario& scenario, const TrainAsk& ask, const ScaleAsk& scale, LongRun& watch);

Json scale_json(const ScaleRun& run);
/// All runs one after another, what was asked first.
Document scale_document(const std::vector<ScaleRun>& runs, const std::string& typed);

}  // namespace busbar
