#include "busbar/doctor/internal/log_prefix.h"

namespace busbar::doctor {
namespace {

struct LogPrefix {
  std::string_view host, process;  ///< "n1", "n1:10"
  std::string_view device;         ///< "[3]"; may be empty
};

/// Takes ":NUMBER" from the end.
bool drop_number(std::string_view& who) {
  const std::size_t colon = who.rfind(':');
  if (colon == who.npos || who.find_first_not_of("0123456789", colon + 1) != who.npos) return false;
  who = who.substr(0, colon);
  return true;
}

/// The prefix of "0: host:pid:tid [3] NCCL INFO ...", and of "... [3] misc/socket.cc:49 NCCL WARN ...".
LogPrefix prefix_of(std::string_view line) {
  const std::size_t at = line.find(" NCCL ");
  if (at == line.npos) return {};
  LogPrefix out;
  std::string_view who = line.substr(0, at);
  if (const std::size_t device = who.rfind(" ["); device != who.npos) {
    out.device = who.substr(device + 1, who.find(']', device) - device);
    who = who.substr(0, device);
  }
  who = who.substr(who.rfind(' ') + 1);
  if (const std::size_t mark = who.rfind('>'); mark != who.npos) who = who.substr(mark + 1);
  if (!drop_number(who)) return {};
  out.process = who;
  if (!drop_number(who)) return {};
  out.host = who;
  return out;
}

}  // namespace

std::string_view host_of_log_line(std::string_view line) { return prefix_of(line).host; }

std::string gpu_of_log_line(std::string_view line) {
  const LogPrefix prefix = prefix_of(line);
  if (prefix.host.empty()) return {};
  return std::string(prefix.process) + (prefix.device.empty() ? "" : " " + std::string(prefix.device));
}

}  // namespace busbar::doctor
