// A layout as the flags of `busbar train` that give it.
#pragma once

#include <string>

#include "busbar/workload/layout.h"

namespace busbar::plan {

/// "--tp 8 --pp 1 ...": what a search chooses.
std::string layout_flags(const workload::LayoutSpec& layout);
/// "act, layernorm".
std::string modules_text(const workload::RecomputeModules& modules);

}  // namespace busbar::plan
