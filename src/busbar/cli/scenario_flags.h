// The words and flags of every command with a scenario: one machine, one model, one layout.
#pragma once

#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/spec/scenario.h"

namespace busbar {

/// MODEL, which may stand before the machine.
Positional model_word(std::string& model);
/// -g: the first GPUs, on the servers that hold them (take_servers).
Flag gpus_flag(std::uint32_t& gpus);
/// SCENARIO, or a machine; then the machine, or a model.
std::vector<Positional> scenario_words(std::string& scenario, ScenarioFlags& flags);
/// --cluster, --model, --layout, and the keys of a layout.
std::vector<Flag> scenario_flags(ScenarioFlags& flags);

}  // namespace busbar
