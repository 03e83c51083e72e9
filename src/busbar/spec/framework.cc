#include "busbar/spec/framework.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "busbar/base/text.h"

namespace busbar {
namespace {

constexpr const char* kFrameworks[] = {"megatron",         "nemo",          "megatron-bridge",
                                       "fsdp2-torchtitan", "deepspeed",     "maxtext",
                                       "internevo",        "fsdp-composer", "other"};

constexpr std::pair<const char*, const char*> kFrameworkAliases[] = {
    {"torchtitan", "fsdp2-torchtitan"}, {"megatron-lm", "megatron"}, {"megatron-core", "megatron"}, {"fsdp", "other"}};

// Copies of ZeRO-3 in PyTorch, bytes per parameter and micro-batch. One flat tensor for a layer: its gradients are
// joined (2+2) and divided before the sum (2+2). Source: torch/distributed/fsdp, _flat_param.py (views by torch.split,
// whose backward joins them) and _runtime_utils.py (_reduce_grad, _div_if_needed).
constexpr std::uint32_t kFlatShardCopies = 8;
// A shard of every tensor: what is gathered is put in order, forward and backward (2+2 each), gradients are joined in
// fp32 (2+4). Source: torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py (split_with_sizes_copy, chunk_cat).
constexpr std::uint32_t kTensorShardCopies = 14;

bool launches_experts_by_megatron_core(const std::string& framework) {
  return framework == "nemo" || framework == "megatron-bridge" || framework == "megatron";
}

/// Years from the start of 2000 to a release named by year and month, as "26.04.01"; nothing for another text.
std::optional<double> years_of_release(const std::string& release) {
  int year = 0, month = 0;
  if (std::sscanf(release.c_str(), "%d.%d", &year, &month) != 2 || month < 1 || month > 12) return {};
  return year + (month - 1) / 12.0;
}

/// The entry `key` of a file of catalog/frameworks, read by `inner`.
template <typename F>
Status read_entry(const YamlDocument& framework, const char* key, F inner) {
  MapReader r(framework.root());
  for (const char* known : {"name", "kernel_time", "expert_launch", "recipes"}) r.optional(known);
  r.inner(key, [&](MapReader& entry) {
    inner(entry);
    entry.required("source");
    entry.optional("confidence");
  });
  return r.finish();
}

/// What is recomputed when nothing is set. Sources: torchtitan torchtitan/config/job_config.py @6404b93 (selective,
/// every second layer), MaxText MaxText/configs/base.yml @315ebb5 (remat_policy full), Megatron-LM
/// megatron/training/arguments.py (--recompute-granularity None), llm-foundry (activation_checkpointing false).
void set_default_recompute(const std::string& framework, const ModelSpec& model, LayoutSpec& l) {
  l.recompute = Recompute::kNone;
  if (framework == "maxtext") l.recompute = Recompute::kFull;
  if (framework != "fsdp2-torchtitan") return;
  l.recompute = Recompute::kFull;
  l.recompute_layers = std::max(1u, model.layers / l.chunks() / 2);
}

class ChangedKeys {
 public:
  template <typename T>
  void add(const char* key, const T& before, const T& after) {
    if (before == after) return;
    append_word(text_, fmt::format("{} {}", key, word(after)));
  }
  const std::string& text() const { return text_; }

