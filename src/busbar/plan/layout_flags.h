// A layout as the flags of `busbar train` that give it.
#pragma once

#include <string>

#include "busbar/workload/layout.h"

namespace busbar {

/// "--tp 8 --pp 1 ...": what a search chooses.
std::string layout_flags(const LayoutSpec& layout);
/// "act, layernorm".
std::string modules_text(const RecomputeModules& modules);

}  // namespace busbar
