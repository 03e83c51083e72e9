// The layouts that a search may choose from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

/// Everything that is not listed here is as in `base`. An empty list: every value that the GPUs, the model and the
/// batch allow.
struct PlanSpace {
  LayoutSpec base;  ///< with its global batch
  std::vector<std::uint32_t> tp, pp, vpp, cp, ep, micro_batch, dp;
  std::vector<std::uint32_t> zero{0, 1, 2, 3};
  std::vector<Recompute> recompute{Recompute::kNone, Recompute::kSelective, Recompute::kFull};
  std::vector<PipelineSchedule> schedule{PipelineSchedule::k1F1B, PipelineSchedule::kGPipe, PipelineSchedule::kZbH1,
                                         PipelineSchedule::kZbV, PipelineSchedule::kDualPipeV};
  /// Empty: that of `base`. Of orders that are equal without degrees of 1, the first is tried.
  std::vector<RankOrder> order;
};

/// A layout without its degree of ZeRO, which changes no computation.
struct PlanPoint {
  std::uint32_t tp = 1, pp = 1, vpp = 1, dp = 1, cp = 1, ep = 1, micro_batch = 1;
  Recompute recompute = Recompute::kSelective;
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  RankOrder order = kTpCpDpPp;
};

/// All points whose degrees multiply to `gpus` and divide the batch, in a fixed order. resolve_layout() may still
/// refuse some. One stage has one schedule: 1F1B. Selective recomputation that saves no memory, with fused attention,
/// is left out next to none at all.
std::vector<PlanPoint> points_of(const PlanSpace& space, const ModelSpec& model, std::uint32_t gpus);

/// The degrees of ZeRO to try with a point: only the first where no rank shares its parameters with another one, so
/// that all degrees are one layout.
std::span<const std::uint32_t> zero_of(const PlanSpace& space, const ModelSpec& model, const PlanPoint& point);

/// As resolve_layout() takes it.
LayoutSpec layout_of(const PlanSpace& space, const PlanPoint& point, std::uint32_t zero);

}  // namespace busbar
