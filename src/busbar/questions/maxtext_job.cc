// What MaxText's keys mean together, and its defaults. Source: AI-Hypercomputer/maxtext @e591f30
// src/maxtext/configs/base.yml (keys, defaults, which axes shard what) and src/maxtext/layers/decoders.py (what each
// remat_policy keeps).
#include "busbar/questions/internal/maxtext_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include "busbar/base/text.h"
#include "busbar/questions/flag_words.h"
#include "busbar/questions/internal/job_keys.h"
#include "busbar/questions/internal/job_trained.h"
#include "busbar/questions/step_request.h"

namespace busbar::questions {
namespace {

using formats::ScriptCommand;
using formats::ScriptWord;

/// Beginnings of keys that concern no step as it is modelled here, and single keys.
bool maxtext_harmless(const std::string& name) {
  constexpr std::string_view kTables[] = {
      "adam-",        "ar-",      "autoregressive-", "checkpoint-", "collect-", "compile",     "dataset-",
      "data-",        "decode-",  "enable-",         "eval-",       "goodput-", "grain-",      "hf-",
      "inference-",   "jax-",     "load-",           "metrics-",    "monitor-", "muon-",       "profile",
      "prefill-",     "save-",    "sa-block-",       "sa-k-",       "sa-q-",    "sa-use-",     "scan-",
      "tokenize",     "use-iota", "vertex-",         "wandb-",      "xprof-",   "tensorboard", "mesh-axes",
      "logical-axis", "gcp-",     "mldiagnostics"};
  constexpr std::string_view kKeys[] = {"attention-type",
                                        "async-checkpointing",
                                        "base-output-directory",
                                        "base-config",
                                        "decoder-block",
                                        "dtype",
                                        "fused-mlp",
                                        "fused-qkv",
                                        "hardware",
                                        "learning-rate",
                                        "learning-rate-schedule-steps",
                                        "log-period",
                                        "logits-dot-in-fp32",
                                        "matmul-precision",
                                        "mtp-loss-scaling-factor",
                                        "max-segments-per-seq",
                                        "megablox",
                                        "model-call-mode",
                                        "normalization-layer-epsilon",
                                        "num-slices",
                                        "opt-type",
                                        "override-model-config",
                                        "packing",
                                        "param-scan-axis",
                                        "reuse-example-batch",
                                        "run-name",
                                        "skip-first-n-steps-for-profiler",
                                        "sparse-matmul",
                                        "steps",
                                        "tile-batch-seq",
                                        "upload-all-profiler-results",
                                        "use-qk-norm",
                                        "use-vertex-tensorboard",
                                        "gradient-clipping-threshold",
                                        "rope-max-timescale",
                                        "shard-mode",
                                        "decoder-layer-input",
                                        "max-prefill-predict-length",
                                        "context-parallel-load-balance"};
  return is_listed(name, kTables, kKeys);
}

/// The degree over chips of a slice times that over slices.
struct Axis {
  std::int64_t degree = 1;
  bool rest = false;   ///< one of both is what the others leave
  bool given = false;  ///< one of both stands in the file
};

Result<Axis> read_axis(JobKeys& k, const char* name) {
  Axis out;
  for (const char* over : {"ici", "dcn"}) {
    const std::optional<JobFlag> flag = k.take(fmt::format("{}-{}-parallelism", over, name));
    if (!flag) continue;
    out.given = true;
    std::int64_t n = 0;
    if (!flag->undecided.empty() || flag->values.size() != 1 || !is_number(flag->values[0], n) || n == 0 || n < -1 ||
        n > 1 << 20)
      return invalid("is no degree: a whole number, or -1 for what the others leave", k.place(*flag));
    (n < 0 ? out.rest : out.given) = true;
    out.degree *= n < 0 ? 1 : n;
  }
  return out;
}

/// The degrees of all axes that go into one of ours.
Status set_degree(JobKeys& k, const char* key, std::initializer_list<const char*> axes) {
  std::int64_t degree = 1;
  for (const char* name : axes) {
    BUSBAR_ASSIGN(const Axis axis, read_axis(k, name));
    if (axis.rest)
      return invalid(fmt::format("-1 is read for data and fsdp only; write the degree of {}", name), k.file());
    degree *= axis.degree;
  }
  if (degree > 1) k.set(key, std::to_string(degree));
  return {};
}

/// What shards, and how many ranks hold the same shard.
struct Replicas {
  std::int64_t copies = 1, shards = 1;
};

/// Without any of both, all chips shard: MaxText's defaults leave the rest to fsdp within a slice.
Result<Replicas> read_data_axes(JobKeys& k) {
  BUSBAR_ASSIGN(Axis data, read_axis(k, "data"));
  BUSBAR_ASSIGN(Axis fsdp, read_axis(k, "fsdp"));
  BUSBAR_ASSIGN(const Axis transposed, read_axis(k, "fsdp-transpose"));
  const std::int64_t ep = k.number("layout.ep").value_or(1);
  if (!fsdp.given) fsdp.rest = true;
  const bool by_default = !data.given && !fsdp.rest;  // copies over as many slices as there are
  if (by_default) data.rest = true;
  if (data.rest && fsdp.rest)
    return invalid("data and fsdp are both -1; write one of them", {k.file().file, 0, 0, "ici_fsdp_parallelism"});
  const std::int64_t known = data.degree * fsdp.degree * transposed.degree * ep, all = k.replicas();
  if ((data.rest || fsdp.rest) && !by_default && all == 0)
    return invalid("what the other degrees leave is not known; give a machine with a size", k.file());
  if (all > 0 && all % known != 0)
    return invalid(fmt::format("{} ranks of data, fsdp and expert do not divide the {} replicas", known, all),
                   k.file());
  const std::int64_t rest = all > 0 ? all / known : 1;
  if (data.rest) data.degree *= rest;
  if (fsdp.rest) fsdp.degree *= rest;
  return Replicas{data.degree, fsdp.degree * transposed.degree * ep};
}

Status read_sharding(JobKeys& k) {
  BUSBAR_RETURN_IF_ERROR(set_degree(k, "layout.tp", {"tensor", "tensor-sequence", "tensor-transpose"}));
  BUSBAR_RETURN_IF_ERROR(set_degree(k, "layout.cp", {"context", "sequence"}));
  BUSBAR_RETURN_IF_ERROR(set_degree(k, "layout.ep", {"expert"}));
  for (const char* name : {"pipeline", "autoregressive", "context-autoregressive", "context-usp-ulysses", "diloco"}) {
    BUSBAR_ASSIGN(const Axis axis, read_axis(k, name));
    if (axis.degree > 1 || axis.rest)
      return invalid(fmt::format("{} parallelism of MaxText is not modelled", name), k.file());
  }
  BUSBAR_ASSIGN(const Replicas r, read_data_axes(k));
  const std::int64_t cp = k.number("layout.cp").value_or(1);
  const std::optional<JobFlag> states = k.take("shard-optimizer-over-data");
  const bool shards_states = states && !states->values.empty() && lower(states->values[0]) == "true";
  k.set("layout.zero", r.shards > 1 ? "3" : shards_states ? "1" : "0");
  if (r.shards > 1 && r.copies > 1) k.set("layout.shard_group", std::to_string(r.shards * cp));
  k.set("layout.dp", std::to_string(r.copies * r.shards));
  const std::int64_t tp = k.number("layout.tp").value_or(1);
  if (k.number("layout.ep").value_or(1) > 1 && tp > 1) k.set("layout.expert_tp", std::to_string(tp));
  return {};
}

/// `per_device_batch_size` sequences a chip are one micro-batch of TP x CP chips.
Status read_device_batch(JobKeys& k) {
  k.set_unless("layout.seq", "2048");
  const std::optional<JobFlag> flag = k.take("per-device-batch-size"), pieces = k.take("gradient-accumulation-steps");
  double per_device = 12;  // MaxText's default
  if (flag && (!flag->undecided.empty() || flag->values.size() != 1 || !is_number(flag->values[0], per_device) ||
               !(per_device > 0 && per_device < 1 << 20)))
    return invalid("is no number of sequences", k.place(*flag));
  std::int64_t steps = 1;
  if (pieces) {
    BUSBAR_ASSIGN(steps, k.count_of(*pieces));
  }
  const auto degree = [&](const char* key) { return static_cast<double>(k.number(key).value_or(1)); };
  const double micro = per_device * degree("layout.tp") * degree("layout.cp");
  if (std::abs(micro - std::round(micro)) > 1e-6 * micro || micro < 1 || micro > 1 << 30)
    return invalid(fmt::format("{:g} sequences for each group of TP x CP chips are no whole number", micro),
                   flag ? k.place(*flag) : k.file());
  k.set("layout.micro_batch", fmt::format("{:.0f}", micro));
  k.set("layout.global_batch", fmt::format("{:.0f}", micro * degree("layout.dp") * static_cast<double>(steps)));
  return {};
}

struct RematPolicy {
  std::string_view name, modules;  ///< what is computed again; "": everything
};
constexpr RematPolicy kPolicies[] = {{"full", ""},
                                     {"minimal_with_context", "act, layernorm"},
                                     {"minimal_flash", "act, layernorm"},
                                     {"minimal", "core_attn, act, layernorm"},
                                     {"minimal_offloaded", "core_attn, act, layernorm"},
                                     {"save_dot_with_context_except_mlp", "layernorm, mlp"},
                                     {"save_dot_except_mlp", "core_attn, layernorm, mlp"},
                                     {"save_dot_except_mlpwi", "core_attn, layernorm, mlp"},
                                     {"save_qkv_proj", "core_attn, layernorm, mlp"},
                                     {"qkv_proj_offloaded", "core_attn, layernorm, mlp"}};

Status read_remat(JobKeys& k) {
  const std::optional<JobFlag> flag = k.take("remat-policy");
  if (k.given("layout.recompute")) return {};
  const std::string name = flag && !flag->values.empty() ? flag->values[0] : "full";
  const auto policy =
      std::find_if(std::begin(kPolicies), std::end(kPolicies), [&](const RematPolicy& p) { return p.name == name; });
  if (name == "none") {
    k.set("layout.recompute", "none");
    return {};
  }
  if (policy == std::end(kPolicies))
    return invalid(fmt::format("the policy '{}' is not read; give --recompute", name), k.place(*flag));
  k.set("layout.recompute", policy->modules.empty() ? "full" : "selective");
  if (!policy->modules.empty()) k.set("layout.recompute_modules", fmt::format("[{}]", policy->modules));
  if (name.ends_with("offloaded")) k.set("layout.offload.activations", "true");
  return {};
}

void read_maxtext_precision(JobKeys& k) {
  const std::optional<JobFlag> flag = k.take("quantization");
  const std::string kind = flag && !flag->values.empty() ? lower(flag->values[0]) : "";
  const bool fp8 = kind.find("fp8") != std::string::npos, fp4 = kind.find("fp4") != std::string::npos;
  k.set("layout.precision", fp8 ? "fp8" : fp4 ? "fp4" : kind.starts_with("int8") ? "int8" : "bf16");
  const std::optional<JobFlag> weights = k.take("weight-dtype"), gradients = k.take("grad-dtype");
  const auto is_short = [](const std::optional<JobFlag>& f) {
    return f && f->values == std::vector<std::string>{"bfloat16"};
  };
  if (is_short(weights) || is_short(gradients)) k.set_unless("layout.gradient_bytes", "2");
}

std::string catalog_name(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
      {"deepseek3-671b", "deepseek-v3"},  {"llama3-405b", "llama3.1-405b"},       {"llama3.3-70b", "llama3.1-70b"},
      {"llama4-17b-16e", "llama4-scout"}, {"llama4-17b-128e", "llama4-maverick"}, {"gpt3-175b", "gpt3-175b"}};
  for (const auto& [theirs, ours] : kOtherNames)
    if (name == theirs) return std::string(ours);
  return name;
}

/// A model of the catalogue, or one by its sizes.
Status read_maxtext_model(JobKeys& k) {
  const std::optional<JobFlag> name = k.take("model-name"), mlp = k.take("mlp-activations"),
                               scale = k.take("global-parameter-scale");
  if (k.has_model()) return {};
  if (name && name->values.size() == 1 && name->values[0] != "default") {
    const std::string ours = catalog_name(lower(name->values[0]));
    if (!is_catalog_model(ours))
      return invalid(fmt::format("'{}' is no model of the catalogue; give --model", name->values[0]), k.place(*name));
    k.set_model(ours);
    return {};
  }
  if (scale && scale->values != std::vector<std::string>{"1"})
    return invalid("sizes that are multiplied are not read; give --model", k.place(*scale));
  for (const auto& [key, theirs] :
       {std::pair("model.layers", "base_num_decoder_layers"), std::pair("model.hidden", "base_emb_dim"),
        std::pair("model.heads", "base_num_query_heads"), std::pair("model.ffn", "base_mlp_dim"),
        std::pair("model.vocab", "vocab_size")})
    if (!k.has(key) && !k.given(key)) return k.missing(fmt::format("{} or model_name", theirs), "--model");
  k.set("model.name", k.stem());
  k.set_unless("model.head_dim", "128");  // MaxText's default
  k.set_unless("model.kv_heads", k.word("model.heads"));
  k.set("model.mlp",
        mlp && mlp->values.size() == 1 && mlp->values[0].find(',') == std::string::npos ? "plain" : "gated");
  k.set_unless("model.tied_embeddings", "false");
  if (k.number("model.moe.experts").value_or(1) > 1) {
    k.set_unless("model.moe.per_token", "1");
    k.set_unless("model.moe.ffn", k.word("model.ffn"));
  } else {
    for (const char* key :
         {"model.moe.experts", "model.moe.per_token", "model.moe.ffn", "model.moe.shared", "model.moe.dense_layers"})
      k.remove(key);
  }
  return {};
}

/// Keys whose value is as good as none change nothing.
void drop_empty(JobKeys& k) {
  constexpr std::string_view kNone[] = {"", "false", "none", "null", "0", "0.0", "-1", "-1.0", "[]", "''", "\"\""};
  std::erase_if(k.others, [&](const auto& other) {
    const JobFlag& f = other.second;
    return f.undecided.empty() && f.values.size() == 1 &&
           std::find(std::begin(kNone), std::end(kNone), lower(f.values[0])) != std::end(kNone);
  });
}

Status complete_maxtext(JobKeys& k) {
  read_optimizer(k, "opt-type");
  BUSBAR_RETURN_IF_ERROR(read_sharding(k));
  BUSBAR_RETURN_IF_ERROR(read_device_batch(k));
  BUSBAR_RETURN_IF_ERROR(read_remat(k));
  read_maxtext_precision(k);
  k.set_unless("layout.context", "all_gather");
  BUSBAR_RETURN_IF_ERROR(read_maxtext_model(k));
  drop_empty(k);
  return {};
}

/// "ici_fsdp_parallelism=8": a key and its value, and no path or setting of the shell.
bool is_setting(const std::string& word) {
  const std::size_t equals = word.find('=');
  return equals != std::string::npos && equals > 0 && std::islower(static_cast<unsigned char>(word[0])) != 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals),
                     [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_'; });
}

/// "--vocab_size=32000" of "--vocab_size=32_000", as YAML and Python write numbers.
void close_number(std::string& word) {
  const std::size_t begin = word.find('=') + 1;  // 0: it has no value
  const bool number = begin > 0 && begin < word.size() && std::isdigit(static_cast<unsigned char>(word[begin])) != 0 &&
                      word.find_first_not_of("0123456789_", begin) == std::string::npos;
  if (number) word.erase(std::remove(word.begin() + static_cast<std::ptrdiff_t>(begin), word.end(), '_'), word.end());
}

}  // namespace

