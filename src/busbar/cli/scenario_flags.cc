#include "busbar/cli/scenario_flags.h"

#include "busbar/base/input.h"
#include "busbar/base/yaml.h"
#include "busbar/cli/session.h"
#include "busbar/formats/import.h"

namespace busbar {
namespace {

bool is_catalog_model(const std::string& word) { return Catalog().has("models", word); }

}  // namespace

Positional model_word(std::string& model) {
  return {"MODEL", "catalogue name or file", &model, false, nullptr, "", is_catalog_model};
}

Flag gpus_flag(std::uint32_t& gpus) {
  return {"-g,--gpus", "N", "the first N GPUs, on the servers that hold them; a preset without a size gets as many",
          "Scenario", &gpus};
}

std::vector<Positional> scenario_words(std::string& scenario, ScenarioFlags& flags) {
  std::vector<Positional> out{
      {"SCENARIO", "YAML file that names cluster, model and layout; or the machine", &scenario, false},
      cluster_word(flags.cluster, false)};
  out.back().help += "; after a machine: the model";
  return out;
}

namespace {

/// Whether a word names a machine: a preset, a file of another program, or YAML without a key of a scenario.
bool names_machine(const std::string& word) {
  if (!names_input(word)) return !word.empty() && word.find('/') == std::string::npos && !word.ends_with(".yaml");
  const Result<ImportSource> source = ImportSource::open(word);
  if (!source.ok()) return false;
  const FormatEntry* const format = find_format(source->head());
  if (format != nullptr && format->machine != nullptr) return true;
  const Result<YamlDocument> document = YamlDocument::load(word);
  if (!document.ok() || document->root().kind() != YamlNode::Kind::kMap) return false;
  const auto has = [&](const char* key) { return document->root().find(key).has_value(); };
  return !has("cluster") && !has("model") && !has("layout");
}

}  // namespace

void sort_scenario_words(std::string& scenario, ScenarioFlags& flags) {
  if (flags.model.empty() && is_catalog_model(scenario)) flags.model.swap(scenario);  // the model first
  if (!names_machine(scenario)) return;
  if (!flags.cluster.empty() && flags.model.empty()) flags.model.swap(flags.cluster);  // the second word
  if (flags.cluster.empty()) flags.cluster.swap(scenario);
}

std::vector<Flag> scenario_flags(ScenarioFlags& flags) {
  LayoutFlags& l = flags.degrees;
  return {
      {"--cluster", "CLUSTER", "preset, NAME:N or file; overrides the scenario's", "Scenario", &flags.cluster},
      {"--model", "MODEL", "catalogue name or file; overrides the scenario's", "Scenario", &flags.model},
      {"--layout", "FILE", "layout file; overrides the scenario's", "Scenario", &flags.layout},
      {"--framework", "NAME[:RELEASE]",
       "training framework whose defaults hold where no key of the layout is given, e.g. nemo or megatron-bridge:26.06 "
       "(default release: the newest); busbar catalog frameworks lists them",
       "Layout", &flags.framework},
      {"--recipe", "WHICH", "auto (default): as the framework's recipe for this model and GPU; none: without", "Layout",
       &flags.recipe, one_of("auto", "none")},
      {"--tp", "N", "tensor-parallel degree", "Layout", &l.tp},
      {"--pp", "N", "pipeline stages", "Layout", &l.pp},
      {"--vpp", "N", "model chunks per stage (interleaved 1F1B)", "Layout", &l.vpp},
      {"--dp", "N", "data-parallel replicas (default: from the remaining GPUs)", "Layout", &l.dp},
      {"--cp", "N", "context-parallel degree: ranks that share each sequence", "Layout", &l.cp},
      {"--ep", "N", "expert-parallel degree: ranks of TP x CP x DP that share the experts of a layer", "Layout", &l.ep},
      {"--seq", "TOKENS", "sequence length", "Layout", &l.seq},
      {"--micro-batch", "N", "sequences per micro-batch", "Layout", &l.micro_batch},
      {"--global-batch", "N", kGlobalBatchHelp, "Layout", &l.global_batch},
      {"--precision", "NAME", "bf16, fp16, fp8 or fp4", "Layout", &l.precision, one_of("bf16", "fp16", "fp8", "fp4")},
      {"--zero", "0-3", "shard 1: optimizer, 2: also gradients, 3: also parameters (FSDP)", "Layout", &l.zero,
       one_of("0", "1", "2", "3")},
      {"--offload", "WHAT", "kept in host memory: optimizer states, activations or both", "Layout", &l.offload,
       one_of("optimizer", "activations", "both", "none")},
      {"--recompute", "NAME", "none, selective, full, or auto: the least with which the step fits", "Layout",
       &l.recompute, one_of("none", "selective", "full", "auto")},
  };
}

}  // namespace busbar
