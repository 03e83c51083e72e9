#include "busbar/questions/flag_words.h"

#include <algorithm>
#include <iterator>

#include "busbar/base/text.h"

namespace busbar::questions {
namespace {

constexpr std::string_view kOthers = "others", kSpeech = "";

// Sources: Megatron-LM megatron/training/arguments.py; torchtitan torchtitan/config/job_config.py; DeepSpeed
// docs/_pages/config-json.md, whose keys scripts take as flags; AI-Hypercomputer/maxtext src/maxtext/configs/base.yml.
constexpr ForeignFlag kForeign[] = {
    {kMegatron, "tensor-model-parallel-size", "--tp"},
    {kMegatron, "pipeline-model-parallel-size", "--pp"},
    {kMegatron, "num-virtual-stages-per-pipeline-rank", "--vpp"},
    {kMegatron, "num-layers-per-virtual-pipeline-stage", "--set", "*", "layout.layers_per_chunk=*"},
    {kMegatron, "context-parallel-size", "--cp"},
    {kMegatron, "expert-model-parallel-size", "--ep"},
    {kMegatron, "expert-tensor-parallel-size", "--set", "*", "layout.expert_tp=*"},
    {kMegatron, "micro-batch-size", "--micro-batch"},
    {kMegatron, "global-batch-size", "--global-batch"},
    {kMegatron, "seq-length", "--seq"},
    {kMegatron, "recompute-granularity", "--recompute"},
    {kMegatron, "sequence-parallel", "--set", "", "layout.sequence_parallel=true"},
    {kMegatron, "tp-comm-overlap", "--set", "", "layout.overlap.tp=true"},
    {kMegatron, "overlap-grad-reduce", "--set", "", "layout.overlap.grad_reduce=true"},
    {kMegatron, "overlap-param-gather", "--set", "", "layout.overlap.param_gather=true"},
    {kMegatron, "cp-comm-type", "--set", "p2p", "layout.context=ring"},
    {kMegatron, "cp-comm-type", "--set", "all_gather", "layout.context=all_gather"},
    {kMegatron, "cp-comm-type", "--set", "a2a", "layout.context=all_to_all"},
    {kMegatron, "optimizer-cpu-offload", "--offload", "", "optimizer"},
    {kMegatron, "bf16", "--precision", "", "bf16"},
    {kMegatron, "fp16", "--precision", "", "fp16"},
    {kMegatron, "fp8-format", "--precision", "hybrid", "fp8"},
    {kMegatron, "fp8-format", "--precision", "e4m3", "fp8"},
    {kMegatron, "fp4-format", "--precision", "e2m1", "fp4"},
    {kMegatron, "recompute-activations", "--recompute", "", "selective"},
    {kMegatron, "grad-reduce-in-bf16", "--set", "", "layout.gradient_bytes=2"},
    {kMegatron, "fp8-param-gather", "--set", "", "layout.parameter_bytes=1"},
    {kMegatron, "use-tp-pp-dp-mapping", "--set", "", "layout.rank_order=tp-cp-pp-dp"},
    {kMegatron, "decoder-first-pipeline-num-layers", "--set", "*", "layout.first_layers=*"},
    {kMegatron, "decoder-last-pipeline-num-layers", "--set", "*", "layout.last_layers=*"},
    {kMegatron, "account-for-embedding-in-pipeline-split", "--set", "", "layout.embedding_as_layer=true"},
    {kMegatron, "account-for-loss-in-pipeline-split", "--set", "", "layout.head_as_layer=true"},
    {kMegatron, "fine-grained-activation-offloading", "--set", "", "layout.offload.activations=true"},
    {kMegatron, "use-flash-attn", "--set", "", "layout.attention=flash"},
    {kMegatron, "attention-backend", "--set", "auto", "layout.attention=flash"},
    {kMegatron, "attention-backend", "--set", "flash", "layout.attention=flash"},
    {kMegatron, "attention-backend", "--set", "fused", "layout.attention=flash"},
    {kMegatron, "attention-backend", "--set", "unfused", "layout.attention=unfused"},
    {kMegatron, "attention-backend", "--set", "local", "layout.attention=unfused"},
    {kMegatron, "enable-cuda-graph", "--set", "", "layout.cuda_graphs=true"},
    {kMegatron, "external-cuda-graph", "--set", "", "layout.cuda_graphs=true"},
    {kMegatron, "moe-token-dispatcher-type", "--set", "alltoall", "layout.expert_exchange=all_to_all"},
    {kMegatron, "moe-token-dispatcher-type", "--set", "flex", "layout.expert_exchange=per_node"},
    {kMegatron, "moe-enable-deepep", "--set", "", "layout.expert_exchange=per_node"},
    // 0.88 to 0.96 of the exchanges of published pairs of runs with and without it:
    // catalog/frameworks/megatron-bridge.yaml
    {kMegatron, "overlap-moe-expert-parallel-comm", "--set", "", "layout.overlap.ep=0.9"},
    {kMegatron, "moe-shared-expert-overlap", "--set", "", "layout.overlap.shared_experts=true"},
    {kMegatron, "moe-expert-capacity-factor", "--set", "*", "layout.expert_capacity=*"},
    {kMegatron, "num-layers", "--set", "*", "model.layers=*"},
    {kMegatron, "hidden-size", "--set", "*", "model.hidden=*"},
    {kMegatron, "ffn-hidden-size", "--set", "*", "model.ffn=*"},
    {kMegatron, "num-attention-heads", "--set", "*", "model.heads=*"},
    {kMegatron, "num-query-groups", "--set", "*", "model.kv_heads=*"},
    {kMegatron, "kv-channels", "--set", "*", "model.head_dim=*"},
    {kMegatron, "vocab-size", "--set", "*", "model.vocab=*"},
    {kMegatron, "swiglu", "--set", "", "model.mlp=gated"},
    {kMegatron, "qk-layernorm", "--set", "", "model.qk_norm=true"},
    {kMegatron, "untie-embeddings-and-output-weights", "--set", "", "model.tied_embeddings=false"},
    {kMegatron, "num-experts", "--set", "*", "model.moe.experts=*"},
    {kMegatron, "moe-router-topk", "--set", "*", "model.moe.per_token=*"},
    {kMegatron, "moe-ffn-hidden-size", "--set", "*", "model.moe.ffn=*"},
    {kMegatron, "moe-router-group-topk", "--set", "*", "model.moe.most_nodes=*"},
    {kMegatron, "mtp-num-layers", "--set", "*", "model.mtp=*"},
    {kMegatron, "q-lora-rank", "--set", "*", "model.latent_attention.q_rank=*"},
    {kMegatron, "kv-lora-rank", "--set", "*", "model.latent_attention.kv_rank=*"},
    {kMegatron, "qk-head-dim", "--set", "*", "model.latent_attention.nope_dim=*"},
    {kMegatron, "qk-pos-emb-head-dim", "--set", "*", "model.latent_attention.rope_dim=*"},
    {kMegatron, "v-head-dim", "--set", "*", "model.latent_attention.v_dim=*"},
    {kMegatron, "use-megatron-fsdp", "--zero", "", "0"},
    {kMegatron, "use-distributed-optimizer", "--zero", "", "1"},
    {kMegatron, "data-parallel-sharding-strategy", "--zero", "no_shard", "0"},
    {kMegatron, "data-parallel-sharding-strategy", "--zero", "optim", "1"},
    {kMegatron, "data-parallel-sharding-strategy", "--zero", "optim_grads", "2"},
    {kMegatron, "data-parallel-sharding-strategy", "--zero", "optim_grads_params", "3"},
    {kMegatron, "use-torch-fsdp2", "--zero", "", "3"},
    {kTorchtitan, "parallelism.tensor_parallel_degree", "--tp"},
    {kTorchtitan, "parallelism.pipeline_parallel_degree", "--pp"},
    {kTorchtitan, "parallelism.context_parallel_degree", "--cp"},
    {kTorchtitan, "parallelism.expert_parallel_degree", "--ep"},
    {kTorchtitan, "training.local_batch_size", "--micro-batch"},
    {kTorchtitan, "training.global_batch_size", "--global-batch"},
    {kTorchtitan, "training.seq_len", "--seq"},
    {kTorchtitan, "activation_checkpoint.mode", "--recompute"},
    {kTorchtitan, "training.batch_size", "--micro-batch"},
    {kTorchtitan, "training.enable_cpu_offload", "--offload", "", "optimizer"},
    {kTorchtitan, "parallelism.enable_async_tensor_parallel", "--set", "", "layout.overlap.tp=true"},
    {kTorchtitan, "parallelism.context_parallel_rotate_method", "--set", "allgather", "layout.context=all_gather"},
    {kTorchtitan, "parallelism.context_parallel_rotate_method", "--set", "alltoall", "layout.context=ring"},
    {kTorchtitan, "parallelism.pipeline_parallel_schedule", "--set", "1F1B", "layout.schedule=1f1b"},
    {kTorchtitan, "parallelism.pipeline_parallel_schedule", "--set", "Interleaved1F1B", "layout.vpp=2"},
    {kTorchtitan, "parallelism.pipeline_parallel_schedule", "--set", "GPipe", "layout.schedule=gpipe"},
    {kTorchtitan, "parallelism.pipeline_parallel_schedule", "--set", "ZBVZeroBubble", "layout.schedule=zb-v"},
    {kTorchtitan, "parallelism.pipeline_parallel_schedule", "--set", "DualPipeV", "layout.schedule=dualpipe-v"},
    {kTorchtitan, "parallelism.pipeline_parallel_layers_per_stage", "--set", "*", "layout.layers_per_chunk=*"},
    {kTorchtitan, "float8.enable_fsdp_float8_all_gather", "--set", "", "layout.parameter_bytes=1"},
    {kTorchtitan, "parallelism.fsdp_reshard_after_forward", "--zero", "never", "2"},
    {kTorchtitan, "parallelism.fsdp_reshard_after_forward", "--zero", "always", "3"},
    {kDeepSpeed, "zero_stage", "--zero"},
    {kDeepSpeed, "zero_optimization.stage", "--zero"},
    {kDeepSpeed, "train_batch_size", "--global-batch"},
    {kDeepSpeed, "train_micro_batch_size_per_gpu", "--micro-batch"},
    {kMaxText, "max_target_length", "--seq"},
    {kMaxText, "optimizer_memory_host_offload", "--offload", "", "optimizer"},
    {kMaxText, "attention", "--set", "autoselected", "layout.attention=flash"},
    {kMaxText, "attention", "--set", "flash", "layout.attention=flash"},
    {kMaxText, "attention", "--set", "cudnn_flash_te", "layout.attention=flash"},
    {kMaxText, "attention", "--set", "cudnn_flash_jax", "layout.attention=flash"},
    {kMaxText, "attention", "--set", "dot_product", "layout.attention=unfused"},
    {kMaxText, "context_parallel_strategy", "--set", "all_gather", "layout.context=all_gather"},
    {kMaxText, "context_parallel_strategy", "--set", "ring", "layout.context=ring"},
    {kMaxText, "context_parallel_strategy", "--set", "ulysses", "layout.context=all_to_all"},
    {kMaxText, "capacity_factor", "--set", "*", "layout.expert_capacity=*"},
    {kMaxText, "base_num_decoder_layers", "--set", "*", "model.layers=*"},
    {kMaxText, "base_emb_dim", "--set", "*", "model.hidden=*"},
    {kMaxText, "base_mlp_dim", "--set", "*", "model.ffn=*"},
    {kMaxText, "base_num_query_heads", "--set", "*", "model.heads=*"},
    {kMaxText, "base_num_kv_heads", "--set", "*", "model.kv_heads=*"},
    {kMaxText, "head_dim", "--set", "*", "model.head_dim=*"},
    {kMaxText, "vocab_size", "--set", "*", "model.vocab=*"},
    {kMaxText, "logits_via_embedding", "--set", "", "model.tied_embeddings=true"},
    {kMaxText, "num_experts", "--set", "*", "model.moe.experts=*"},
    {kMaxText, "num_experts_per_tok", "--set", "*", "model.moe.per_token=*"},
    {kMaxText, "base_moe_mlp_dim", "--set", "*", "model.moe.ffn=*"},
    {kMaxText, "shared_experts", "--set", "*", "model.moe.shared=*"},
    {kMaxText, "first_num_dense_layers", "--set", "*", "model.moe.dense_layers=*"},
    {kOthers, "tensor-parallel-size", "--tp"},
    {kOthers, "tensor-parallel-degree", "--tp"},
    {kOthers, "pipeline-parallel-size", "--pp"},
    {kOthers, "pipeline-parallel-degree", "--pp"},
    {kOthers, "virtual-pipeline-model-parallel-size", "--vpp"},
    {kOthers, "data-parallel-size", "--dp"},
    {kOthers, "context-parallel-degree", "--cp"},
    {kOthers, "expert-parallel-size", "--ep"},
    {kOthers, "expert-parallel-degree", "--ep"},
    {kOthers, "mbs", "--micro-batch"},
    {kOthers, "gbs", "--global-batch"},
    {kOthers, "seq-len", "--seq"},
    {kOthers, "sequence-length", "--seq"},
    {kOthers, "fsdp", "--zero", "", "3"},
    {kSpeech, "seqlen", "--seq"},
    {kSpeech, "batch", "--global-batch"},
    {kSpeech, "batch-size", "--global-batch"},
    {kSpeech, "dtype", "--precision"},
    {kSpeech, "message-size", "-b"},
    {kSpeech, "bytes", "-b"},
    {kSpeech, "size", "-b"},
    {kSpeech, "sizes", "-b"},
    {kSpeech, "output", "--out"},
    {kSpeech, "machine", "--cluster"},
    {kSpeech, "topology", "--cluster"},
    {kSpeech, "num-gpus", "-g"},
};

std::string with_hyphens(std::string_view name) {
  std::string out = lower(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

}  // namespace

std::span<const ForeignFlag> foreign_flags() { return kForeign; }

std::vector<const ForeignFlag*> rows_of_word(std::string_view flag, const std::vector<std::string>& known) {
  std::vector<const ForeignFlag*> out;
  if (!flag.starts_with("--")) return out;
  const std::string word = with_hyphens(flag.substr(2));
  for (const ForeignFlag& row : kForeign)
    if (with_hyphens(row.name) == word && std::find(known.begin(), known.end(), row.ours) != known.end())
      out.push_back(&row);
  return out;
}

std::string our_value(const ForeignFlag& row, const std::string& theirs) {
  std::string out(row.our_value);
  if (const std::size_t star = out.find('*'); star != std::string::npos) out.replace(star, 1, theirs);
  return out;
}

std::string flag_of_program(std::string_view program, std::string_view ours) {
  const auto row = std::find_if(std::begin(kForeign), std::end(kForeign), [&](const ForeignFlag& f) {
    return f.program == program && f.ours == ours && f.takes_any() && f.our_value == "*";
  });
  return row == std::end(kForeign) ? "" : "--" + std::string(row->name);
}

std::string words_of_program(std::string_view program, std::string_view ours, std::string_view our_value) {
  const auto row = std::find_if(std::begin(kForeign), std::end(kForeign), [&](const ForeignFlag& f) {
    return f.program == program && f.ours == ours && f.our_value == our_value && !f.takes_any();
  });
  if (row == std::end(kForeign)) return "";
  return "--" + std::string(row->name) + (row->is_switch() ? "" : " " + std::string(row->value));
}

}  // namespace busbar::questions
