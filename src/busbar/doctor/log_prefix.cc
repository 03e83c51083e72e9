#include "busbar/doctor/internal/log_prefix.h"

namespace busbar {

std::string_view host_of_log_line(std::string_view line) {
  const std::size_t at = line.find(" NCCL ");
  if (at == line.npos) return {};
  std::string_view who = line.substr(0, at);
  if (const std::size_t device = who.rfind(" ["); device != who.npos) who = who.substr(0, device);
  who = who.substr(who.rfind(' ') + 1);
  if (const std::size_t mark = who.rfind('>'); mark != who.npos) who = who.substr(mark + 1);
  for (int number = 0; number < 2; ++number) {  // ":pid:tid"
    const std::size_t colon = who.rfind(':');
    if (colon == who.npos || who.find_first_not_of("0123456789", colon + 1) != who.npos) return {};
    who = who.substr(0, colon);
  }
  return who;
}

}  // namespace busbar
