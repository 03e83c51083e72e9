// A lower bound of a step's time that takes microseconds to compute, because it needs no program.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "busbar/plan/call_floors.h"
#include "busbar/plan/space.h"
#include "busbar/workload/layer_times.h"

namespace busbar {

/// The kernels and exposed collectives of the slowest stage, plus those of other stages before its first and after its
/// last pass; or the time of all shards that the first stage gathers and reduces, if that is longer. Never above
/// step_bound(): docs/models/plan.md. Keeps what points have in common.
class QuickBounds {
 public:
  /// All arguments must outlive this object.
  QuickBounds(const PlanSpace& space, const ModelSpec& model, const KernelTable& kernels, CallFloors& floors);
  /// Of the kernels; 0 for points that resolve_layout() refuses.
  Duration of(const PlanPoint& point);
  /// With the shards of ZeRO degree `zero`. `kernels`: the result of the other.
  Duration of(const PlanPoint& point, std::uint32_t zero, Duration kernels);
  using Chunks = std::vector<std::uint32_t>;  ///< layers of each virtual stage; empty: refused
  const Chunks& chunks_of(const PlanPoint& p);

 private:
  /// Picoseconds of one pass.
  struct Passes {
    double forward = 0, backward = 0;
  };
  struct Times {
    Passes dense, experts;  ///< a layer
    Passes first, last;     ///< embedding; head, loss and multi-token prediction
  };
  /// How often each of these runs in one pass over some chunks.
  struct Load {
    double dense = 0, experts = 0, first = 0, last = 0;
  };
  struct StageLoad {
    Load all, first_chunk;
  };
  /// Picoseconds of collectives that one layer waits for, above its kernels.
  struct Exposed {
    double core = 0, core_back = 0;  ///< ring: the exchange that attention may hide; else on top of it
    Passes experts;
  };
  const Times& times_of(const PlanPoint& p);
  Times measure(const StepTimes& kernels, const LayoutSpec& layout);
  Exposed exposed(const LayoutSpec& layout);
  const std::vector<StageLoad>& loads_of(const PlanPoint& p);

  const PlanSpace& space_;
  const ModelSpec& model_;
  const KernelTable& kernels_;
  CallFloors& floors_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, Recompute, RankOrder>,
           Times>
      times_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, Recompute>, StepTimes> step_times_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Chunks> chunks_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, PipelineSchedule>, std::vector<StageLoad>> loads_;
  /// By TP and DP x CP: 1 GB gathered and reduced.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<Duration, Duration>> shards_;
  LayoutSpec order_;                           ///< only its schedule
  std::vector<std::uint32_t> experts_before_;  ///< per layer: layers with experts before it
  double dense_share_ = 0, expert_share_ = 0;  ///< least parameters of a layer, without TP
};

}  // namespace busbar
