#include "busbar/workload/layout.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar {
namespace {

constexpr std::uint64_t kMostTokens = 1u << 26;  // of one micro-batch: keeps every product below 2^63
constexpr std::uint64_t kMostSequences = 1u << 30;

using Check = Status (*)(const LayoutSpec&, const ModelSpec&);

Status check_positive(const LayoutSpec& l, const ModelSpec&) {
  const std::pair<const char*, std::uint32_t> sizes[] = {
      {"tp", l.tp}, {"pp", l.pp}, {"vpp", l.vpp}, {"seq", l.seq}, {"micro_batch", l.micro_batch}};
  for (const auto& [key, value] : sizes) {
    if (value == 0) return invalid("must be at least 1", l.place(key));
  }
  if (std::uint64_t{l.seq} * l.micro_batch > kMostTokens) {
    return invalid(fmt::format("seq {} x micro_batch {} is more than {} tokens on one GPU; lower one of them", l.seq,
                               l.micro_batch, kMostTokens),
                   l.place("seq"));
  }
  return {};
}

Status check_switches(const LayoutSpec& l, const ModelSpec&) {
  if (l.zero > 1) {
    return Error{ErrorCode::kUnsupported, fmt::format("ZeRO-{} is not modelled; use 0 or 1", l.zero), l.place("zero")};
  }
  if (l.overlap_tp && !l.sequence_parallel) {
    return invalid("overlapping TP with GEMMs needs sequence_parallel: true", l.place("overlap_tp"));
  }
  if (l.vpp > 1 && l.pp == 1) {
    return invalid(fmt::format("vpp {} interleaves pipeline stages, but pp is 1; set pp or leave vpp out", l.vpp),
                   l.place("vpp"));
  }
  return {};
}

Status check_heads(const LayoutSpec& l, const ModelSpec& m) {
  if (m.heads % l.tp != 0) {
    return invalid(
        fmt::format("{} attention heads are not divisible by tp {}; choose a divisor of {}", m.heads, l.tp, m.heads),
        l.place("tp"));
  }
  if (m.kv_heads % l.tp != 0) {
    return invalid(fmt::format("{} key-value heads are not divisible by tp {}; choose a tp that divides {}", m.kv_heads,
                               l.tp, m.kv_heads),
                   l.place("tp"));
  }
  if (m.ffn % l.tp != 0) {
    return invalid(fmt::format("ffn {} is not divisible by tp {}", m.ffn, l.tp), l.place("tp"));
  }
  if (l.sequence_parallel && l.seq % l.tp != 0) {
    return invalid(fmt::format("sequence {} is not divisible by tp {}; choose a multiple or sequence_parallel: false",
                               l.seq, l.tp),
                   l.place("seq"));
  }
  return {};
}

Status check_layers(const LayoutSpec& l, const ModelSpec& m) {
  const std::uint64_t chunks = static_cast<std::uint64_t>(l.pp) * l.vpp;
  if (m.layers % chunks == 0) return {};
  return invalid(fmt::format("{} layers cannot be cut into pp {} x vpp {} = {} equal chunks; choose a divisor of {}",
                             m.layers, l.pp, l.vpp, chunks, m.layers),
                 l.place(l.vpp > 1 ? "vpp" : "pp"));
}

Status check_batch(const LayoutSpec& l, const ModelSpec&) {
  const std::uint64_t per_round = static_cast<std::uint64_t>(l.dp) * l.micro_batch;
  if (l.global_batch % per_round != 0) {
    return invalid(
        fmt::format("global batch {} is not divisible by dp {} x micro_batch {} = {}; the next multiple is "
                    "{}",
                    l.global_batch, l.dp, l.micro_batch, per_round, (l.global_batch / per_round + 1) * per_round),
        l.place("global_batch"));
  }
  if (l.vpp > 1 && l.micro_batches() % l.pp != 0) {
    return invalid(fmt::format("interleaving needs micro-batches in multiples of pp {}, but global batch {} / (dp {} x "
                               "micro_batch {}) = {}",
                               l.pp, l.global_batch, l.dp, l.micro_batch, l.micro_batches()),
                   l.place("global_batch"));
  }
  return {};
}

Status fill_dp(LayoutSpec& l, std::uint32_t gpus) {
  const std::uint64_t replica = static_cast<std::uint64_t>(l.tp) * l.pp;
  if (gpus == 0) return l.dp > 0 ? Status{} : invalid("must be given", l.place("dp"));
  if (replica > gpus) {
    return invalid(fmt::format("tp {} x pp {} needs {} GPUs, but the machine has {}; lower tp or pp or take more nodes",
                               l.tp, l.pp, replica, gpus),
                   l.place(l.pp > 1 ? "pp" : "tp"));
  }
  if (l.dp == 0) {
    if (gpus % replica != 0) {
      return invalid(fmt::format("{} GPUs are not divisible by tp {} x pp {} = {}", gpus, l.tp, l.pp, replica),
                     l.place("tp"));
    }
    l.dp = static_cast<std::uint32_t>(gpus / replica);
  }
  if (replica * l.dp != gpus) {
    return invalid(fmt::format("tp {} x pp {} x dp {} = {} GPUs, but the machine has {}; {}", l.tp, l.pp, l.dp,
                               replica * l.dp, gpus,
                               gpus % replica == 0 ? fmt::format("leave dp out for dp {}", gpus / replica)
                                                   : std::string("choose degrees whose product is the machine")),
                   l.place("dp"));
  }
  return {};
}

}  // namespace

