#include "busbar/questions/internal/job_trained.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "busbar/base/text.h"
#include "busbar/questions/internal/config_words.h"
#include "busbar/questions/step_request.h"

namespace busbar::questions {
namespace {

using TrainedWord = std::pair<std::string_view, std::string_view>;  // theirs, ours

/// Sources: Megatron-LM --optimizer; DeepSpeed runtime/config.py; MaxText opt_type; torchtitan optimizer.name; NeMo's
/// optim.name.
constexpr TrainedWord kOptimizers[] = {{"adam", "adamw"},
                                       {"adamw", "adamw"},
                                       {"adam_pax", "adamw"},
                                       {"fusedadam", "adamw"},
                                       {"fused_adam", "adamw"},
                                       {"distributed_fused_adam", "adamw"},
                                       {"mcore_distributed_optim", "adamw"},
                                       {"deepspeedcpuadam", "adamw"},
                                       {"sgd", "sgd"},
                                       {"lion", "lion"},
                                       {"fusedlion", "lion"},
                                       {"adafactor", "adafactor"},
                                       {"muon", "muon"},
                                       {"dist_muon", "muon"}};

constexpr TrainedWord kMomentWords[] = {{"fp32", "fp32"},    {"float32", "fp32"},  {"torch.float32", "fp32"},
                                        {"bf16", "bf16"},    {"bfloat16", "bf16"}, {"fp16", "bf16"},
                                        {"float16", "bf16"}, {"fp8", "fp8"}};

/// Matrices by the names of other models and programs. Sources: Megatron-Bridge peft/lora.py and canonical_lora.py;
/// NeMo peft_config; PEFT's default modules of Falcon, BLOOM, Phi-3, Mixtral and GPT-2.
constexpr TrainedWord kMatrixWords[] = {{"linear_q", "q_proj"},
                                        {"linear_k", "k_proj"},
                                        {"linear_v", "v_proj"},
                                        {"linear_fc1_up", "up_proj"},
                                        {"linear_fc1_gate", "gate_proj"},
                                        {"attention_qkv", "linear_qkv"},
                                        {"attention_dense", "linear_proj"},
                                        {"mlp_fc1", "linear_fc1"},
                                        {"mlp_fc2", "linear_fc2"},
                                        {"query_key_value", "linear_qkv"},
                                        {"qkv_proj", "linear_qkv"},
                                        {"c_attn", "linear_qkv"},
                                        {"dense", "linear_proj"},
                                        {"gate_up_proj", "linear_fc1"},
                                        {"dense_h_to_4h", "linear_fc1"},
                                        {"dense_4h_to_h", "linear_fc2"},
                                        {"w1", "gate_proj"},
                                        {"w3", "up_proj"},
                                        {"w2", "down_proj"}};

/// Ours for theirs; empty: it is not in the table.
template <std::size_t N>
std::string_view ours_of(const TrainedWord (&words)[N], std::string_view theirs) {
  const auto at =
      std::find_if(std::begin(words), std::end(words), [&](const TrainedWord& w) { return w.first == theirs; });
  return at == std::end(words) ? "" : at->second;
}

/// "[a,b]" of the words of a flag, which may be lists themselves.
std::string matrices_of(const JobFlag& flag) {
  std::string out;
  for (std::string value : flag.values) {
    std::replace_if(
        value.begin(), value.end(), [](char c) { return std::string_view("[]'\" ").find(c) != std::string_view::npos; },
        ',');
    for (const std::string_view name : split_at(value, ','))
      if (const std::string_view ours = ours_of(kMatrixWords, name); !name.empty())
        append_word(out, ours.empty() ? name : ours);
  }
  return "[" + out + "]";
}

}  // namespace

void read_optimizer(JobKeys& k, const std::string& flag) {
  const std::optional<JobFlag> name = k.take(flag);
  if (!name || name->values.empty()) return;
  const std::string word = lower(name->values[0]);
  const std::string_view ours = ours_of(kOptimizers, word);
  if (ours.empty()) k.note(fmt::format("the optimizer {} is counted as AdamW", name->values[0]));
  if (ours.empty() || ours == "adamw") return;
  k.set("layout.optimizer", std::string(ours), k.place(*name));
  if (word != "dist_muon") return;  // Megatron-LM: its layer-wise optimizer deals out whole matrices
  k.set("layout.zero", "1", k.place(*name));
  k.set("layout.whole_tensors", "true", k.place(*name));
}

void read_moments(JobKeys& k, const std::string& first, const std::string& second) {
  constexpr std::string_view kBySize[] = {"fp8", "bf16", "fp32"};
  std::size_t larger = 0;
  std::optional<JobFlag> given;
  for (const std::string& flag : {first, second}) {
    std::optional<JobFlag> type = k.take(flag);
    const std::string_view ours =
        type && !type->values.empty() ? ours_of(kMomentWords, lower(type->values[0])) : "fp32";
    larger =
        std::max<std::size_t>(larger, std::find(std::begin(kBySize), std::end(kBySize), ours) - std::begin(kBySize));
    if (type) given = std::move(type);
  }
  if (given && larger < std::size(kBySize) - 1) k.set("layout.moments", std::string(kBySize[larger]), k.place(*given));
}

Status read_adapters(JobKeys& k, const std::string& table, const std::string& rank, const std::string& targets) {
  const std::optional<JobFlag> r = k.take(table + rank), matrices = k.take(table + targets);
  std::erase_if(k.others, [&](const auto& flag) { return flag.first.starts_with(table); });
  if (!r) return {};
  BUSBAR_ASSIGN(const std::int64_t n, k.count_of(*r));
  k.set("layout.lora_rank", std::to_string(n), k.place(*r));
  if (matrices) k.set("layout.lora_targets", matrices_of(*matrices), k.place(*matrices));
  return {};
}

// -- PEFT

bool is_peft(std::string_view text) { return text.find("\"peft_type\"") != std::string_view::npos; }

formats::ScriptCommand peft_words(const YamlNode& root) {
  Scalars keys;
  add_scalars(root, "", keys);
  add_lists(root, "", keys);
  formats::ScriptCommand out;
  for (const auto& [key, word] : keys)
    if (!is_nothing(word.text)) out.push_back({"--" + key + "=" + word.text, word.line, "", 0});
  return out;
}

namespace {

bool peft_harmless(const std::string&) { return true; }

/// "llama-2-7b" of "meta-llama/Llama-2-7b", where the catalogue has it.
void take_base_model(JobKeys& k) {
  const std::optional<JobFlag> base = k.take("base-model-name-or-path");
  if (!base || base->values.empty() || k.has_model()) return;
  const std::string name = lower(base->values[0].substr(base->values[0].rfind('/') + 1));
  if (is_catalog_model(name)) k.set_model(name);
}

Status complete_peft(JobKeys& k) {
  const std::optional<JobFlag> type = k.take("peft-type");
  if (type && type->values != std::vector<std::string>{"LORA"})
    return invalid(fmt::format("'{}' is not modelled; adapters are those of LoRA", type->values[0]), k.place(*type));
  take_base_model(k);
  if (k.take("use-dora")) k.note("the magnitudes of DoRA are not counted");
  for (const char* key : {"modules-to-save", "layers-to-transform", "rank-pattern", "bias"})
    if (const auto flag = k.take(key); flag && flag->values != std::vector<std::string>{"none"})
      k.note(fmt::format("{} is not read: each layer has adapters of one rank, and nothing else is trained", key));
  k.note("the file does not say how frozen weights are stored; bf16 is taken unless --lora-base is given");
  if (k.others.find("r") == k.others.end()) return k.missing("r", "--lora-rank");
  return read_adapters(k, "", "r", "target-modules");
}

}  // namespace

JobProgram peft_job() { return {kPeft.data(), complete_peft, peft_harmless}; }

}  // namespace busbar::questions
