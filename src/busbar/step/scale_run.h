// One layout on machines of many sizes: where scaling efficiency falls, and the cost.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/base/result.h"
#include "busbar/step/train_run.h"

namespace busbar::step {

inline constexpr double kStillHidden = 1.0;  ///< % of the step: less exposed communication counts as hidden

struct ScaleAsk {
  std::uint32_t from = 0, to = 0;  ///< GPUs; sizes between double
  bool weak = true, strong = true;
  double usd_per_gpu_hour = 0;  ///< 0: the machine's own price
  std::uint32_t base_gpus = 0;  ///< that the layout and its batch are for; 0: those of the machine
};
/// "FROM..TO" with 1 <= FROM <= TO <= `most`. Error kInvalid: `field` and `what` name the value, `example` is valid.
Result<std::pair<std::uint32_t, std::uint32_t>> parse_range(const std::string& text, const char* field,
                                                            const char* what, const char* example, std::uint32_t most);
/// "8..131072". Error kInvalid names the field scale.
Result<ScaleAsk> parse_scale(const std::string& text, const std::string& kind);

/// Weak: the batch grows with the machine. Strong: the scenario's batch is divided among more and more replicas.
struct ScalePoint {
  bool weak = true;
  workload::LayoutSpec layout;
  Duration step;
  Breakdown breakdown;
  double tokens_per_s_per_gpu = 0, mfu = 0;
  double efficiency = 1;           ///< tokens per second and GPU relative to the smallest machine of the curve
  double usd_per_day_percent = 0;  ///< 1 % of the step on this machine, for a day
  std::uint32_t tiers = 0;         ///< of switches between servers; 0: one server
  std::uint32_t in_last = 0;       ///< GPUs that the step uses of the last server
  std::string data_algorithm;      ///< of the call of data parallelism that is exposed most; empty: there is none
  std::string because;             ///< weak scaling: why a GPU is faster than at the size before; empty: it is not
  double tokens_per_s() const { return static_cast<double>(layout.batch.global) * layout.batch.seq / step.in_s(); }
  double idle_gpus() const { return layout.ranks() * (1 - efficiency); }  ///< that the loss of efficiency is worth
  double exposed_percent() const;  ///< exposed communication, as a share of the step
  double data_percent() const;     ///< the part of it that data parallelism adds
  double idle_percent() const;     ///< share of the step in which tensor units are idle, including the bubble
  std::string skipped;             ///< why there is no result at this size; empty: there is one
};

struct ScaleRun {
  std::vector<ScalePoint> points;  ///< weak scaling first, each by size
  std::string cluster, model;
  std::string change;  ///< of --beside; empty: the scenario itself
  std::uint32_t base_gpus = 0;
  double usd_per_gpu_hour = 0;
  /// The smallest size of a curve at which exposed communication of data parallelism exceeds that at the smallest size
  /// by more than 1 % of the step; 0: none.
  std::uint32_t stops_hiding(bool weak) const;
  /// Points with a result, by size.
  std::vector<const ScalePoint*> curve(bool weak) const;
};
/// By more than micro-batches and rings of other lengths make.
bool rises(const ScalePoint& before, const ScalePoint& after);
/// Why a GPU is faster at `after`: "the last server has 16 instead of 8 of its 72 GPUs"; empty: no cause is known.
/// `sprayed`: both sizes where traffic takes all equal paths; null: it does.
std::string cause_of_rise(const ScalePoint& before, const ScalePoint& after, std::uint32_t per_server,
                          const std::pair<ScalePoint, ScalePoint>* sprayed);
/// Stops early, with the points so far, if `context` asks for it.
Result<ScaleRun> run_scale(const spec::Scenario& scenario, const TrainAsk& ask, const ScaleAsk& scale,
                           const Context& context);

}  // namespace busbar::step
