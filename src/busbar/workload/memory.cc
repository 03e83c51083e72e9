#include "busbar/workload/memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "busbar/base/text.h"
#include "busbar/workload/expert_load.h"
#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/internal/layer_split.h"
#include "busbar/workload/internal/pipeline_order.h"
#include "busbar/workload/internal/trained.h"
#include "busbar/workload/layer_times.h"

namespace busbar::workload {
namespace {

constexpr std::uint64_t kBf16 = 2, kFp32 = 4;
// With ZeRO-3, parameters, gradients and the copy that is updated together: fp32 shards are that copy themselves
// (PyTorch's FSDP), or 2 + 2 + 4 (DeepSpeed).
constexpr std::uint32_t kShardedBytes = 8;

// Outside PyTorch's allocator. CUDA context, cuBLAS and the like: torch.OutOfMemoryError of pytorch-based jobs on A100
// and H100 state 0.5 to 0.6 GiB besides communicators. A communicator: 0.53 GiB (2 ranks) and 0.67 GiB (more) on A100
// with NVLink, github.com/NVIDIA/nccl issue 964; 0.65 GiB on MI250X, github.com/Lumi-supercomputer/LUMI-AI-Guide issue
// 111. Send and receive with 8 ranks over NVLink: 3.3 GiB, github.com/NVIDIA/nccl issue 1685.
constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kContext = 0.55 * kGiB, kCommunicator = 0.65 * kGiB, kAllToAllCommunicator = 3.3 * kGiB;

// Scores kept by attention that is not fused: softmax output 2, dropout mask 1, dropout output 2. Source: Korthikanti
// et al. 2022 (arXiv:2205.05198), section 4.1.
constexpr std::uint64_t kUnfusedScoreBytes = 5;
// Bytes of an element of the logits while the loss is computed.
// Megatron's vocab_parallel_cross_entropy: logits in bf16, and in fp32 the softmax, written over its input.
constexpr std::uint64_t kVocabParallelLoss = kBf16 + kFp32;
// PyTorch's cross_entropy: logits in bf16, in fp32, log-softmax, and its gradient.
constexpr std::uint64_t kTorchLoss = kBf16 + 3 * kFp32;
// PyTorch's loss_parallel over TP (_nll_loss_and_log_softmax_backward): besides, exp(log-softmax) and the sum.
constexpr std::uint64_t kTorchParallelLoss = kTorchLoss + 2 * kFp32;
// Share of allocated activations and other passing tensors that the allocator holds besides.
constexpr double kFragmentation = 0.03;
// With offload: the layer that computes, the one being copied, and one more.
constexpr double kLayersOnTheWay = 3;

/// Limits products of large sizes to 2^60 bytes, so that they do not wrap around.
Bytes capped(double bytes) { return Bytes{static_cast<std::uint64_t>(std::min(bytes, 0x1p60))}; }

double gigabytes(Bytes b) { return static_cast<double>(count(b)) * 1e-9; }

}  // namespace

namespace {

/// What a mixer keeps of a token on one rank, its input apart.
std::uint64_t mixer_bytes(const MixerSpec& x, const LayoutSpec& l) {
  const std::uint64_t width = attention_width(x), q = std::uint64_t{mixer_heads(x)} * width / l.tp;
  const std::uint64_t kv = std::max<std::uint64_t>(1, mixer_key_heads(x) / l.tp) * width;
  if (x.kind == MixerKind::kNone) return 0;
  if (x.kind == MixerKind::kState) {  // before and after the convolution, the gate, the output; states of chunks
    const StateSpec& s = x.state;
    const std::uint64_t keys = 2 * std::uint64_t{s.key_heads} * s.key_dim / l.tp;
    const std::uint64_t values = std::uint64_t{s.heads} * s.value_dim / l.tp, again = s.conv > 0 ? 2 : 1;
    return kBf16 * (again * (keys + values) + 2 * values + values * s.key_dim / s.chunk);
  }
  // Query and attention output, key and value; of latent attention the narrow ones too.
  const std::uint64_t narrow =
      x.latent.q_rank + x.latent.kv_rank + x.latent.rope_dim + (x.indexer.heads + 1ull) * x.indexer.dim;
  const bool up = x.kind == MixerKind::kLatent && l.recomputes(&RecomputeModules::mla_up_proj);
  std::uint64_t scores = kFp32 * x.heads / l.tp;  // log-sum-exp of the softmax
  if (l.attention == AttentionKernel::kUnfused && !l.recomputes(&RecomputeModules::core_attn)) {
    scores = kUnfusedScoreBytes * x.heads / l.tp * l.batch.seq;
  }
  const std::uint64_t gate = x.gate ? 2 * kBf16 * q : 0;
  return (up ? kBf16 * q : 2 * kBf16 * (q + kv)) + kBf16 * narrow / (l.sequence_parallel ? l.tp : 1) + scores + gate;
}

}  // namespace

std::uint64_t activation_bytes_per_layer(const ModelSpec& m, const LayoutSpec& l, const LayerKind& kind) {
  // With sequence parallelism tp divides all tensors. Without it the inputs of norms and of column-parallel GEMMs are
  // whole on every GPU. Inputs of GEMMs in 8 bits are kept in 8 bits.
  const std::uint64_t input = is_narrow(l.precision) ? 1 : kBf16;
  const bool norms = l.recomputes(&RecomputeModules::layernorm), act = l.recomputes(&RecomputeModules::act);
  const std::uint64_t halves = (kind.has_mixer() ? 1 : 0) + (kind.has_mlp() ? 1 : 0);
  // A weight that is not trained needs its input no more; an adapter beside it does, and keeps what is between.
  const auto trains = [&](std::initializer_list<AdapterTarget> parts) {
    return !l.adapters.any() || std::any_of(parts.begin(), parts.end(), [&](auto t) { return l.adapters.on(t); });
  };
  using enum AdapterTarget;
  const bool mixer_in = trains({kQuery, kKey, kValue, kQkvIn}), mlp_in = trains({kGate, kUp, kMlpIn});
  const std::uint64_t inputs = (kind.has_mixer() && mixer_in ? 1 : 0) + (kind.has_mlp() && mlp_in ? 1 : 0);
  const std::uint64_t whole = (halves * kBf16 + (norms ? 0 : inputs * input)) * m.hidden;  // of the norm, of the GEMM
  // Up (and gate) output in 16 bits, the input of the down GEMM.
  const std::uint64_t per_width = (m.gated_mlp ? 2 : 1) * kBf16 + (act || !trains({kDown}) ? 0 : input);
  const std::uint64_t width = l.recomputes(&RecomputeModules::mlp) ? 0
                              : kind.experts                       ? m.moe.shared * m.moe.ffn
                                                                   : kind.ffn;
  const std::uint64_t mlp = per_width * width / l.tp;
  std::uint64_t routed = 0;
  if (kind.experts) {  // copies of tokens on the busiest rank
    const double copies =
        static_cast<double>(l.routed_tokens()) * m.moe.per_token * l.expert_tensor() * expert_load(m, l).busiest;
    routed = static_cast<std::uint64_t>(copies * static_cast<double>((mlp_in ? input : 0) * routed_hidden(m) +
                                                                     per_width * m.moe.ffn / l.expert_tensor()));
  }
  return routed + l.tokens() * ((l.sequence_parallel ? whole / l.tp : whole) + mixer_bytes(kind.mixer, l) + mlp);
}

std::uint64_t most_activation_bytes(const ModelSpec& m, const LayoutSpec& l) {
  std::uint64_t most = 0;
  for (const LayerKind& kind : layer_table(m).kinds) most = std::max(most, activation_bytes_per_layer(m, l, kind));
  return most;
}

std::uint64_t checkpoint_bytes_per_layer(const ModelSpec& m, const LayoutSpec& l) {
  return kBf16 * l.tokens() * m.hidden / (l.sequence_parallel ? l.tp : 1);
}

std::uint64_t bytes_per_logit(const LayoutSpec& l) {
  if (l.loss == LossKernel::kChunked) return 0;
  if (l.loss == LossKernel::kFused) return kBf16;
  if (l.loss == LossKernel::kVocabParallel) return kVocabParallelLoss;
  return l.tp > 1 ? kTorchParallelLoss : kTorchLoss;
}

std::uint32_t chunks_in_flight(const LayoutSpec& l, std::uint32_t stage) {
  if (l.splits_backward()) return static_cast<std::uint32_t>(most_kept(l, stage, {1, 1}));
  // A stage has its warm-up passes in flight, and runs one more forward pass before each backward pass.
  const std::uint32_t passes = l.micro_batches() * l.vpp;
  if (l.schedule == PipelineSchedule::kGPipe) return passes;
  // In a pair of passes the forward one takes as much as the backward one has given back.
  return std::min(passes, warmup_steps(stage, l.pp, l.vpp, l.micro_batches()) + 1);
}

namespace {

/// What a layer of each kind keeps of one micro-batch, and one that is recomputed.
struct LayerBytes {
  LayerTable table;
  std::vector<std::uint64_t> kinds;
  std::uint64_t again;
  LayerBytes(const ModelSpec& m, const LayoutSpec& l) : table(layer_table(m)), again(checkpoint_bytes_per_layer(m, l)) {
    for (const LayerKind& kind : table.kinds) kinds.push_back(activation_bytes_per_layer(m, l, kind));
  }
};

/// What a pass of `chunk` of the stage keeps for its backward pass.
double chunk_activations(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage, std::uint32_t chunk,
                         const LayerBytes& layer) {
  const std::uint32_t place = l.virtual_stage(stage, chunk), again = recomputed_layers_of(l, place);
  const std::uint32_t first = first_layer_of(l, place);
  const bool all_again = l.recomputation.kind == Recompute::kFull && l.recomputation.layers == 0;
  const std::uint32_t layers = all_again ? l.split.chunk_layers[place] : layers_with_mtp(l, m, place);
  double kept = again * static_cast<double>(layer.again);
  for (std::uint32_t i = again; i < layers; ++i) kept += static_cast<double>(layer.kinds[layer.table.of[first + i]]);
  return kept;
}

/// The activations of all passes in flight at the worst moment.
double stage_activations(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage, const LayerBytes& layer) {
  std::vector<double> chunks(l.vpp);
  for (std::uint32_t c = 0; c < l.vpp; ++c) chunks[c] = chunk_activations(m, l, stage, c, layer);
  return l.vpp == 1 ? chunks_in_flight(l, stage) * chunks[0] : most_kept(l, stage, chunks);
}

/// PyTorch's pipelining (torch/distributed/pipelining/stage.py): a stage has buffers to receive the inputs and the
/// gradients of all micro-batches in, and keeps its outputs until their backward pass. Inputs of passes in flight count
/// as activations already.
double stage_buffer_bytes(const LayoutSpec& l, std::uint32_t stage, std::uint64_t state) {
  if (!l.stage_buffers || l.pp == 1) return 0;
  std::uint32_t receive = 0, send = 0;  // chunks of this stage that have one before, and one after
  for (std::uint32_t c = 0; c < l.vpp; ++c) {
    const std::uint32_t place = l.virtual_stage(stage, c);
    receive += place > 0 ? 1 : 0;
    send += place + 1 < l.chunks() ? 1 : 0;
  }
  const std::uint32_t m = l.micro_batches(), in_flight = chunks_in_flight(l, stage);
  const std::uint32_t inputs = std::max(m * receive, in_flight) - in_flight, gradients = m * send;
  const std::uint32_t outputs = std::min(in_flight, m * send);
  return static_cast<double>(inputs + gradients + outputs) * static_cast<double>(state);
}

/// Two units at once, the computing and the arriving one (or all units that stay), and the gradient being reduced.
/// Where gradients add up whole, their shards too.
Bytes gathered_bytes(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage) {
  if (!l.shards_parameters()) return Bytes{0};
  std::uint64_t largest = 0, all = 0, trained = 0, largest_trained = 0;
  for (std::uint32_t c = 0; c < l.vpp; ++c) {
    const BucketPlan plan = plan_buckets(m, l, stage, c);
    for (std::size_t b = 0; b < plan.bucket_parameters.size(); ++b) {
      const std::uint64_t n = plan.bucket_parameters[b] + plan.bucket_experts[b];
      largest = std::max(largest, n);
      all += n;
      const std::uint64_t reduced = plan.bucket_trained[b] + plan.expert_trained[b];
      largest_trained = std::max(largest_trained, reduced);
      trained += reduced;
    }
  }
  const std::uint64_t parameters = l.sharding.reshard ? (l.sharding.prefetch ? 2 : 1) * largest : all;
  const std::uint64_t shards = l.shards_gradients() ? 0 : trained / l.shard_ranks();
  const std::uint64_t second = l.sharding.secondary > 0 ? all / std::min(l.sharding.secondary, l.shard_ranks()) : 0;
  const double of_one = l.adapters.any() ? base_weight_bytes(l.adapters) : l.exchange.parameter_bytes;
  return capped(static_cast<double>(parameters + second) * of_one +
                static_cast<double>((largest_trained + shards) * l.exchange.gradient_bytes));
}

/// Communicators of a rank: one per axis that has more than one rank.
double communicator_bytes(const LayoutSpec& l) {
  double bytes = 0;
  for (const std::uint32_t ranks : {l.tp, l.cp, l.pp, l.data_ranks()}) bytes += ranks > 1 ? kCommunicator : 0;
  if (l.ep > 1) bytes += l.experts.exchange == ExpertExchange::kAllToAll ? kAllToAllCommunicator : kCommunicator;
  return bytes;
}

/// Of one layer, while its backward pass has them again.
std::uint64_t mlp_again_bytes(const ModelSpec& m, const LayoutSpec& l) {
  LayoutSpec kept = l;
  kept.recomputation.modules.mlp = false;
  return most_activation_bytes(m, kept) - most_activation_bytes(m, l);
}

/// Tensors of the moment that needs more: the loss, or a layer that is recomputed.
void add_moment(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage, MemoryUse& use) {
  const double state = static_cast<double>(l.tokens()) * m.hidden * kBf16;
  if (l.sequence_parallel && l.tp > 1) use.temporary = capped(2 * state);
  if (l.recomputation.kind == Recompute::kFull) use.recomputed = Bytes{most_activation_bytes(m, l)};
  if (l.recomputes(&RecomputeModules::mlp)) use.recomputed = Bytes{mlp_again_bytes(m, l)};
  if (stage != l.last_stage()) return;
  const std::uint64_t vocab = (m.vocab + l.tp - 1) / l.tp;
  const auto logits = static_cast<double>(l.tokens() * vocab);
  const Bytes loss = capped((1.0 + m.mtp) * logits * bytes_per_logit(l));
  const bool loss_needs_more = count(loss) >= count(use.recomputed);
  // The last stage's outputs, the logits, stay until the step ends: those of the other micro-batches (pytorch/pytorch,
  // issue 159251).
  const double others = l.stage_buffers && l.pp > 1 ? (l.micro_batches() - 1) * logits * kBf16 : 0;
  use.logits = capped(others + (loss_needs_more ? static_cast<double>(count(loss)) : 0));
  if (loss_needs_more) use.recomputed = Bytes{0};
}

}  // namespace

namespace {

/// Weights that are not trained, beside adapters. ZeRO-3 shards them too.
std::uint64_t base_bytes(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage) {
  if (!l.adapters.any()) return 0;
  const auto tables = static_cast<double>(stage_table_parameters(m, l, stage));
  const double dense =
      (static_cast<double>(stage_parameters(m, l, stage)) - tables) * base_weight_bytes(l.adapters) + tables * kBf16;
  const double experts = static_cast<double>(stage_expert_parameters(m, l, stage)) * base_weight_bytes(l.adapters);
  return count(capped(dense / (l.shards_parameters() ? l.shard_ranks() : 1) +
                      experts / (l.sharding.zero >= 3 ? l.expert_data_ranks() : 1)));
}

/// Groups that train apart keep the weights of the last exchange and the momentum of the outer optimizer, in fp32.
/// Source: DiLoCo (arXiv:2311.08105), algorithm 1: Nesterov's momentum.
constexpr double kOuterStates = 8;

/// Bytes of optimizer states of a parameter.
double states_of(const LayoutSpec& l) {
  if (!l.shards_parameters()) return state_bytes(l.optimizer);
  const std::uint32_t others = l.exchange.parameter_bytes + l.exchange.gradient_bytes;
  return moment_bytes(l.optimizer) + (l.optimizer.master_bytes > 0 ? kShardedBytes - others : 0);
}

MemoryUse stage_memory(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage, const LayerBytes& layer) {
  const auto [local, experts] = stage_trained(m, l, stage);
  const std::uint64_t shard = l.shards_optimizer() ? (local + l.shard_ranks() - 1) / l.shard_ranks() : local;
  const std::uint64_t expert_shard = l.sharding.zero >= 1 ? experts / l.expert_data_ranks() : experts;
  MemoryUse use;
  use.stage = stage;
  use.parameters = Bytes{((l.shards_parameters() ? shard : local) + (l.sharding.zero >= 3 ? expert_shard : experts)) *
                             l.exchange.parameter_bytes +
                         base_bytes(m, l, stage)};
  const bool shards_experts = l.sharding.zero >= 2 && !l.sharding.accumulate_gradients;
  use.gradients = Bytes{((l.shards_gradients() ? shard : local) + (shards_experts ? expert_shard : experts)) *
                        l.exchange.gradient_bytes};
  // Muon's embedding and head have both moments of AdamW.
  const std::uint64_t tables = l.optimizer.kind == OptimizerKind::kMuon ? stage_table_parameters(m, l, stage) : 0;
  const double table_share = l.shards_optimizer() ? l.shard_ranks() : 1;
  if (!l.offload.optimizer)
    use.optimizer = capped(static_cast<double>(shard + expert_shard) * states_of(l) +
                           static_cast<double>(tables) / table_share * moment_bytes(l.optimizer) +
                           (l.trains_apart() ? static_cast<double>(shard) * kOuterStates : 0));
  use.gathered = gathered_bytes(m, l, stage);
  double kept = stage_activations(m, l, stage, layer);
  if (l.offload.activations) {
    const bool inputs = l.recomputation.kind == Recompute::kFull && l.recomputation.layers == 0;
    const std::uint64_t of_layer = inputs ? layer.again : most_activation_bytes(m, l);
    kept = std::min(kept, kLayersOnTheWay * static_cast<double>(of_layer));
  }
  use.activations = capped(kept + stage_buffer_bytes(l, stage, checkpoint_bytes_per_layer(m, l)));
  add_moment(m, l, stage, use);
  const double passing = static_cast<double>(count(use.activations) + count(use.logits) + count(use.gathered) +
                                             count(use.recomputed) + count(use.temporary));
  use.fragmentation = capped(kFragmentation * passing);
  use.workspace = capped(kContext + communicator_bytes(l));
  return use;
}

}  // namespace

MemoryUse stage_memory(const ModelSpec& m, const LayoutSpec& l, std::uint32_t stage) {
  return stage_memory(m, l, stage, LayerBytes(m, l));
}

MemoryUse memory_use(const ModelSpec& model, const LayoutSpec& layout) {
  const LayerBytes layer(model, layout);
  MemoryUse most = stage_memory(model, layout, 0, layer);
  for (std::uint32_t s = 1; s < layout.pp; ++s) {
    const MemoryUse use = stage_memory(model, layout, s, layer);
    if (count(use.total()) > count(most.total())) most = use;
  }
  return most;
}

std::array<MemoryPart, 10> memory_parts(const MemoryUse& use) {
  return {{{"parameters", use.parameters},
           {"gradients", use.gradients},
           {"optimizer", use.optimizer},
           {"activations", use.activations},
           {"logits", use.logits},
           {"gathered", use.gathered},
           {"recomputed", use.recomputed},
           {"temporary", use.temporary},
           {"fragmentation", use.fragmentation},
           {"workspace", use.workspace}}};
}

std::vector<double> checkpoint_shares(const ModelSpec& m, const LayoutSpec& l) {
  const double states = kBf16 + state_bytes(l.optimizer);
  std::vector<double> out;
  for (std::uint32_t s = 0; s < l.pp; ++s) {
    const auto [dense, experts] = stage_trained(m, l, s);
    out.push_back(states *
                  (static_cast<double>(dense) / l.data_ranks() + static_cast<double>(experts) / l.expert_data_ranks()));
  }
  return out;
}

Status check_fits(const MemoryUse& use, Bytes capacity) {
  if (count(use.total()) <= count(capacity)) return {};
  std::string parts;
  for (const MemoryPart& p : memory_parts(use))
    if (count(p.bytes) > 0) append_word(parts, fmt::format("{} {:.1f}", p.name, gigabytes(p.bytes)));
  return Error{
      ErrorCode::kDoesNotFit,
      fmt::format("stage {} needs {:.1f} GB per GPU, which has {:.1f} GB: {} GB; raise tp, pp or zero, recompute "
                  "more, or lower micro_batch",
                  use.stage, gigabytes(use.total()), gigabytes(capacity), parts),
      {}};
}

LayoutSpec least_recomputation(const ModelSpec& model, const LayoutSpec& layout, Bytes capacity) {
  const auto fits = [&](const LayoutSpec& l) { return count(memory_use(model, l).total()) <= count(capacity); };
  LayoutSpec l = layout;
  l.recomputation.kind = Recompute::kNone;
  if (fits(l)) return l;
  if (l.attention == AttentionKernel::kUnfused) {  // fused kernels keep no scores: nothing to save
    l.recomputation.kind = Recompute::kSelective;
    if (fits(l)) return l;
  }
  l.recomputation.kind = Recompute::kFull;
  const std::uint32_t most = *std::max_element(l.split.chunk_layers.begin(), l.split.chunk_layers.end());
  for (l.recomputation.layers = 1; l.recomputation.layers < most; ++l.recomputation.layers) {
    if (fits(l)) return l;
  }
  l.recomputation.layers = 0;
  return l;
}

}  // namespace busbar::workload
