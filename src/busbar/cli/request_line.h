// A request as the command line that gives the same answer.
#pragma once

#include <string>

#include "busbar/predict/request.h"

namespace busbar {

/// "busbar collective dgx-h100:2 all_reduce -b 1048576 -e 1048576 --ranks 0:16 --nccl 2.30", quoted for a shell.
std::string request_line(const CollectiveRequest& request);

}  // namespace busbar
