// The words and flags of every command with a scenario: one machine, one model, one layout.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/spec/scenario.h"

namespace busbar {

/// SCENARIO, or a machine; then the machine, or a model.
std::vector<Positional> scenario_words(std::string& scenario, ScenarioFlags& flags);
/// Moves words to where they belong when the first one is a machine: "dgx-h100:8 llama3-8b".
void sort_scenario_words(std::string& scenario, ScenarioFlags& flags);
/// --cluster, --model, --layout, and the keys of a layout.
std::vector<Flag> scenario_flags(ScenarioFlags& flags);

}  // namespace busbar
