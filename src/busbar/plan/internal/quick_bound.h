// A lower bound of a step's time that takes microseconds to compute, because it needs no program.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "busbar/plan/call_floors.h"
#include "busbar/plan/space.h"
#include "busbar/workload/layer_times.h"

namespace busbar::plan {

/// The kernels and exposed collectives of the slowest stage, plus those of other stages before its first and after its
/// last pass; or the time of all shards that the first stage gathers and reduces, if that is longer. Never above
/// step_bound(): docs/models/plan.md. Keeps what points have in common.
class QuickBounds {
 public:
  /// What a point's bounds have in common under all degrees of ZeRO.
  struct Kernels {
    Duration bound;           ///< 0 for points that resolve_layout() refuses
    Duration passes;          ///< of the passes of a stage in their order, between which no send counts
    Duration first_gradient;  ///< not before: a micro-batch has passed all stages, and comes back to the first
    Duration tp_wait;         ///< of one collective that the compute stream waits for
    Duration embedding;       ///< its forward kernel
    Duration own;             ///< all passes of the first stage
    double waits = 0;         ///< picoseconds of `own` in which the first stage waits, at most
  };
  /// All arguments must outlive this object.
  QuickBounds(const PlanSpace& space, const workload::ModelSpec& model, const workload::KernelTable& kernels,
              CallFloors& floors);
  /// `sends`: with the closed forms of sends between stages, and of exchanges whose groups straddle servers, which cost
  /// the routing of each kind of call once.
  Kernels of(const PlanPoint& point, bool sends = false);
  /// All passes of the mean stage: not above the others, and cheaper.
  Duration mean_stage(const PlanPoint& point);
  /// With the shards of ZeRO degree `zero`, and what crosses to host memory. `kernels`: the result of the other.
  Duration of(const PlanPoint& point, std::uint32_t zero, const Kernels& kernels);
  using Chunks = std::vector<std::uint32_t>;  ///< layers of each virtual stage; empty: refused
  const Chunks& chunks_of(const PlanPoint& p);

 private:
  /// Picoseconds of one pass.
  struct Passes {
    double forward = 0, backward = 0;
  };
  struct Times {
    Passes dense, experts;                    ///< a layer
    Passes first, last;                       ///< embedding; head, loss and multi-token prediction
    double tp_wait = 0;                       ///< of one exposed collective of TP
    Passes exchanges;                         ///< of experts, a part of `experts`
    double dense_wait = 0, experts_wait = 0;  ///< of one layer, at most
  };
  /// How often each of these runs in one pass over some chunks.
  struct Load {
    double dense = 0, experts = 0, first = 0, last = 0;
    void operator+=(const Load& o) {
      dense += o.dense;
      experts += o.experts;
      first += o.first;
      last += o.last;
    }
  };
  struct StageLoad {
    Load all, first_chunk, last_chunk;
    Load before_last;  ///< all chunks of the model before this stage's last one
  };
  /// Picoseconds of collectives that one layer waits for, above its kernels.
  struct Exposed {
    double core = 0, core_back = 0;  ///< ring: the exchange that attention may hide; else on top of it
    Passes experts;
  };
  /// Picoseconds of the sends of one pass from each stage to the next one, and to the one before; around.
  struct Sends {
    std::vector<double> next, previous;
    double lap = 0, lap_back = 0;  ///< all of them
  };
  /// Parameters of layers on one rank: without routed experts, and theirs.
  struct Shards {
    double dense = 0, routed = 0;
  };
  /// Chunks of a stage that begin with a layer, and with a layer with experts.
  struct Firsts {
    std::uint32_t layer = 0, experts = 0;
  };
  /// Of one micro-batch on the first stage.
  struct StageShards {
    Shards all, again;     ///< the embedding and all layers; all layers but that of each chunk that may stay
    Firsts with, without;  ///< the first chunk of the model, which begins with the embedding; of all stages the least
  };
  /// Picoseconds per byte that is gathered or reduced.
  struct ShardRates {
    double dense = 0, routed = 0;
  };
  Duration of_shards(const PlanPoint& p, std::uint32_t zero, const Kernels& kernels);
  double copy_ps(const PlanPoint& p, double bytes, bool to_host);
  Duration host_copies(const PlanPoint& p);
  Duration host_update(const PlanPoint& p, std::uint32_t zero);
  const StageShards& shards_of(const PlanPoint& p);
  const ShardRates& shard_rates(const PlanPoint& p, std::uint32_t sharing);
  double first_units(const PlanPoint& p, const ShardRates& rates, std::uint32_t sharing, const Kernels& kernels);
  double slowed(Duration kernel) const;
  double among_shards(double time, const Kernels& kernels) const;
  using Straddling = std::array<Passes, 2>;  ///< what a layer of the first two stages waits for experts
  const Straddling& straddling(const PlanPoint& p);
  Passes exchanges_of(const workload::LayoutSpec& layout, std::uint32_t stage, double least_load);
  const Times& times_of(const PlanPoint& p);
  Times measure(const workload::StepTimes& kernels, const workload::LayoutSpec& layout);
  Exposed exposed(const workload::LayoutSpec& layout);
  const std::vector<StageLoad>& loads_of(const PlanPoint& p);
  const Sends& sends_of(const PlanPoint& p);

  const PlanSpace& space_;
  const workload::ModelSpec& model_;
  const workload::KernelTable& kernels_;
  CallFloors& floors_;
  using TimesKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t,
                              workload::RankOrder>;
  std::map<TimesKey, Times> times_;
  std::pair<TimesKey, const Times*> last_times_{};  ///< of the last point
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, workload::StepTimes>
      step_times_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Chunks> chunks_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, workload::PipelineSchedule>, std::vector<StageLoad>> loads_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Sends> sends_;  ///< by PP and bytes
  /// By TP, CP, PP, EP and micro-batch.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, Straddling>
      straddling_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, workload::PipelineSchedule>, StageShards> shards_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, ShardRates> rates_;  ///< by TP, DP x CP and EP
  workload::LayoutSpec order_;                 ///< only its schedule, PP and VPP
  std::vector<std::uint32_t> experts_before_;  ///< per layer: layers with experts before it
  double dense_share_ = 0, expert_share_ = 0;  ///< least parameters of a layer, without TP and routed experts
  double routed_ = 0;                          ///< parameters of all routed experts of a layer
};

}  // namespace busbar::plan
