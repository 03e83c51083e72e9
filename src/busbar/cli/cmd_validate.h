// `busbar validate FILE.csv`: predicts measured rows and shows the errors.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command validate_command(const std::string& typed);

}  // namespace busbar
