#include "busbar/engine/packet/control.h"

#include "busbar/engine/packet/nscc.h"

namespace busbar::packet {

void begin(Control& c, const ControlSettings& s, Ps now, Ps base_rtt) {
  c = Control{};
  c.base_rtt = base_rtt;
  c.window = s.max_window;
  if (s.transport == Transport::kNscc) nscc_begin(c, s, now);
}

void on_ack(Control& c, const ControlSettings& s, const News& news) {
  if (s.transport == Transport::kNscc) nscc_ack(c, s, news);
}

void on_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight) {
  if (s.transport == Transport::kNscc) nscc_loss(c, s, now, bytes, in_flight);
}

void on_timeout(Control& c, const ControlSettings& s, Ps) {
  if (s.transport == Transport::kNscc) c.window = s.packet_bytes;
}

}  // namespace busbar::packet
