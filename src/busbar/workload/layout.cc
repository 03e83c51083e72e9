#include "busbar/workload/layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "busbar/workload/batch.h"
#include "busbar/workload/internal/layer_split.h"

namespace busbar::workload {
namespace {

/// As its paper writes it.
const char* title_of(PipelineSchedule s) {
  static constexpr const char* kTitles[] = {"1F1B", "GPipe", "ZB-H1", "ZB-V", "DualPipeV"};
  return kTitles[static_cast<std::size_t>(s)];
}

constexpr std::uint64_t kMostTokens = 1u << 26;  // of one micro-batch: keeps every product below 2^63

using Check = Status (*)(const LayoutSpec&, const ModelSpec&);

Status check_positive(const LayoutSpec& l, const ModelSpec&) {
  const std::pair<const char*, std::uint32_t> sizes[] = {{"tp", l.tp},
                                                         {"pp", l.pp},
                                                         {"vpp", l.vpp},
                                                         {"cp", l.cp},
                                                         {"ep", l.ep},
                                                         {"seq", l.batch.seq},
                                                         {"micro_batch", l.batch.micro}};
  for (const auto& [key, value] : sizes) {
    if (value == 0) return invalid("must be at least 1", l.place(key));
  }
  if (std::uint64_t{l.batch.seq} * l.batch.micro > kMostTokens) {
    return invalid(fmt::format("seq {} x micro_batch {} is more than {} tokens on one GPU; lower one of them",
                               l.batch.seq, l.batch.micro, kMostTokens),
                   l.place("seq"));
  }
  return {};
}

Status check_switches(const LayoutSpec& l, const ModelSpec&) {
  if (l.sharding.zero > 3)
    return invalid(fmt::format("there is no ZeRO-{}; use 0 to 3", l.sharding.zero), l.place("zero"));
  if (l.sharding.accumulate_gradients && l.sharding.zero < 2) {
    return invalid(fmt::format("zero {} always accumulates gradients; leave accumulate_gradients out", l.sharding.zero),
                   l.place("accumulate_gradients"));
  }
  if (l.sharding.secondary > 0 && (l.sharding.zero != 3 || !l.sharding.reshard)) {
    return invalid("a second copy of the parameters needs zero 3 and reshard: true", l.place("secondary_shards"));
  }
  if (l.exchange.compression.bytes >= l.exchange.gradient_bytes) {
    return invalid(fmt::format("compressed gradients of {} bytes are no smaller than gradient_bytes {}",
                               l.exchange.compression.bytes, l.exchange.gradient_bytes),
                   l.place("compression"));
  }
  if (l.exchange.compression.bytes > 0 && l.sharding.whole_tensors) {
    return invalid("compressed gradients are exchanged in pieces; leave whole_tensors out", l.place("compression"));
  }
  if (l.straggler.stage >= l.pp) {
    return invalid(fmt::format("there is no stage {}: pp is {}", l.straggler.stage, l.pp), l.place("straggler"));
  }
  if (l.sharding.whole_tensors && l.sharding.zero != 1) {
    return invalid(fmt::format("whole_tensors needs zero 1, not zero {}", l.sharding.zero), l.place("whole_tensors"));
  }
  if (l.optimizer.kind == OptimizerKind::kMuon && (l.adapters.any() || l.offload.optimizer)) {
    return invalid("muon updates whole matrices of the model on the GPU; leave lora_rank and offload out or use adamw",
                   l.place("optimizer"));
  }
  if ((l.schedule == PipelineSchedule::kGPipe || l.schedule == PipelineSchedule::kZbH1) && l.vpp > 1) {
    return invalid(
        fmt::format("{} has no interleaving; use vpp 1 instead of {} or schedule: 1f1b", title_of(l.schedule), l.vpp),
        l.place("vpp"));
  }
  if (l.goes_back() && l.vpp != 2) {
    return invalid(fmt::format("{} has two chunks per stage; use vpp 2 instead of {}", title_of(l.schedule), l.vpp),
                   l.place("vpp"));
  }
  if (l.places.contains("recompute_modules") && l.recomputation.kind != Recompute::kSelective) {
    return invalid(fmt::format("recompute_modules needs recompute: selective, not {}", name_of(l.recomputation.kind)),
                   l.place("recompute_modules"));
  }
  if (l.overlap.tp && !l.sequence_parallel) {
    return invalid("overlapping TP with GEMMs needs sequence_parallel: true", l.place("overlap_tp"));
  }
  if (l.vpp > 1 && l.pp == 1) {
    return invalid(fmt::format("vpp {} interleaves pipeline stages, but pp is 1; set pp or leave vpp out", l.vpp),
                   l.place("vpp"));
  }
  return {};
}

Status check_heads_of(const LayoutSpec& l, const LayerKind& kind) {
  const std::uint32_t heads = mixer_heads(kind.mixer), keys = mixer_key_heads(kind.mixer);
  if (kind.has_mixer() && heads % l.tp != 0) {
    return invalid(
        fmt::format("{} attention heads are not divisible by tp {}; choose a divisor of {}", heads, l.tp, heads),
        l.place("tp"));
  }
  if (kind.has_mixer() && keys % l.tp != 0 && l.tp % keys != 0) {  // fewer than ranks: several hold the same head
    return invalid(fmt::format("{} key-value heads are not divisible by tp {}; choose a tp that divides {} or a "
                               "multiple of it",
                               keys, l.tp, keys),
                   l.place("tp"));
  }
  if (kind.ffn % l.tp != 0) {
    return invalid(fmt::format("ffn {} is not divisible by tp {}", kind.ffn, l.tp), l.place("tp"));
  }
  if (l.context == ContextParallel::kAllToAll && kind.has_mixer() && heads / l.tp % l.cp != 0) {
    return invalid(
        fmt::format("{} attention heads over tp {} are not divisible by cp {}, and all_to_all gives each rank "
                    "whole heads; lower cp or use context: ring",
                    heads, l.tp, l.cp),
        l.place("cp"));
  }
  return {};
}

Status check_heads(const LayoutSpec& l, const ModelSpec& m) {
  for (const LayerKind& kind : layer_table(m).kinds) BUSBAR_RETURN_IF_ERROR(check_heads_of(l, kind));
  if (l.sequence_parallel && l.batch.seq % (std::uint64_t{l.tp} * l.cp) != 0) {
    return invalid(fmt::format("sequence {} is not divisible by tp {}{}; choose a multiple or sequence_parallel: false",
                               l.batch.seq, l.tp, l.cp > 1 ? fmt::format(" x cp {}", l.cp) : ""),
                   l.place("seq"));
  }
  if (l.context == ContextParallel::kAllToAll) return {};
  if (l.cp > 1 && l.batch.seq % (2ull * l.cp) != 0) {
    return invalid(
        fmt::format("sequence {} is not divisible by 2 x cp {}: each rank takes one early and one late piece, "
                    "so that all have the same work",
                    l.batch.seq, l.cp),
        l.place("seq"));
  }
  return {};
}

Status check_apart(const LayoutSpec& l) {
  if (!l.trains_apart()) return {};
  if (l.sharding.group == 0 || l.shard_copies() < 2 || l.sharding.zero == 0)
    return invalid(
        fmt::format("groups that train apart are those of shard_group, of zero 1 to 3; with two groups write "
                    "shard_group: {}",
                    std::max(1u, l.data_ranks() / 2)),
        l.place("local_steps"));
  if (l.pp > 1 && l.rank_order.back() != ParallelAxis::kDp)
    return invalid("all stages of a group are next to each other; write rank_order: tp-cp-pp-dp",
                   l.place("local_steps"));
  return {};
}

Status check_sharding(const LayoutSpec& l) {
  if (l.sharding.secondary > 0 && (l.shard_ranks() % l.sharding.secondary != 0 || l.sharding.secondary % l.cp != 0)) {
    return invalid(
        fmt::format("secondary_shards {} must divide the {} ranks that share the parameters, and be a multiple "
                    "of cp {}",
                    l.sharding.secondary, l.shard_ranks(), l.cp),
        l.place("secondary_shards"));
  }
  if (l.sharding.group == 0) return {};
  if (l.data_ranks() % l.sharding.group != 0 || l.sharding.group % l.cp != 0) {
    return invalid(fmt::format("shard_group {} must divide dp {} x cp {} = {}{}", l.sharding.group, l.dp, l.cp,
                               l.data_ranks(), l.cp > 1 ? fmt::format(" and be a multiple of cp {}", l.cp) : ""),
                   l.place("shard_group"));
  }
  return {};
}

Status check_batch(const LayoutSpec& l, const ModelSpec&) {
  const std::uint64_t per_round = static_cast<std::uint64_t>(l.dp) * l.batch.micro;
  if (l.batch.global % per_round != 0) {
    return invalid(
        fmt::format("global batch {} is not divisible by dp {} x micro_batch {} = {}; the next multiple is "
                    "{}",
                    l.batch.global, l.dp, l.batch.micro, per_round, (l.batch.global / per_round + 1) * per_round),
        l.place("global_batch"));
  }
  const std::uint32_t least = l.schedule == PipelineSchedule::kDualPipeV ? 2 * l.pp : l.pp;
  if (l.goes_back() && l.micro_batches() < least) {
    return invalid(
        fmt::format("{} needs at least {}pp {} micro-batches, but global batch {} / (dp {} x micro_batch {}) = {}",
                    title_of(l.schedule), least > l.pp ? "2 x " : "", l.pp, l.batch.global, l.dp, l.batch.micro,
                    l.micro_batches()),
        l.place("global_batch"));
  }
  if (l.vpp > 1 && l.schedule == PipelineSchedule::k1F1B && l.micro_batches() % l.pp != 0) {
    return invalid(fmt::format("interleaving needs micro-batches in multiples of pp {}, but global batch {} / (dp {} x "
                               "micro_batch {}) = {}",
                               l.pp, l.batch.global, l.dp, l.batch.micro, l.micro_batches()),
                   l.place("global_batch"));
  }
  return {};
}

Status fill_dp(LayoutSpec& l, std::uint32_t gpus) {
  const std::uint64_t replica = static_cast<std::uint64_t>(l.tp) * l.pp * l.cp;
  const std::string degrees =
      l.cp > 1 ? fmt::format("tp {} x pp {} x cp {}", l.tp, l.pp, l.cp) : fmt::format("tp {} x pp {}", l.tp, l.pp);
  if (gpus == 0) return l.dp > 0 ? Status{} : invalid("must be given", l.place("dp"));
  if (replica > gpus) {
    return invalid(fmt::format("{} needs {} GPUs, but the machine has {}; lower tp or pp or take more nodes", degrees,
                               replica, gpus),
                   l.place(l.pp > 1 ? "pp" : "tp"));
  }
  if (l.dp == 0) {
    if (gpus % replica != 0) {
      return invalid(fmt::format("{} GPUs are not divisible by {} = {}", gpus, degrees, replica), l.place("tp"));
    }
    l.dp = static_cast<std::uint32_t>(gpus / replica);
  }
  if (replica * l.dp != gpus) {
    return invalid(fmt::format("{} x dp {} = {} GPUs, but the machine has {}; {}", degrees, l.dp, replica * l.dp, gpus,
                               gpus % replica == 0 ? fmt::format("leave dp out for dp {}", gpus / replica)
                                                   : std::string("choose degrees whose product is the machine")),
                   l.place("dp"));
  }
  return {};
}

}  // namespace

const char* name_of(Precision p) {
  constexpr const char* kNames[] = {"bf16", "fp16", "fp8", "fp4", "int8"};
  return kNames[static_cast<int>(p)];
}
const char* name_of(Recompute r) {
  constexpr const char* kNames[] = {"none", "selective", "full"};
  return kNames[static_cast<int>(r)];
}
const char* name_of(PipelineSchedule s) {
  constexpr const char* kNames[] = {"1f1b", "gpipe", "zb-h1", "zb-v", "dualpipe-v"};
  return kNames[static_cast<int>(s)];
}
const char* name_of(ContextParallel c) {
  constexpr const char* kNames[] = {"ring", "all_gather", "all_to_all"};
  return kNames[static_cast<int>(c)];
}
const char* name_of(AttentionKernel a) {
  constexpr const char* kNames[] = {"flash", "flash8", "flash2", "flash1", "unfused"};
  return kNames[static_cast<int>(a)];
}
const char* name_of(ExpertExchange e) { return e == ExpertExchange::kAllToAll ? "all_to_all" : "per_node"; }
const char* name_of(ExpertKernels k) {
  constexpr const char* kNames[] = {"auto", "deepep", "hybridep", "gin"};
  return kNames[static_cast<int>(k)];
}
const char* name_of(LossKernel k) {
  constexpr const char* kNames[] = {"vocab_parallel", "torch", "fused", "chunked"};
  return kNames[static_cast<int>(k)];
}
const char* name_of(CompressedExchange e) {
  constexpr const char* kNames[] = {"all_to_all", "all_reduce", "all_gather"};
  return kNames[static_cast<int>(e)];
}

const char* name_of(ParallelAxis a) {
  constexpr const char* kNames[] = {"tp", "cp", "dp", "pp"};
  return kNames[static_cast<int>(a)];
}
std::string name_of(const RankOrder& o) {
  return fmt::format("{}-{}-{}-{}", name_of(o[0]), name_of(o[1]), name_of(o[2]), name_of(o[3]));
}

Where LayoutSpec::place(const std::string& key) const {
  const auto it = places.find(key);
  if (it != places.end()) return it->second;
  Where where;
  where.path = "layout." + key;
  return where;
}

std::uint64_t bucket_size(const LayoutSpec& layout) {
  if (layout.exchange.bucket_parameters > 0) return layout.exchange.bucket_parameters;
  return std::max<std::uint64_t>(40'000'000, 1'000'000ull * layout.data_ranks());
}

std::uint32_t recomputed_layers_of(const LayoutSpec& l, std::uint32_t chunk) {
  if (l.recomputation.kind != Recompute::kFull) return 0;
  const std::uint32_t all = l.split.chunk_layers[chunk];
  return l.recomputation.layers == 0 ? all : std::min(all, l.recomputation.layers);
}

namespace {

/// Whether `count` ranks of a stage, innermost first, are whole axes and at most one part of one.
bool cuts(const LayoutSpec& l, std::uint32_t count) {
  const std::uint32_t degrees[] = {l.tp, l.cp, l.dp, 1};
  for (const ParallelAxis axis : l.rank_order) {
    const std::uint32_t extent = degrees[static_cast<std::size_t>(axis)];
    if (extent % count == 0) return true;
    if (count % extent != 0) return false;
    count /= extent;
  }
  return count == 1;
}

Status check_experts(const LayoutSpec& l, const ModelSpec& m) {
  const std::uint32_t stage = l.tp * l.cp * l.dp, shared = l.ep * l.expert_tensor();
  if (m.moe.experts == 0) {
    if (l.ep == 1 && l.expert_tp == 0) return {};
    return invalid(fmt::format("{} has no experts; leave {} out", m.name, l.ep > 1 ? "ep" : "expert_tp"),
                   l.place(l.ep > 1 ? "ep" : "expert_tp"));
  }
  if (m.moe.experts % l.ep != 0) {
    return invalid(fmt::format("{} experts are not divisible by ep {}; choose a divisor of {}", m.moe.experts, l.ep,
                               m.moe.experts),
                   l.place("ep"));
  }
  if (m.moe.ffn % l.expert_tensor() != 0) {
    return invalid(fmt::format("experts of width {} are not divisible by expert_tp {}", m.moe.ffn, l.expert_tensor()),
                   l.place("expert_tp"));
  }
  if (l.experts.masks && l.experts.capacity <= 0) {
    return invalid("masks are of the places that experts have for tokens; give expert_capacity too, as in 1.25",
                   l.place("expert_masks"));
  }
  if (stage % shared != 0 || !cuts(l, l.expert_tensor()) || !cuts(l, shared)) {
    return invalid(fmt::format("ep {} x expert_tp {} = {} does not divide tp {} x cp {} x dp {} = {}, the GPUs of a "
                               "pipeline stage",
                               l.ep, l.expert_tensor(), shared, l.tp, l.cp, l.dp, stage),
                   l.place("ep"));
  }
  if (l.tp > 1 && !l.sequence_parallel) {
    return invalid("experts with tensor parallelism need sequence_parallel: true", l.place("sequence_parallel"));
  }
  if (l.sharding.group > 0 || l.sharding.whole_tensors) {
    return invalid("experts are sharded over all ranks that hold the same ones; leave it out",
                   l.place(l.sharding.group > 0 ? "shard_group" : "whole_tensors"));
  }
  return {};
}

}  // namespace

namespace {

/// Sets vpp where layers_per_chunk is given.
Status fill_vpp(LayoutSpec& l, const ModelSpec& m) {
  if (l.split.layers_per_chunk == 0) return {};
  const std::uint64_t round = std::uint64_t{l.split.layers_per_chunk} * l.pp;
  if (l.places.contains("vpp")) return invalid("vpp says the same; leave one out", l.place("layers_per_chunk"));
  if (round == 0 || m.layers % round != 0)
    return invalid(fmt::format("{} layers are not divisible by layers_per_chunk {} x pp {}", m.layers,
                               l.split.layers_per_chunk, l.pp),
                   l.place("layers_per_chunk"));
  l.vpp = static_cast<std::uint32_t>(m.layers / round);
  l.split.layers_per_chunk = 0;
  return {};
}

}  // namespace

Result<LayoutSpec> resolve_layout(LayoutSpec layout, const ModelSpec& model, std::uint32_t gpus) {
  BUSBAR_RETURN_IF_ERROR(check_model(model));
  BUSBAR_RETURN_IF_ERROR(fill_vpp(layout, model));
  if (layout.goes_back() && !layout.places.contains("vpp")) layout.vpp = 2;
  for (const Check check : {check_positive, check_switches, check_heads}) {
    BUSBAR_RETURN_IF_ERROR(check(layout, model));
  }
  BUSBAR_ASSIGN(layout.split.chunk_layers, split_layers(layout, model));
  if (layout.recomputation.every > 0)
    layout.recomputation.layers = std::max(1u, model.layers / layout.chunks() / layout.recomputation.every);
  BUSBAR_RETURN_IF_ERROR(fill_dp(layout, gpus));
  BUSBAR_RETURN_IF_ERROR(check_sharding(layout));
  BUSBAR_RETURN_IF_ERROR(check_apart(layout));
  BUSBAR_RETURN_IF_ERROR(check_experts(layout, model));
  BUSBAR_RETURN_IF_ERROR(fill_batch_of_degrees(layout, model, gpus > 0 ? gpus : layout.ranks()));
  BUSBAR_RETURN_IF_ERROR(check_batch(layout, model));
  return layout;
}

LayoutSpec single_replica(const LayoutSpec& layout) {
  LayoutSpec one = layout;
  const std::uint32_t experts = layout.ep * layout.expert_tensor(), ranks = layout.tp * layout.cp;
  one.dp = experts / std::gcd(experts, ranks);  // as many replicas as hold all experts once
  one.batch.global = layout.batch.global / layout.dp * one.dp;
  if (one.sharding.group > one.cp) one.sharding.group = 0;
  one.sharding.secondary = one.sharding.local_steps = 0;
  return one;
}

}  // namespace busbar::workload
