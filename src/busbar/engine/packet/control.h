// Congestion control at the sender: one small state per flow, one function per event, chosen by an enum.
#pragma once

#include <algorithm>
#include <cstdint>

#include "busbar/engine/packet/record.h"

namespace busbar::packet {

enum class Transport : std::uint8_t { kNscc, kDcqcn };

/// What is equal for all flows of a run.
struct ControlSettings {
  Transport transport = Transport::kNscc;
  double packet_bytes = 4160;  ///< a full packet on the wire
  double network_bdp = 0;      ///< bytes in flight that fill the longest route
  double max_window = 0;       ///< bytes
  Ps network_rtt = 0;          ///< of the longest route, idle
  Ps target_delay = 0;         ///< NSCC
};

/// News from the receiver.
struct News {
  Ps now = 0;
  Ps delay = 0;      ///< time in queues, there and back
  double bytes = 0;  ///< newly acknowledged
  bool marked = false;
};

struct Control {
  double window = 0;  ///< bytes that may be in flight
  Ps gap = 0;         ///< between packets, ps per wire byte x 2^10; 0: as fast as the wire
  Ps base_rtt = 0;
  Ps next_send = 0;
  // NSCC
  double increase = 0, pending = 0, average_delay = 0, achieved = 0, ignore = 0, fast = 0;
  Ps last_decrease = 0, period_end = 0;
  bool lost_in_period = false;
};

/// A flow begins.
void begin(Control& c, const ControlSettings& s, Ps now, Ps base_rtt);
void on_ack(Control& c, const ControlSettings& s, const News& news);
/// A packet came without its payload, or did not come.
void on_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight);
void on_timeout(Control& c, const ControlSettings& s, Ps now);

}  // namespace busbar::packet
