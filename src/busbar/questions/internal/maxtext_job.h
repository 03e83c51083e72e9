// Configurations of MaxText, and the settings of its commands, as flags.
#pragma once

#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/formats/launch_script.h"

namespace busbar::questions {

/// Whether a text is such a configuration: YAML with keys of its base.yml.
bool is_maxtext(std::string_view text);

/// The settings of a command of MaxText ("ici_fsdp_parallelism=8") as flags; other commands as they are.
formats::ScriptCommand maxtext_command(const formats::ScriptCommand& command);

/// The keys of a configuration as flags; lists are left out.
formats::ScriptCommand maxtext_words(const YamlNode& root);

}  // namespace busbar::questions
