// RoCEv2 without congestion control: its window is far beyond what a network holds.
#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

void untuned_defaults(Profile& p, const Scale& scale) {
  roce_defaults(p, scale);
  p.hosts.control.max_window *= 16;
}

}  // namespace

Transport roce_transport() {
  return {{"roce", PacketTransport::kRoce, "RoCEv2 without congestion control: line rate until paused"},
          untuned_defaults,
          {}};
}

}  // namespace busbar::packet
