// What is trained and how, in the words of other programs: optimizers, numbers of moments, adapters.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/yaml.h"
#include "busbar/formats/launch_script.h"
#include "busbar/questions/internal/job_keys.h"

namespace busbar::questions {

/// Takes `flag`, the name of an optimizer. One that is not modelled counts as AdamW, with a note.
void read_optimizer(JobKeys& k, const std::string& flag);
/// Takes both moments' data types; of two kinds the larger counts.
void read_moments(JobKeys& k, const std::string& first, const std::string& second);
/// Takes all flags of the table of adapters ("peft."), and reads its rank and matrices. Errors: at the rank.
Status read_adapters(JobKeys& k, const std::string& table, const std::string& rank, const std::string& targets);

inline constexpr std::string_view kPeft = "PEFT";
/// Whether a text is an adapter_config.json of Hugging Face's PEFT.
bool is_peft(std::string_view text);
/// Its keys as flags; lists are the words after their flag.
formats::ScriptCommand peft_words(const YamlNode& root);
JobProgram peft_job();

}  // namespace busbar::questions
