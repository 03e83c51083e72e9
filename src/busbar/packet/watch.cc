#include "busbar/packet/watch.h"

#include <iterator>

namespace busbar::packet {

const char* name_of(PacketEvent event) {
  constexpr const char* kNames[] = {"started", "sent",     "resent", "queued",       "marked",  "trimmed",
                                    "dropped", "received", "acked",  "not_received", "timeout", "ended"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(PacketEvent::kEnded) + 1);
  return kNames[static_cast<std::size_t>(event)];
}

}  // namespace busbar::packet
