#pragma once

#include <memory>

#include "busbar/cli/flags.h"

namespace busbar {

/// `busbar collective CLUSTER OP`: a table like that of nccl-tests, with floors and the limit at each size.
Command collective_command(const std::string& typed);

}  // namespace busbar
