#include "busbar/views/packet_counts.h"

#include <fmt/core.h>

namespace busbar::views {

std::string trouble_of(const packet::PacketCounts& x) {
  return fmt::format("{} marked, {} trimmed, {} dropped, {} sent again, {} pauses, {} timeouts", x.marks, x.trims,
                     x.drops, x.resent, x.pauses, x.timeouts);
}

}  // namespace busbar::views