 private:
  static std::string word(bool b) { return b ? "true" : "false"; }
  static std::string word(std::uint32_t n) { return std::to_string(n); }
  static std::string word(std::uint64_t n) { return std::to_string(n); }
  static std::string word(double x) { return fmt::format("{:.4g}", x); }
  static std::string word(Duration d) { return fmt::format("{:.3g} us", 1e6 * d.in_s()); }
  template <typename E>
  static std::string word(E e) {
    return name_of(e);
  }
  std::string text_;
};

}  // namespace

std::vector<std::string> framework_names() {
  std::vector<std::string> out{std::begin(kFrameworks), std::end(kFrameworks)};
  for (const auto& [alias, name] : kFrameworkAliases) out.emplace_back(alias);
  return out;
}

std::string framework_of(const std::string& name) {
  for (const auto& [alias, own] : kFrameworkAliases)
    if (name == alias) return own;
  return name;
}

void set_framework(const std::string& framework, LayoutSpec& l) {
  const bool ampere_era = l.precision == Precision::kFp16;  // runs in fp16 date from before flash attention
  if (framework == "deepspeed") {
    l.attention = AttentionKernel::kUnfused;
    l.overlap_grad_reduce = l.overlap_param_gather = l.overlap_p2p = l.overlap_tp_backward = false;
  } else if (framework == "megatron") {
    l.attention = ampere_era ? AttentionKernel::kUnfused : AttentionKernel::kFlash;
    l.overlap_grad_reduce = l.overlap_param_gather = !ampere_era;
  } else if (framework == "fsdp-composer") {
    l.loss = LossKernel::kFused;             // llm-foundry's default: flash-attn's cross-entropy
    l.attention = AttentionKernel::kFlash1;  // Triton's, because of its ALiBi
    l.early_stop = true;
    l.gradient_bytes = 2;
    l.shard_copy_bytes = kFlatShardCopies;
  } else if (framework == "fsdp2-torchtitan") {
    l.loss = LossKernel::kTorch;
    if (l.pp > 1) {  // with stages its FSDP keeps parameters after forward and reduces gradients once a step
      l.reshard = false;
      l.accumulate_gradients = true;
      l.stage_buffers = true;
    }
    l.early_stop = true;
    l.shard_copy_bytes = kTensorShardCopies;
    l.attention = AttentionKernel::kFlash2;
    l.context = ContextParallel::kAllGather;
    l.overlap_tp_backward = false;  // DTensor's collectives follow the backward pass of the whole linear layer
  } else if (framework == "internevo") {
    l.gradient_bytes = 2;
    l.overlap_grad_reduce = false;
    l.bucket_parameters = 256'000'000;  // reduce_bucket_size of 512 MB in its configs/7B_sft.py
    l.whole_tensors = l.zero == 1;      // its hybrid ZeRO optimizer distributes whole tensors and broadcasts them
  } else if (framework == "nemo" || framework == "megatron-bridge") {
    l.overlap_tp = l.sequence_parallel && l.tp > 1;
    l.gradient_bytes = 2;
  } else if (framework == "maxtext") {
    l.gradient_bytes = 2;
  } else if (l.zero == 3) {  // FSDP on PyTorch
    l.attention = AttentionKernel::kFlash2;
    l.early_stop = true;
    l.shard_copy_bytes = kTensorShardCopies;
    l.overlap_tp_backward = false;
  }
}

Result<double> kernel_time_in(const YamlDocument& framework, const std::string& release) {
  double time = 1, fall_per_year = 0;
  std::string of_release;
  BUSBAR_RETURN_IF_ERROR(read_entry(framework, "kernel_time", [&](MapReader& entry) {
    entry.required("value", &YamlNode::as_number, time, 0.1, 10);
    entry.optional("release", &YamlNode::as_string, of_release);
    entry.optional("fall_per_year", &YamlNode::as_number, fall_per_year, 0, 1);
  }));
  const auto own = years_of_release(of_release), now = years_of_release(release);
  return own && now ? time * std::exp(-fall_per_year * (*now - *own)) : time;
}

Result<Duration> expert_launch_in(const YamlDocument& framework) {
  Duration launch;
  BUSBAR_RETURN_IF_ERROR(read_entry(
      framework, "expert_launch", [&](MapReader& entry) { entry.required("value", &YamlNode::as_duration, launch); }));
  return launch;
}

Result<LayoutSpec> layout_in_framework(const std::string& said, const Where& where, const ModelSpec& model,
                                       const LayoutSpec& given, const Catalog& catalog) {
  const std::vector<std::string> known = framework_names();
  const std::string framework = framework_of(said);
  if (std::find(known.begin(), known.end(), said) == known.end())
    return invalid(fmt::format("'{}' is not a framework that is known; write one of {}", said, comma_list(known)),
                   where);
  LayoutSpec l = given;
  set_framework(framework, l);
  set_default_recompute(framework, model, l);
  if (catalog.has("frameworks", framework)) {
    BUSBAR_ASSIGN(const YamlDocument file, catalog.load("frameworks", framework));
    BUSBAR_ASSIGN(l.kernel_time, kernel_time_in(file, ""));
  }
  if (model.moe.experts > 0 && launches_experts_by_megatron_core(framework)) {
    BUSBAR_ASSIGN(const YamlDocument core, catalog.load("frameworks", "megatron-core"));
    BUSBAR_ASSIGN(l.expert_launch, expert_launch_in(core));
  }
  return l;
}

std::string layout_changes(const LayoutSpec& a, const LayoutSpec& b) {
  ChangedKeys c;
  c.add("recompute", a.recompute, b.recompute);
  c.add("recompute_layers", a.recompute_layers, b.recompute_layers);
  c.add("early_stop", a.early_stop, b.early_stop);
  c.add("stage_buffers", a.stage_buffers, b.stage_buffers);
  c.add("attention", a.attention, b.attention);
  c.add("loss", a.loss, b.loss);
  c.add("context", a.context, b.context);
  c.add("gradient_bytes", a.gradient_bytes, b.gradient_bytes);
  c.add("reshard", a.reshard, b.reshard);
  c.add("accumulate_gradients", a.accumulate_gradients, b.accumulate_gradients);
  c.add("shard_copy_bytes", a.shard_copy_bytes, b.shard_copy_bytes);
  c.add("whole_tensors", a.whole_tensors, b.whole_tensors);
  c.add("bucket_million_parameters", a.bucket_parameters / 1'000'000, b.bucket_parameters / 1'000'000);
  c.add("overlap.grad_reduce", a.overlap_grad_reduce, b.overlap_grad_reduce);
  c.add("overlap.param_gather", a.overlap_param_gather, b.overlap_param_gather);
  c.add("overlap.p2p", a.overlap_p2p, b.overlap_p2p);
  c.add("overlap.tp", a.overlap_tp, b.overlap_tp);
  c.add("overlap.tp_backward", a.overlap_tp_backward, b.overlap_tp_backward);
  c.add("expert_launch", a.expert_launch, b.expert_launch);
  c.add("kernel_time", a.kernel_time, b.kernel_time);
  return c.text();
}

}  // namespace busbar
