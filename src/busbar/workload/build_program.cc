#include "busbar/workload/build_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>
#include <limits>

#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/internal/pipeline_order.h"
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/internal/stage_writer.h"
#include "busbar/workload/internal/trained.h"

namespace busbar::workload {
namespace {

constexpr std::uint64_t kMaxOps = 50'000'000;    // 2 GB of operations; more are refused
constexpr std::uint64_t kOpsPerLayer = 28;       // at most: 12 forward, 16 backward, with pipelined TP
constexpr std::uint64_t kMoreOpsPerLayer = 24;   // context parallelism, recomputation, sharded parameters, offload
constexpr std::uint64_t kReservedOps = 1 << 14;  // most are repetitions
constexpr std::uint64_t kGradientNormBytes = 4;  // one fp32
constexpr double kLongestPieceSeconds = 100, kLongestStepSeconds = 1e5;  // far below what picoseconds can count
constexpr double kLargestMessageBytes = 1e12;

std::uint64_t expected_ops(const ModelSpec& m, const LayoutSpec& l) {
  const bool more =
      l.cp > 1 || l.recomputation.kind == Recompute::kFull || l.shards_parameters() || l.offload.activations;
  return static_cast<std::uint64_t>(m.layers) * l.micro_batches() * (kOpsPerLayer + (more ? kMoreOpsPerLayer : 0));
}

/// Refuses sizes that no machine runs, before their times overflow.
Status check_scale(const ModelSpec& m, const LayoutSpec& l, const StepTimes& t) {
  const auto both = [](const auto& b) { return b.forward() + b.backward(); };
  Duration longest;
  for (const LayerTimes& kind : t.kinds)
    longest = std::max(longest, both(kind.mixer) + std::max(both(kind.mlp), both(t.experts)));
  const double layer_s = longest.in_s();
  const EndTimes& e = t.ends;
  const double ends_s = (e.embedding + e.embedding_back + e.head_norm + e.head_norm_back + e.logits + e.logits_dgrad +
                         e.logits_wgrad + e.loss + e.loss_back)
                            .in_s();
  const double step_s = (layer_s * m.layers + ends_s) * l.micro_batches();
  const double message = 2.0 * l.tokens() * m.hidden;
  if (layer_s < kLongestPieceSeconds && ends_s < kLongestPieceSeconds && step_s < kLongestStepSeconds &&
      message < kLargestMessageBytes) {
    return {};
  }
  return invalid(
      fmt::format("one layer takes {:.3g} s per micro-batch of {} tokens and the step's work {:.3g} s on one "
                  "GPU, beyond the range of this model; lower seq, micro_batch or global_batch",
                  layer_s, l.tokens(), step_s),
      l.place("seq"));
}

/// A tied embedding has one gradient on the first stage and one on the last. If gradients are sharded, each rank has
/// its part of both.
program::OpId reduce_tied_embedding(ProgramWriter& out, std::deque<StageWriter>& stages, const ModelSpec& m,
                                    const LayoutSpec& l, const std::vector<program::OpId>& reduced) {
  if (!m.tied_embeddings || l.last_stage() == 0 || l.adapters.any()) return kNone<program::OpId>;
  const std::uint32_t parts = l.sharding.zero >= 2 ? l.shard_ranks() : 1;
  const std::uint64_t bytes = embedding_parameters(m) / l.tp / parts * l.exchange.gradient_bytes;
  const program::CallId call =
      out.intern(auto_call(collectives::Collective::kAllReduce, bytes, stage_pairs(l, 0, l.last_stage())));
  return stages.front().across_stages(Label::kTiedEmbedding, call, {reduced.front(), reduced.back()});
}

/// All ranks, or each group of those that train apart; their ranks are next to each other (check_apart of layout.cc).
collectives::GroupFamily groups_with_one_norm(const LayoutSpec& l) {
  if (!l.trains_apart()) return collectives::one_group(l.ranks());
  const std::uint32_t ranks = l.ranks() / l.shard_copies();
  collectives::GroupFamily out = collectives::one_group(ranks);
  out.outer = {{.extent = l.shard_copies(), .actor_stride = ranks}};
  return out;
}

/// Gradient norm over all ranks, then the optimizer on every stage.
void close_step(ProgramWriter& out, std::deque<StageWriter>& stages, const ModelSpec& m, const LayoutSpec& l,
                const KernelTable& kernels) {
  std::vector<program::OpId> reduced, norms;
  for (StageWriter& stage : stages) reduced.push_back(stage.reduce_rest());
  const program::OpId tied = reduce_tied_embedding(out, stages, m, l, reduced);
  if (tied != kNone<program::OpId>) reduced.front() = reduced.back() = tied;
  std::vector<OptimizerTimes> times;
  for (std::uint32_t s = 0; s < l.pp; ++s) {
    const auto [local, experts] = stage_trained(m, l, s);
    const std::uint64_t shard = local / (l.shards_optimizer() ? l.shard_ranks() : 1) +
                                experts / (l.sharding.zero >= 1 ? l.expert_data_ranks() : 1);
    times.push_back(optimizer_times(local + experts, shard, l, kernels));
    times.back().update += orthogonal_time(m, l, s, kernels);
    norms.push_back(stages[s].gradient_norm(times.back().norm, reduced[s]));
  }
  program::OpId sum = kNone<program::OpId>;
  if (l.ranks() > 1) {
    const program::CallId call =
        out.intern(auto_call(collectives::Collective::kAllReduce, kGradientNormBytes, groups_with_one_norm(l)));
    sum = stages.front().across_stages(Label::kNormSum, call, norms);
  }
  for (std::uint32_t s = 0; s < l.pp; ++s) stages[s].update(times[s], sum);
}

}  // namespace

program::Program build_program(const ModelSpec& model, const LayoutSpec& layout, const StepTimes& times,
                               const KernelTable& kernels, bool passes) {
  const std::uint32_t promises = 2 * layout.pp * layout.vpp * layout.micro_batches();
  ProgramWriter out(promises, std::min<std::uint64_t>(expected_ops(model, layout), kReservedOps), passes);
  std::deque<StageWriter> stages;  // never moved, because writers hold references
  for (std::uint32_t s = 0; s < layout.pp; ++s) {
    StageWriter& stage = stages.emplace_back(out, model, layout, times, s, kernels);
    if (layout.overlap.param_gather) stage.gather_parameters();
    for (const PipelineStep& step : order_of(layout, s)) stage.pass(step);
  }
  close_step(out, stages, model, layout, kernels);
  return std::move(out).finish();
}

Result<program::Program> build_program(const ModelSpec& model, const LayoutSpec& layout, const KernelTable& kernels) {
  if (layout.micro_batches() > std::numeric_limits<std::uint16_t>::max()) {
    return invalid(fmt::format("{} micro-batches per replica are more than the 65535 a program can number; raise "
                               "micro_batch or dp",
                               layout.micro_batches()),
                   layout.place("global_batch"));
  }
  if (expected_ops(model, layout) > kMaxOps) {
    return invalid(fmt::format("the step has about {} operations, more than {}; lower global_batch",
                               expected_ops(model, layout), kMaxOps),
                   layout.place("global_batch"));
  }
  if (kernels.rates(layout.precision).peak_flops_per_s <= 0) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} has no {} matrix units; use bf16", kernels.name, name_of(layout.precision)),
                 layout.place("precision")};
  }
  if ((layout.offload.activations || layout.offload.optimizer) && kernels.host_bytes_per_s <= 0) {
    return invalid("this machine gives no rate between GPU and host memory", layout.place("offload"));
  }
  const StepTimes times = step_times(model, layout, kernels);
  BUSBAR_RETURN_IF_ERROR(check_scale(model, layout, times));
  return build_program(model, layout, times, kernels);
}

}  // namespace busbar::workload
