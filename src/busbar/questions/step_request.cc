#include "busbar/questions/step_request.h"

#include <iterator>
#include <optional>
#include <utility>

#include "busbar/base/input.h"
#include "busbar/base/yaml.h"
#include "busbar/formats/import.h"
#include "busbar/questions/machine_request.h"
#include "busbar/workload/trained_names.h"

namespace busbar::spec {
namespace {

template <typename S>
Field layout_field(const char* name, std::optional<std::int64_t> S::*degree, const char* value, const char* meaning) {
  return Field(name, degree, "", meaning).takes(value).of("Layout");
}
template <typename S>
Field layout_field(const char* name, std::optional<std::string> S::*list, const char* value, const char* meaning) {
  return Field(name, list, "", meaning).takes(value).of("Layout");
}
template <typename S>
Field layout_word(const char* name, std::optional<std::string> S::*word, const char* value, const char* meaning,
                  std::vector<std::string> words) {
  return Field(name, word, "", meaning).takes(value).of("Layout").among(std::move(words));
}

}  // namespace

const Record& record_of(const TrainedFlags*) {
  using T = TrainedFlags;
  const auto names = [](const auto& list) { return std::vector<std::string>(std::begin(list), std::end(list)); };
  static const Record record(
      "trained",
      {layout_field("lora_rank", &T::lora_rank, "N", "train adapters of this rank; all other weights are frozen"),
       layout_field("lora_targets", &T::lora_targets, "LIST",
                    "matrices with an adapter: q_proj,v_proj (default), attention, mlp, all-linear or linear_qkv"),
       layout_word("lora_base", &T::lora_base, "NAME", "frozen weights of layers: bf16, fp8, nf4 (QLoRA) or nvfp4",
                   names(workload::kBaseWeightNames)),
       layout_word("optimizer", &T::optimizer, "NAME", "adamw, sgd, lion, adafactor or muon",
                   names(workload::kOptimizerNames)),
       layout_word("moments", &T::moments, "NAME", "numbers of the optimizer's moments: fp32, bf16, fp8, int8, ...",
                   names(workload::kMomentNames)),
       layout_field("documents", &T::documents, "LIST",
                    "tokens of documents that share sequences, each as frequent as the others: 512,2048")});
  return record;
}

const Record& record_of(const LayoutFlags*) {
  using L = LayoutFlags;
  static const Record record(
      "layout",
      joined(
          {{layout_field("tp", &L::tp, "N", "tensor-parallel degree"),
            layout_field("pp", &L::pp, "N", "pipeline stages"),
            layout_field("vpp", &L::vpp, "N", "model chunks per stage (interleaved 1F1B)"),
            layout_field("dp", &L::dp, "N", "data-parallel replicas (default: from the remaining GPUs)"),
            layout_field("cp", &L::cp, "N", "context-parallel degree: ranks that share each sequence"),
            layout_field("ep", &L::ep, "N",
                         "expert-parallel degree: ranks of TP x CP x DP that share the experts of a layer"),
            layout_field("gpus_per_domain", &L::gpus_per_domain, "N",
                         "GPUs of each server or rack that take part; the others are spares (64 of the 72 of a rack)"),
            layout_field("seq", &L::seq, "TOKENS", "sequence length"),
            layout_field("micro_batch", &L::micro_batch, "N", "sequences per micro-batch"),
            layout_field("global_batch", &L::global_batch, "N", questions::kGlobalBatchMeaning),
            layout_word("precision", &L::precision, "NAME", "bf16, fp16, fp8, fp4 or int8",
                        {"bf16", "fp16", "fp8", "fp4", "int8"}),
            layout_field("zero", &L::zero, "0-3", "shard 1: optimizer, 2: also gradients, 3: also parameters (FSDP)")
                .among({"0", "1", "2", "3"}),
            layout_word("offload", &L::offload, "WHAT", "kept in host memory: optimizer states, activations or both",
                        {"optimizer", "activations", "both", "none"}),
            layout_word("recompute", &L::recompute, "NAME",
                        "none, selective, full, or auto: the least with which the step fits",
                        {"none", "selective", "full", "auto"})},
           fields_inside(&L::trained)}));
  return record;
}

const Record& record_of(const ScenarioFlags*) {
  using S = ScenarioFlags;
  static const Record record = [] {
    Field cluster = questions::cluster_field(&S::cluster, false);
    cluster.word_meaning += "; after a machine: the model";
    cluster.meaning = "preset, NAME:N or file; overrides the scenario's";
    return Record(
        "scenario",
        joined({{std::move(cluster).of("Scenario"),
                 Field("model", &S::model, "", "catalogue name or file; overrides the scenario's")
                     .takes("MODEL")
                     .of("Scenario"),
                 Field("layout", &S::layout, "", "layout file; overrides the scenario's").takes("FILE").of("Scenario"),
                 Field("framework", &S::framework, "",
                       "training framework whose defaults hold where no key of the layout is given, "
                       "e.g. nemo or megatron-bridge:26.06 (default release: the newest); "
                       "busbar catalog frameworks lists them")
                     .takes("NAME[:RELEASE]")
                     .of("Layout"),
                 Field("recipe", &S::recipe, "",
                       "auto (default): as the framework's recipe for this model and GPU; none: without")
                     .takes("WHICH")
                     .of("Layout")
                     .among({"auto", "none"})},
                fields_inside(&S::degrees)}));
  }();
  return record;
}

}  // namespace busbar::spec

namespace busbar::questions {

namespace {

/// Whether a word names a machine: a preset, a file of another program, or YAML without a key of a scenario.
bool names_machine(const std::string& word) {
  if (!names_input(word)) return !word.empty() && word.find('/') == std::string::npos && !word.ends_with(".yaml");
  const Result<formats::ImportSource> source = formats::ImportSource::open(word);
  if (!source.ok()) return false;
  const formats::FormatEntry* const format = formats::find_format(source->head());
  if (format != nullptr && format->machine != nullptr) return true;
  const Result<YamlDocument> document = YamlDocument::load(word);
  if (!document.ok() || document->root().kind() != YamlNode::Kind::kMap) return false;
  const auto has = [&](const char* key) { return document->root().find(key).has_value(); };
  return !has("cluster") && !has("model") && !has("layout");
}

}  // namespace

bool is_catalog_model(const std::string& word) { return spec::Catalog().has("models", word); }

void sort_scenario_words(std::string& scenario, spec::ScenarioFlags& flags) {
  if (flags.model.empty() && is_catalog_model(scenario)) flags.model.swap(scenario);  // the model first
  if (!names_machine(scenario)) return;
  if (!flags.cluster.empty() && flags.model.empty()) flags.model.swap(flags.cluster);  // the second word
  if (flags.cluster.empty()) flags.cluster.swap(scenario);
}

}  // namespace busbar::questions
