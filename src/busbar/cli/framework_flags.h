// A layout in the words of other programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "busbar/workload/layout.h"

namespace busbar {

/// Per program its name and the flags that run the layout, followed by what the program cannot do of it.
std::vector<std::pair<std::string, std::string>> framework_flags(const LayoutSpec& l);

}  // namespace busbar
