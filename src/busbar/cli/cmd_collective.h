#pragma once

#include <memory>

#include "busbar/cli/flags.h"

namespace busbar {

/// `busbar collective CLUSTER OP`: a table like nccl-tests', with floors and what bounds each size.
Command collective_command(const std::string& typed);

}  // namespace busbar