JobProgram maxtext_job() { return {kMaxText.data(), complete_maxtext, maxtext_harmless}; }

bool is_maxtext(std::string_view text) {
  for (const std::string_view key :
       {"per_device_batch_size:", "base_emb_dim:", "ici_fsdp_parallelism:", "ici_tensor_parallelism:"})
    for (std::size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1))
      if (at == 0 || text[at - 1] == '\n') return true;
  return false;
}

ScriptCommand maxtext_command(const ScriptCommand& command) {
  const bool is_its = std::any_of(command.begin(), command.end(), [](const ScriptWord& w) {
    return lower(w.text).find(lower(kMaxText)) != std::string::npos;
  });
  ScriptCommand out = command;
  for (ScriptWord& w : out)
    if (is_its && is_setting(w.text)) w.text.insert(0, "--"), close_number(w.text);
  return out;
}

ScriptCommand maxtext_words(const YamlNode& root) {
  ScriptCommand out;
  for (std::size_t i = 0; i < root.size(); ++i)
    if (const YamlNode value = root.item(i); value.kind() == YamlNode::Kind::kScalar) {
      out.push_back({"--" + root.key(i) + "=" + value.scalar(), value.where().line, "", 0});
      close_number(out.back().text);
    }
  return out;
}

}  // namespace busbar::questions
