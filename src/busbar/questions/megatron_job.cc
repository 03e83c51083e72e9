// What Megatron-LM's flags mean together, and its defaults. Source: NVIDIA/Megatron-LM megatron/training/arguments.py
// (validate_args and the groups of arguments) and megatron/core/transformer/transformer_config.py.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "busbar/base/text.h"
#include "busbar/questions/flag_words.h"
#include "busbar/questions/internal/job_keys.h"
#include "busbar/questions/internal/job_trained.h"
#include "busbar/questions/internal/megatron_stages.h"

namespace busbar::questions {
namespace {

bool megatron_harmless(const std::string& name) {
  constexpr std::string_view kFlags[] = {"accumulate-allreduce-grads-in-fp32",
                                         "adam-beta1",
                                         "adam-beta2",
                                         "adam-eps",
                                         "add-bias-linear",
                                         "add-qkv-bias",
                                         "apply-layernorm-1p",
                                         "apply-query-key-layer-scaling",
                                         "async-save",
                                         "attention-dropout",
                                         "attention-softmax-in-fp32",
                                         "bias-gelu-fusion",
                                         "bias-swiglu-fusion",
                                         "calculate-per-token-loss",
                                         "check-weight-hash-across-dp-replicas-interval",
                                         "ckpt-format",
                                         "ckpt-fully-parallel-load",
                                         "ckpt-fully-parallel-save",
                                         "clip-grad",
                                         "cross-entropy-fusion-impl",
                                         "cross-entropy-loss-fusion",
                                         "data-cache-path",
                                         "data-parallel-random-init",
                                         "data-path",
                                         "dataloader-type",
                                         "decoupled-lr",
                                         "decoupled-min-lr",
                                         "disable-bias-linear",
                                         "dist-ckpt-strictness",
                                         "distributed-backend",
                                         "distributed-timeout-minutes",
                                         "empty-unused-memory-level",
                                         "eod-mask-loss",
                                         "eval-interval",
                                         "eval-iters",
                                         "exit-duration-in-mins",
                                         "exit-interval",
                                         "exit-signal-handler",
                                         "fp8-amax-compute-algo",
                                         "fp8-amax-history-len",
                                         "fp8-interval",
                                         "fp8-margin",
                                         "fp8-recipe",
                                         "hidden-dropout",
                                         "hysteresis",
                                         "init-method-std",
                                         "initial-loss-scale",
                                         "load",
                                         "log-interval",
                                         "log-memory-to-tensorboard",
                                         "log-num-zeros-in-grad",
                                         "log-params-norm",
                                         "log-progress",
                                         "log-throughput",
                                         "log-timers-to-tensorboard",
                                         "log-validation-ppl-to-tensorboard",
                                         "log-world-size-to-tensorboard",
                                         "loss-scale",
                                         "loss-scale-window",
                                         "lr",
                                         "lr-decay-iters",
                                         "lr-decay-samples",
                                         "lr-decay-style",
                                         "lr-warmup-fraction",
                                         "lr-warmup-init",
                                         "lr-warmup-iters",
                                         "lr-warmup-samples",
                                         "lr-wsd-decay-iters",
                                         "lr-wsd-decay-samples",
                                         "lr-wsd-decay-style",
                                         "manual-gc",
                                         "manual-gc-eval",
                                         "manual-gc-interval",
                                         "master-addr",
                                         "master-port",
                                         "max-position-embeddings",
                                         "merge-file",
                                         "min-loss-scale",
                                         "min-lr",
                                         "mock-data",
                                         "moe-aux-loss-coeff",
                                         "moe-grouped-gemm",
                                         "moe-pad-expert-input-to-capacity",
                                         "moe-per-layer-logging",
                                         "moe-permute-fusion",
                                         "moe-router-bias-update-rate",
                                         "moe-router-dtype",
                                         "moe-router-enable-expert-bias",
                                         "moe-router-force-load-balancing",
                                         "moe-router-fusion",
                                         "moe-router-load-balancing-type",
                                         "moe-router-num-groups",
                                         "moe-router-pre-softmax",
                                         "moe-router-score-function",
                                         "moe-router-topk-scaling-factor",
                                         "moe-token-drop-policy",
                                         "moe-token-dropping",
                                         "moe-use-legacy-grouped-gemm",
                                         "moe-z-loss-coeff",
                                         "mscale",
                                         "mscale-all-dim",
                                         "mtp-loss-scaling-factor",
                                         "no-async-tensor-model-parallel-allreduce",
                                         "no-bias-dropout-fusion",
                                         "no-bias-gelu-fusion",
                                         "no-bias-swiglu-fusion",
                                         "no-check-for-nan-in-loss-and-grad",
                                         "no-create-attention-mask-in-dataloader",
                                         "no-gradient-accumulation-fusion",
                                         "no-load-optim",
                                         "no-load-rng",
                                         "no-masked-softmax-fusion",
                                         "no-mmap-bin-files",
                                         "no-persist-layer-norm",
                                         "no-position-embedding",
                                         "no-rope-fusion",
                                         "no-save-optim",
                                         "no-save-rng",
                                         "node-rank",
                                         "norm-epsilon",
                                         "normalization",
                                         "num-workers",
                                         "override-opt-param-scheduler",
                                         "overlap-cpu-optimizer-d2h-h2d",
                                         "overwrite-finetune",
                                         "per-split-data-args-path",
                                         "position-embedding-type",
                                         "profile",
                                         "profile-ranks",
                                         "profile-step-end",
                                         "profile-step-start",
                                         "rampup-batch-size",
                                         "rdzv-backend",
                                         "rdzv-endpoint",
                                         "rdzv-id",
                                         "reset-attention-mask",
                                         "reset-position-ids",
                                         "rope-scaling-factor",
                                         "rotary-base",
                                         "rotary-percent",
                                         "rotary-scaling-factor",
                                         "rotary-seq-len-interpolation-factor",
                                         "save",
                                         "save-interval",
                                         "seed",
                                         "split",
                                         "squared-relu",
                                         "start-weight-decay",
                                         "tensorboard-dir",
                                         "tensorboard-log-interval",
                                         "tensorboard-queue-size",
                                         "tiktoken-pattern",
                                         "timing-log-level",
                                         "timing-log-option",
                                         "tokenizer-model",
                                         "tp-comm-overlap-cfg",
                                         "train-data-path",
                                         "train-iters",
                                         "train-samples",
                                         "transformer-impl",
                                         "use-checkpoint-args",
                                         "use-checkpoint-opt-param-scheduler",
                                         "use-cpu-initialization",
                                         "use-dist-ckpt",
                                         "use-legacy-models",
                                         "use-mcore-models",
                                         "use-precision-aware-optimizer",
                                         "use-pytorch-profiler",
                                         "use-rope-scaling",
                                         "use-rotary-position-embeddings",
                                         "valid-data-path",
                                         "vocab-file",
                                         "wandb-entity",
                                         "wandb-exp-name",
                                         "wandb-project",
                                         "wandb-save-dir",
                                         "weight-decay",
                                         "weight-decay-incr-style"};
  return is_listed(name, {}, kFlags);
}

/// nproc_per_node x nnodes of torchrun.
void read_gpus(JobKeys& k) {
  const auto number = [&](const char* name, std::int64_t otherwise) -> std::int64_t {
    const std::optional<JobFlag> flag = k.take(name);
    if (!flag) return otherwise;
    std::int64_t n = 0;
    const bool known = flag->undecided.empty() && !flag->values.empty() && is_number(flag->values[0], n);
    return known && n > 0 && n < 1 << 20 ? n : 0;
  };
  const std::int64_t gpus = number("nproc-per-node", 0) * number("nnodes", 1);
  if (gpus > 0) k.set(kJobGpus, std::to_string(gpus));
}

Status read_precision(JobKeys& k) {
  const bool in_fp32 = k.take("accumulate-allreduce-grads-in-fp32").has_value();
  if (!k.has("layout.precision") && !k.given("layout.precision")) return k.missing("bf16", "--precision");
  if (k.word("layout.precision") == "fp16" && !in_fp32) k.set_unless("layout.gradient_bytes", "2");
  return {};
}

/// --recompute-modules, and --recompute-method with its number of layers.
Status read_recompute(JobKeys& k) {
  const std::optional<JobFlag> modules = k.take("recompute-modules"), method = k.take("recompute-method"),
                               layers = k.take("recompute-num-layers");
  const std::string kind = k.word("layout.recompute");
  k.set_unless("layout.recompute", "none");
  if (modules && kind == "selective") {
    std::string list;
    for (const std::string& m : modules->values) append_word(list, m == "moe_act" ? "act" : m);
    k.set("layout.recompute_modules", "[" + list + "]", k.place(*modules));
  }
  if (kind != "full" || !layers) return {};
  BUSBAR_ASSIGN(const std::int64_t n, k.count_of(*layers));
  const bool block = method && method->values == std::vector<std::string>{"block"};
  if (block) k.set("layout.recompute_layers", std::to_string(n), k.place(*layers));
  if (!block && n > 1) k.note(fmt::format("full recomputation in pieces of {} layers is timed as of single layers", n));
  return {};
}

/// --pipeline-model-parallel-layout: the layers of each chunk.
Status read_stages(JobKeys& k) {
  const std::optional<JobFlag> flag = k.take(std::string(kStageLayout));
  if (!flag) return {};
  const std::string text = flag->values.size() == 1 ? flag->values[0] : "";
  const std::optional<StageWords> words = read_stage_words(text);
  if (!words) return invalid(fmt::format("'{}' is not read; write such as Et*3|(tt|)*29t|tL", text), k.place(*flag));
  const std::int64_t pp = k.number("layout.pp").value_or(1);
  const auto chunks = static_cast<std::int64_t>(words->layers.size());
  if (pp < 1 || chunks % pp != 0)
    return invalid(fmt::format("its {} stages are not divisible by the {} of the pipeline", chunks, pp),
                   k.place(*flag));
  if (!words->usual_ends)
    k.note("the embedding is timed in the first chunk, and the head with what predicts further tokens in the last");
  std::string list;
  for (const std::uint32_t n : words->layers) append_word(list, std::to_string(n));
  k.set("layout.vpp", std::to_string(chunks / pp), k.place(*flag));
  k.set("layout.chunk_layers", "[" + list + "]", k.place(*flag));
  k.remove("layout.layers_per_chunk");
  return {};
}

Status read_batch(JobKeys& k) {
  const std::array<std::pair<const char*, const char*>, 2> needed{
      {{"layout.seq", "--seq"}, {"layout.micro_batch", "--micro-batch"}}};
  for (const auto& [key, ours] : needed)
    if (!k.has(key) && !k.given(key)) return k.missing(flag_of_program(megatron_job().name, ours).substr(2), ours);
  if (k.has("layout.global_batch") || k.given("layout.global_batch")) return {};
  const auto degree = [&](const char* key) { return k.number(key).value_or(1); };
  const std::int64_t replica = degree("layout.tp") * degree("layout.pp") * degree("layout.cp");
  const std::int64_t gpus = k.number(kJobGpus).value_or(0);
  if (gpus == 0 || gpus % replica != 0) return k.missing("global-batch-size", "--global-batch");
  k.set("layout.global_batch", std::to_string(gpus / replica * degree("layout.micro_batch")));
  k.note("without --global-batch-size, a step has one micro-batch per replica");
  return {};
}

/// The optimizer of a script, and adapters in the keys of NeMo and Megatron-Bridge.
Status read_trained(JobKeys& k) {
  read_optimizer(k, "optimizer");
  read_moments(k, "exp-avg-dtype", "exp-avg-sq-dtype");
  for (const auto& [flag, key] :
       {std::pair("muon-num-ns-steps", "layout.newton_schulz_steps"), std::pair("muon-tp-mode", "layout.muon_tp")})
    if (const std::optional<JobFlag> value = k.take(flag); value && !value->values.empty())
      k.set(key, value->values[0], k.place(*value));
  BUSBAR_RETURN_IF_ERROR(read_adapters(k, "model.peft.", "lora-tuning.adapter-dim", "lora-tuning.target-modules"));
  const bool adapters = k.others.contains("peft.dim");
  BUSBAR_RETURN_IF_ERROR(read_adapters(k, "peft.", "dim", "target-modules"));
  // Source: Megatron-Bridge, peft/lora.py: the modules of LoRA that are not given.
  if (adapters) k.set_unless("layout.lora_targets", "[linear_qkv,linear_proj,linear_fc1,linear_fc2]");
  return {};
}

Status read_layout_defaults(JobKeys& k) {
  const std::pair<const char*, const char*> defaults[] = {{"layout.zero", "0"},
                                                          {"layout.sequence_parallel", "false"},
                                                          {"layout.overlap.grad_reduce", "false"},
                                                          {"layout.overlap.param_gather", "false"}};
  for (const auto& [key, value] : defaults) k.set_unless(key, value);
  if (k.take("no-overlap-p2p-communication")) k.set("layout.overlap.p2p", "false");
  if (const auto n = k.take("num-distributed-optimizer-instances")) {
    if (n->values != std::vector<std::string>{"1"})
      return invalid("several instances are not modelled in this file; give --set layout.shard_group=N", k.place(*n));
  }
  if (const auto n = k.take("cpu-offloading-num-layers")) k.set("layout.offload.activations", "true", k.place(*n));
  BUSBAR_RETURN_IF_ERROR(read_trained(k));
  k.take("offload-modules");
  if (const auto share = k.take("optimizer-offload-fraction")) {
    double part = 0;
    if (share->values.size() != 1 || !is_number(share->values[0], part) || part != 1)
      return invalid("offload of a part of the optimizer is not modelled; write 1.0", k.place(*share));
  }
  if (k.number("layout.ep").value_or(1) > 1) {
    k.set_unless("layout.expert_tp", k.has("layout.tp") ? k.word("layout.tp") : "1");
    if (!k.has("layout.expert_exchange"))
      k.note("--moe-token-dispatcher-type is not given; experts' tokens are timed as all-to-all");
  }
  return {};
}

// -- The model

/// "([0]*3+[1]*58)", or the N of one layer with experts for every N - 1 without.
Status read_expert_layers(JobKeys& k) {
  const std::optional<JobFlag> flag = k.take("moe-layer-freq");
  if (!flag) return {};
  const std::string text = flag->values.size() == 1 ? flag->values[0] : "";
  std::int64_t n = 0;
  if (is_number(text, n) && n > 0) {
    if (n > 1) k.set("model.moe.every", text, k.place(*flag));
    return {};
  }
  std::string plain = text;
  std::erase_if(plain, [](char c) { return std::string_view("()' ").find(c) != std::string_view::npos; });
  int dense = 0, with = 0, end = 0;
  if (std::sscanf(plain.c_str(), "[0]*%d+[1]*%d%n", &dense, &with, &end) == 2 &&
      end == static_cast<int>(plain.size()) && dense > 0) {
    k.set("model.moe.dense_layers", std::to_string(dense), k.place(*flag));
    return {};
  }
  return invalid(fmt::format("'{}' is not read; write [0]*3+[1]*58, or give --model", text), k.place(*flag));
}

Status read_experts(JobKeys& k) {
  const std::optional<JobFlag> shared = k.take("moe-shared-expert-intermediate-size");
  if (!k.has("model.moe.experts")) {
    for (const char* key : {"model.moe.per_token", "model.moe.ffn", "model.moe.most_nodes"}) k.remove(key);
    k.take("moe-layer-freq");
    return {};
  }
  k.set_unless("model.moe.per_token", "2");
  k.set_unless("model.moe.ffn", k.word("model.ffn"));
  BUSBAR_RETURN_IF_ERROR(read_expert_layers(k));
  if (!shared) return {};
  BUSBAR_ASSIGN(const std::int64_t width, k.count_of(*shared));
  const std::int64_t one = k.number("model.moe.ffn").value_or(0);
  if (one < 1 || width % one != 0)
    return invalid(fmt::format("{} is not a multiple of an expert's {}; give --model", width, one), k.place(*shared));
  k.set("model.moe.shared", std::to_string(width / one), k.place(*shared));
  return {};
}

void read_latent_attention(JobKeys& k) {
  const std::pair<const char*, const char*> dims[] = {{"nope_dim", "128"}, {"rope_dim", "64"}, {"v_dim", "128"}};
  const std::string latent = "model.latent_attention.";
  if (!k.take("multi-latent-attention")) {
    for (const char* key : {"q_rank", "kv_rank", "nope_dim", "rope_dim", "v_dim"}) k.remove(latent + key);
    return;
  }
  for (const auto& [key, value] : dims) k.set_unless(latent + key, value);
  const auto width = [&](const char* key) { return k.number(latent + key).value_or(0); };
  k.set("model.head_dim", std::to_string(width("nope_dim") + width("rope_dim")));
  k.set("model.kv_heads", k.word("model.heads"));
}

/// The vocabulary of the tokenizer, as Megatron pads it.
Status read_vocabulary(JobKeys& k) {
  const std::optional<JobFlag> divisor = k.take("make-vocab-size-divisible-by"), type = k.take("tokenizer-type");
  const std::string name = type && !type->values.empty() ? type->values[0] : "GPT2BPETokenizer";
  const std::pair<const char*, const char*> known[] = {
      {"GPT2BPETokenizer", "50257"}, {"Llama2Tokenizer", "32000"}, {"Llama3Tokenizer", "128256"}};
  for (const auto& [tokenizer, size] : known)
    if (name == tokenizer) k.set_unless("model.vocab", size);
  if (!k.has("model.vocab") && !k.given("model.vocab")) return k.missing("vocab-size", "--set model.vocab=N");
  std::int64_t piece = 128;
  if (divisor) {
    BUSBAR_ASSIGN(piece, k.count_of(*divisor));
  }
  piece = std::min<std::int64_t>(piece, 1 << 20) * std::min<std::int64_t>(k.number("layout.tp").value_or(1), 1 << 20);
  const std::int64_t vocab = std::min<std::int64_t>(k.number("model.vocab").value_or(0), 1 << 30);
  if (vocab > 0) k.set("model.vocab", std::to_string((vocab + piece - 1) / piece * piece));
  return {};
}

/// Whether a value that is not a whole number of a sane size is among the sizes.
Status check_sizes(const JobKeys& k) {
  for (const char* key : {"model.hidden", "model.heads"})
    if (k.has(key) && k.number(key).value_or(1 << 30) >= 1 << 30)
      return invalid(fmt::format("'{}' is not a size of a model", k.word(key)), {"", 0, 0, key});
  return {};
}

Status read_model(JobKeys& k) {
  const bool grouped = k.take("group-query-attention").has_value();
  if (k.has_model()) {
    for (const char* name : {"multi-latent-attention", "moe-layer-freq", "moe-shared-expert-intermediate-size",
                             "make-vocab-size-divisible-by", "tokenizer-type"})
      k.take(name);
    return {};
  }
  for (const auto& [key, flag] : std::initializer_list<std::pair<const char*, const char*>>{
           {"model.layers", "num-layers"}, {"model.hidden", "hidden-size"}, {"model.heads", "num-attention-heads"}})
    if (!k.has(key) && !k.given(key)) return k.missing(flag, "--model");
  BUSBAR_RETURN_IF_ERROR(check_sizes(k));
  const std::int64_t hidden = k.number("model.hidden").value_or(0), heads = k.number("model.heads").value_or(0);
  k.set("model.name", k.stem());
  const bool gated = k.has("model.mlp");
  k.set_unless("model.mlp", "plain");
  k.set_unless("model.ffn", std::to_string(gated ? 8 * hidden / 3 / 64 * 64 : 4 * hidden));
  if (heads > 0) k.set_unless("model.head_dim", std::to_string(hidden / heads));
  if (!grouped) k.set("model.kv_heads", k.word("model.heads"));
  k.set_unless("model.kv_heads", "1");
  k.set_unless("model.tied_embeddings", "true");
  BUSBAR_RETURN_IF_ERROR(read_experts(k));
  read_latent_attention(k);
  return read_vocabulary(k);
}

/// Programs that train other models than decoders of text.
Status check_script(const JobKeys& k) {
  for (const char* other :
       {"bert", "t5", "vlm", "vision", "vit", "retro", "ict", "multimodal", "mimo", "mamba", "hybrid"})
    if (k.script.find(other) != std::string::npos && !k.has_model())
      return invalid(fmt::format("the model of {} is not read from flags; give --model", k.script), k.file());
  return {};
}

Status complete_megatron(JobKeys& k) {
  BUSBAR_RETURN_IF_ERROR(check_script(k));
  read_gpus(k);
  BUSBAR_RETURN_IF_ERROR(read_precision(k));
  BUSBAR_RETURN_IF_ERROR(read_recompute(k));
  BUSBAR_RETURN_IF_ERROR(read_stages(k));
  BUSBAR_RETURN_IF_ERROR(read_batch(k));
  BUSBAR_RETURN_IF_ERROR(read_layout_defaults(k));
  return read_model(k);
}

}  // namespace

JobProgram megatron_job() { return {kMegatron.data(), complete_megatron, megatron_harmless}; }

}  // namespace busbar::questions
