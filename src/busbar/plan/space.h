// The layouts that a search may choose from.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::plan {

/// A kind of recomputation.
struct PlanRecompute {
  workload::Recompute kind = workload::Recompute::kNone;
  std::optional<workload::RecomputeModules> modules{};  ///< of kSelective; nothing: those of the space's base

  PlanRecompute(workload::Recompute k = workload::Recompute::kNone, std::optional<workload::RecomputeModules> m = {})
      : kind(k), modules(m) {}
  bool operator==(workload::Recompute k) const { return kind == k; }
  std::uint32_t key() const;  ///< differs between kinds that differ
};

/// Megatron's names.
constexpr std::pair<const char*, bool workload::RecomputeModules::*> kRecomputeModules[] = {
    {"core_attn", &workload::RecomputeModules::core_attn},
    {"act", &workload::RecomputeModules::act},
    {"layernorm", &workload::RecomputeModules::layernorm},
    {"mla_up_proj", &workload::RecomputeModules::mla_up_proj},
    {"mlp", &workload::RecomputeModules::mlp}};
static_assert(std::size(kRecomputeModules) == sizeof(workload::RecomputeModules), "each module has a name");

/// "none", "selective", "act+layernorm".
std::string name_of(const PlanRecompute& r);

/// How tokens travel to experts.
struct PlanExperts {
  workload::ExpertExchange exchange = workload::ExpertExchange::kAllToAll;
  double overlap = 0;  ///< as ExpertRun::overlap: how much of it is exposed, the step decides
  bool fused = false;
};

/// A change of a layout in a key that no list of the space has. One of them is there.
struct PlanChange {
  std::optional<workload::RankOrder> order{};
  std::optional<PlanExperts> experts{};
  std::optional<workload::StageSplit> split{};
  enum class Kind : std::uint8_t { kExperts, kSplit, kOrder };
  Kind kind() const { return experts ? Kind::kExperts : split ? Kind::kSplit : Kind::kOrder; }
  /// Whether it changes this layout.
  bool concerns(const workload::LayoutSpec& layout) const;
  void apply(workload::LayoutSpec& layout) const;
};
/// All that a layout which leaves these keys open is tried with: other orders of ranks, exchanges by node, overlapped
/// with the computation of another micro-batch and fused, stages cut by cost, and with embedding and head as layers.
std::vector<PlanChange> usual_changes(const workload::LayoutSpec& base);

/// Everything that is not listed here is as in `base`. An empty list: every value that the GPUs, the model and the
/// batch allow.
struct PlanSpace {
  workload::LayoutSpec base;  ///< with its global batch
  std::vector<std::uint32_t> tp, pp, vpp, cp, ep, micro_batch, dp;
  std::vector<std::uint32_t> zero{0, 1, 2, 3};
  std::vector<PlanRecompute> recompute{workload::Recompute::kNone, workload::Recompute::kSelective,
                                       workload::Recompute::kFull};
  std::vector<workload::PipelineSchedule> schedule{
      workload::PipelineSchedule::k1F1B, workload::PipelineSchedule::kGPipe, workload::PipelineSchedule::kZbH1,
      workload::PipelineSchedule::kZbV, workload::PipelineSchedule::kDualPipeV};
  /// Empty: that of `base`. Of orders that are equal without degrees of 1, the first is tried.
  std::vector<workload::RankOrder> order;
  std::vector<PlanChange> changes_of_best;  ///< tried with the fastest layouts alone, one kind after the other
  /// GPUs of each server or rack that take part; the others are spares. Empty: as the layout says.
  std::vector<std::uint32_t> per_domain;
};

/// A layout without its degree of ZeRO, which changes no computation.
struct PlanPoint {
  std::uint32_t tp = 1, pp = 1, vpp = 1, dp = 1, cp = 1, ep = 1, micro_batch = 1;
  PlanRecompute recompute = workload::Recompute::kSelective;
  workload::PipelineSchedule schedule = workload::PipelineSchedule::k1F1B;
  workload::RankOrder order = workload::kTpCpDpPp;
  std::uint32_t use = 0;  ///< which of PlanAsk's uses of the machine
};

/// All points whose degrees multiply to `gpus` and divide the batch, in a fixed order. resolve_layout() may still
/// refuse some. One stage has one schedule: 1F1B. Selective recomputation that saves no memory, with fused attention,
/// is left out next to none at all; of selective ones that recompute the same one is tried.
void for_each_point(const PlanSpace& space, const workload::ModelSpec& model, std::uint32_t gpus,
                    const std::function<void(const PlanPoint&)>& visit);
std::vector<PlanPoint> points_of(const PlanSpace& space, const workload::ModelSpec& model, std::uint32_t gpus);

/// The degrees of ZeRO to try with a point: only the first where no rank shares its parameters with another one, so
/// that all degrees are one layout.
std::span<const std::uint32_t> zero_of(const PlanSpace& space, const workload::ModelSpec& model,
                                       const PlanPoint& point);

/// What people choose who know the model and the machine, whose servers or racks have `domain` GPUs: TP up to 8 inside
/// a domain, groups of experts and stages that divide a domain or consist of whole ones, a few sequences in a
/// micro-batch (without stages also a few micro-batches in a step) and a few chunks in a stage, CP only for long
/// sequences.
bool is_usual(const PlanPoint& point, const PlanSpace& space, std::uint32_t domain);

/// As resolve_layout() takes it.
workload::LayoutSpec layout_of(const PlanSpace& space, const PlanPoint& point, std::uint32_t zero);

}  // namespace busbar::plan
