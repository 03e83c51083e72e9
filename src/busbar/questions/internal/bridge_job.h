// Configurations of Megatron-Bridge, and overrides of its recipes, in the words of Megatron-LM.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/formats/launch_script.h"

namespace busbar::questions {

/// Whether a text is such a configuration: YAML with the maps `model` and `train`, and no `trainer`.
bool is_bridge(std::string_view text);

/// The flags of a whole configuration, or of a file of overrides.
Result<formats::ScriptCommand> bridge_words(const YamlNode& root, const std::string& file);

/// A command with overrides of a recipe ("model.tensor_model_parallel_size=8"): they as flags, behind its other words.
/// Nothing: it has none.
Result<std::optional<formats::ScriptCommand>> bridge_command(const formats::ScriptCommand& command,
                                                             const std::string& file);

}  // namespace busbar::questions
