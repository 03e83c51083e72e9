#pragma once

#include <string>
#include <string_view>

namespace busbar::doctor {

/// The host of a line of NCCL, "0: host:pid:tid [3] NCCL INFO ..."; empty if the line has no such prefix.
std::string_view host_of_log_line(std::string_view line);

/// Host, process and GPU of such a line, "host:pid [3]"; empty if the line has no such prefix.
std::string gpu_of_log_line(std::string_view line);

}  // namespace busbar::doctor
