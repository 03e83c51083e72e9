#pragma once

#include <string>

namespace busbar::collectives {

/// The second name of a registered algorithm.
std::string other_name(const std::string& name);

}  // namespace busbar::collectives
