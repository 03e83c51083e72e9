#pragma once

#include <string_view>

namespace busbar {

/// The host of a line of NCCL, "0: host:pid:tid [3] NCCL INFO ..."; empty if the line has no such prefix.
std::string_view host_of_log_line(std::string_view line);

}  // namespace busbar
