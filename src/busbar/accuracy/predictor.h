// Times of collectives on one machine as NCCL would run them: what validate, expect and calibrate share.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/choice/nccl_schedules.h"
#include "busbar/engine/engine.h"
#include "busbar/nccl/tuning.h"
#include "busbar/spec/cluster.h"

namespace busbar {

struct Prediction {
  double us = 0;
  CollectiveCall call;   ///< with algorithm and protocol as chosen
  std::string how;       ///< "ring, ll128"
  std::string bound_by;  ///< "bandwidth of nvlink4 x5"
};

struct PredictorOptions {
  std::string engine = "analytic";                   ///< or "flow"
  NcclVersion version{};                             ///< whose rules choose
  bool nvls = true;                                  ///< whether NCCL may use switches that reduce
  std::uint32_t min_channels = 0, max_channels = 0;  ///< NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS; 0: not set
};

class Predictor {
 public:
  /// Rank r runs on gpus[r]; empty: on all GPUs in order.
  static Result<std::unique_ptr<Predictor>> make(Cluster cluster, std::vector<DeviceId> gpus,
                                                 const PredictorOptions& options = {});
  ~Predictor();
  const Cluster& cluster() const { return cluster_; }
  /// Whether NCCL's rules choose algorithms here; else the fastest is taken.
  bool follows_nccl() const { return tuning_.has_value(); }
  /// Whether its ranks stand in more than one block of the machine.
  bool several_nodes() const;
  std::uint32_t ranks() const { return placement_->ranks(); }
  /// `algorithm` as in CollectiveCall or "nvlstree"; what is left to "auto" and Protocol::kAuto is chosen as NCCL does,
  /// and where its tables do not reach (AMD GPUs, copies between pairs) the fastest of its schedules is taken.
  Result<Prediction> predict(Collective op, std::uint64_t bytes, const std::string& algorithm = "auto",
                             Protocol protocol = Protocol::kAuto);

  /// No schedule on this machine is faster.
  double floor_us(Collective op, std::uint64_t bytes) const;

 private:
  explicit Predictor(Cluster cluster);
  Result<CollectiveCall> choose(CollectiveCall call);
  GroupFamily border_pair() const;
  Result<CollectiveCall> fastest(const CollectiveCall& call, const std::vector<std::string>& algorithms);
  Cluster cluster_;
  std::unique_ptr<Router> router_;
  std::unique_ptr<Placement> placement_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<NcclSchedules> nccl_;  ///< null: neither NCCL nor RCCL drives these GPUs
  std::optional<NcclTuning> tuning_;
};

/// Bus bandwidth per algorithm bandwidth over n ranks. Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.
double bus_factor(Collective op, double n);

}  // namespace busbar
