// `busbar catalog [NAME]`: the content of the catalogue; every figure of an entry with unit, source and confidence.
#pragma once

#include <string>

#include "busbar/cli/flags.h"

namespace busbar {

Command catalog_command(const std::string& typed);

}  // namespace busbar
