// The words and flags of every command with a scenario: one machine, one model, one layout.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/spec/scenario.h"

namespace busbar {

inline constexpr const char* kGlobalBatchHelp =
    "sequences per step (default: as published for the model, else about 4 M tokens)";

/// MODEL, which may stand before the machine.
Positional model_word(std::string& model);
/// -g: the first GPUs, on the servers that hold them (take_servers).
Flag gpus_flag(std::uint32_t& gpus);
/// SCENARIO, or a machine; then the machine, or a model.
std::vector<Positional> scenario_words(std::string& scenario, ScenarioFlags& flags);
/// Moves words to where they belong when the first one is a machine: "dgx-h100:8 llama3-8b".
void sort_scenario_words(std::string& scenario, ScenarioFlags& flags);
/// --cluster, --model, --layout, and the keys of a layout.
std::vector<Flag> scenario_flags(ScenarioFlags& flags);

}  // namespace busbar
