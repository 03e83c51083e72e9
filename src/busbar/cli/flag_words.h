// Flags of other programs for what a flag of ours sets.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace busbar {

/// The flag of `known` that sets what `flag` sets in Megatron-LM, DeepSpeed, torchtitan, NeMo or usual speech; or
/// empty.
std::string flag_for_word(std::string_view flag, const std::vector<std::string>& known);

}  // namespace busbar
