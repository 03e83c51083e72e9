// busbar rings: the rings, trees and NICs that NCCL would use.
#pragma once

#include "busbar/cli/flags.h"

namespace busbar {

Command rings_command(const std::string& typed);

}  // namespace busbar
