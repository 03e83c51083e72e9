#include "busbar/cli/scenario_flags.h"

#include "busbar/base/input.h"
#include "busbar/cli/session.h"

namespace busbar {

std::vector<Positional> scenario_words(std::string& scenario, ScenarioFlags& flags) {
  std::vector<Positional> out{
      {"SCENARIO", "YAML file that names cluster, model and layout; or the machine", &scenario, false},
      cluster_word(flags.cluster, false)};
  out.back().help += "; after a machine: the model";
  return out;
}

void sort_scenario_words(std::string& scenario, ScenarioFlags& flags) {
  const bool no_file = !scenario.empty() && !names_input(scenario) && !scenario.ends_with(".yaml");
  if (no_file && !flags.cluster.empty() && flags.model.empty()) flags.model.swap(flags.cluster);  // 2nd word
  if (no_file && flags.cluster.empty() && !flags.model.empty()) flags.cluster.swap(scenario);
}

std::vector<Flag> scenario_flags(ScenarioFlags& flags) {
  LayoutFlags& l = flags.degrees;
  return {
      {"--cluster", "CLUSTER", "preset, NAME:N or file; overrides the scenario's", "Scenario", &flags.cluster},
      {"--model", "MODEL", "catalogue name or file; overrides the scenario's", "Scenario", &flags.model},
      {"--layout", "FILE", "layout file; overrides the scenario's", "Scenario", &flags.layout},
      {"--tp", "N", "tensor-parallel degree", "Layout", &l.tp},
      {"--pp", "N", "pipeline stages", "Layout", &l.pp},
      {"--vpp", "N", "model chunks per stage (interleaved 1F1B)", "Layout", &l.vpp},
      {"--dp", "N", "data-parallel replicas (default: from the remaining GPUs)", "Layout", &l.dp},
      {"--cp", "N", "context-parallel degree: ranks that share each sequence", "Layout", &l.cp},
      {"--ep", "N", "expert-parallel degree: ranks of TP x CP x DP that share the experts of a layer", "Layout", &l.ep},
      {"--seq", "TOKENS", "sequence length", "Layout", &l.seq},
      {"--micro-batch", "N", "sequences per micro-batch", "Layout", &l.micro_batch},
      {"--global-batch", "N", "sequences per step", "Layout", &l.global_batch},
      {"--precision", "NAME", "bf16, fp16, fp8 or fp4", "Layout", &l.precision, {"bf16", "fp16", "fp8", "fp4"}},
      {"--zero",
       "0-3",
       "shard 1: optimizer, 2: also gradients, 3: also parameters (FSDP)",
       "Layout",
       &l.zero,
       {"0", "1", "2", "3"}},
      {"--offload",
       "WHAT",
       "kept in host memory: optimizer states, activations or both",
       "Layout",
       &l.offload,
       {"optimizer", "activations", "both", "none"}},
      {"--recompute", "NAME", "none, selective or full", "Layout", &l.recompute, {"none", "selective", "full"}},
  };
}

}  // namespace busbar
