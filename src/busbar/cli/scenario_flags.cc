#include "busbar/cli/scenario_flags.h"

#include "busbar/cli/question_command.h"
#include "busbar/cli/session.h"
#include "busbar/questions/step_request.h"

namespace busbar {

Positional model_word(std::string& model) {
  return {"MODEL", "catalogue name or file", &model, false, nullptr, "", questions::is_catalog_model};
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

std::vector<Flag> scenario_flags(ScenarioFlags& flags) { return flags_of(record_of(&flags), &flags); }

}  // namespace busbar
