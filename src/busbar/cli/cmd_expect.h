// `busbar expect RESULTS --cluster C` and `busbar calibrate RESULTS --cluster C`: compare results with the expectation.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command expect_command(const std::string& typed);
Command calibrate_command(const std::string& typed);

}  // namespace busbar
