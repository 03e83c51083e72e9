#pragma once

#include <string>

namespace busbar {

/// Under which a registered algorithm is there a second time.
std::string other_name(const std::string& name);

}  // namespace busbar
