// Models and kernel times with round numbers, for tests.
#pragma once

#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

inline ModelSpec llama3_70b() {
  ModelSpec m;
  m.name = "Llama-3-70B";
  m.layers = 80;
  m.hidden = 8192;
  m.ffn = 28672;
  m.heads = 64;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.vocab = 128256;
  return m;
}

inline ModelSpec small_model() {
  ModelSpec m;
  m.name = "small";
  m.layers = 8;
  m.hidden = 1024;
  m.ffn = 4096;
  m.heads = 16;
  m.kv_heads = 8;
  m.head_dim = 64;
  m.vocab = 32000;
  return m;
}

/// The small model with 16 experts in all layers but the first, 2 per token.
inline ModelSpec small_experts() {
  ModelSpec m = small_model();
  m.name = "small experts";
  m.moe = {.experts = 16, .per_token = 2, .ffn = 1024, .shared = 1, .dense_layers = 1};
  return m;
}

/// Source: arXiv:2412.19437, section 4.2.
inline ModelSpec deepseek_v3() {
  ModelSpec m;
  m.name = "DeepSeek-V3";
  m.layers = 61;
  m.hidden = 7168;
  m.ffn = 18432;
  m.heads = m.kv_heads = 128;
  m.head_dim = 192;
  m.vocab = 129280;
  m.moe = {.experts = 256, .per_token = 8, .ffn = 2048, .shared = 1, .dense_layers = 3};
  m.latent = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};
  return m;
}

inline KernelTable flat_kernels() {
  KernelTable k;
  k.name = "flat";
  k.bf16 = {.peak_flops_per_s = 1e15, .best_share = 0.7};
  k.fp8 = {.peak_flops_per_s = 2e15, .best_share = 0.7};
  k.attention_forward = {{0, 0.4}};
  k.attention_backward = {{0, 0.3}};
  k.memory_bytes_per_s = 3.35e12;
  k.memory_share = 0.9;
  k.optimizer_bytes_per_parameter = 30;
  return k;
}

/// `batches` micro-batches per replica of the small model, sequence 1024.
inline LayoutSpec small_layout(std::uint32_t tp, std::uint32_t pp, std::uint32_t vpp, std::uint32_t dp,
                               std::uint32_t batches) {
  LayoutSpec l;
  l.tp = tp;
  l.pp = pp;
  l.vpp = vpp;
  l.dp = dp;
  l.batch.seq = 1024;
  l.batch.global = dp * batches;
  auto resolved = resolve_layout(l, small_model(), tp * pp * dp);
  return std::move(resolved).value();
}

/// The main job: 512 GPUs, TP 8, sequence 4096, global batch 1024.
inline LayoutSpec main_layout(std::uint32_t pp, std::uint32_t vpp) {
  LayoutSpec l;
  l.tp = 8;
  l.pp = pp;
  l.vpp = vpp;
  l.batch.global = 1024;
  auto resolved = resolve_layout(l, llama3_70b(), 512);
  return std::move(resolved).value();
}

}  // namespace busbar::workload