const char* name_of(Precision) { return "bf16"; }

const char* name_of(Recompute r) { return r == Recompute::kNone ? "none" : "selective"; }

Where LayoutSpec::place(const std::string& key) const {
  const auto it = places.find(key);
  if (it != places.end()) return it->second;
  Where where;
  where.path = "layout." + key;
  return where;
}

std::uint64_t bucket_size(const LayoutSpec& layout) {
  if (layout.bucket_parameters > 0) return layout.bucket_parameters;
  return std::max<std::uint64_t>(40'000'000, 1'000'000ull * layout.dp);
}

namespace {

/// What the step does not follow yet is refused by name.
Status check_modelled(const ModelSpec& model) {
  const auto refused = [&](const char* key, const char* what) {
    Error e =
        invalid(fmt::format("{}: {} is not modelled yet; 'busbar catalog models' lists dense ones", model.name, what));
    e.code = ErrorCode::kUnsupported;
    if (const auto it = model.places.find(key); it != model.places.end()) e.where = it->second;
    return e;
  };
  if (model.moe.experts > 0) return refused("moe", "MoE");
  if (model.latent.kv_rank > 0) return refused("latent_attention", "latent attention");
  return {};
}

}  // namespace

Result<LayoutSpec> resolve_layout(LayoutSpec layout, const ModelSpec& model, std::uint32_t gpus) {
  BUSBAR_RETURN_IF_ERROR(check_model(model));
  BUSBAR_RETURN_IF_ERROR(check_modelled(model));
  for (const Check check : {check_positive, check_switches, check_heads, check_layers}) {
    BUSBAR_RETURN_IF_ERROR(check(layout, model));
  }
  BUSBAR_RETURN_IF_ERROR(fill_dp(layout, gpus));
  if (layout.global_batch == 0) {
    const std::uint64_t batch = std::uint64_t{layout.dp} * layout.micro_batch * layout.pp;
    if (batch > kMostSequences) return invalid(fmt::format("{} is too large", batch), layout.place("global_batch"));
    layout.global_batch = static_cast<std::uint32_t>(batch);
  }
  BUSBAR_RETURN_IF_ERROR(check_batch(layout, model));
  return layout;
}

LayoutSpec single_replica(const LayoutSpec& layout) {
  LayoutSpec one = layout;
  one.global_batch = layout.global_batch / layout.dp;
  one.dp = 1;
  return one;
}

}  // namespace busbar
