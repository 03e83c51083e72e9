// Configurations of NeMo's training on Megatron-core, in the words of Megatron-LM.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/formats/launch_script.h"

namespace busbar::questions {

/// Whether a text is such a configuration: YAML with the maps `trainer` and `model`.
bool is_nemo(std::string_view text);

/// Its keys as flags. Keys of `model` that are not known, with a value, are flags of their own name. Errors: a
/// precision that Megatron-LM has no flag for.
Result<formats::ScriptCommand> nemo_words(const YamlNode& root, const std::string& file);

}  // namespace busbar::questions
