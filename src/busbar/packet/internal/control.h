// Congestion control at the sender: one small state per flow, and one function per event, which each transport has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "busbar/packet/internal/record.h"

namespace busbar::packet {

struct Control;
struct ControlSettings;
struct AckReport;
/// How a transport's senders react; null: not at all.
struct ControlLaw {
  /// A flow begins. `bdp`: bytes in flight that fill its own idle route.
  void (*begin)(Control& c, const ControlSettings& s, Ps now, double bdp) = nullptr;
  void (*ack)(Control& c, const ControlSettings& s, const AckReport& report) = nullptr;
  /// A packet was trimmed or lost.
  void (*loss)(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight) = nullptr;
  void (*timeout)(Control& c, const ControlSettings& s, Ps now) = nullptr;
  /// Before a packet is sent at `now`: updates state that depends on time.
  void (*clock)(Control& c, const ControlSettings& s, Ps now) = nullptr;
};

/// Source: Ultra Ethernet Specification 1.0, 3.6.13, reference parameters; packets are those of the network.
struct NsccConstants {
  double alpha = 4, fair = 5;  ///< packets of increase, proportional to spare delay and constant
  double steady = 0.15;        ///< packets of increase per round trip, whatever the delay
  double fast = 0.25;          ///< share of the bytes that arrived without delay
  double gamma = 0.8;          ///< decrease per share of delay above the target
  double most_cut = 0.5;       ///< largest share of the window that one decrease takes
  double average = 0.0125;     ///< weight of a new delay in the average
  Ps no_delay = 1'000'000;     ///< less counts as none
};
/// Source: those published with HPCC (SIGCOMM 2019) for its comparison; steps scaled from 25 to 400 Gb/s as there.
struct DcqcnConstants {
  double gain = 1.0 / 256;
  Ps alpha_every = 1'000'000, cut_every = 4'000'000, increase_every = 300'000'000;
  double additive = 50e6 / 8, hyper = 100e6 / 8, least = 1e9 / 8;  ///< bytes per second
  std::uint32_t fast_stages = 1;  ///< increases towards the target before additive ones
};

/// Settings that all flows of a run share.
struct ControlSettings {
  ControlLaw law;
  double packet_bytes = 4160;        ///< a full packet on the wire
  double network_bdp = 0;            ///< bytes in flight that fill the longest route
  double max_window = 0;             ///< bytes
  double first_window = 0;           ///< bytes, for algorithms that start with a smaller window
  double line_rate = 0;              ///< bytes per ps of the hosts' links
  Ps network_rtt = 0;                ///< of the longest route, idle
  Ps target_delay = 0;               ///< for algorithms controlled by delay
  bool window_follows_rate = false;  ///< DCQCN: the window shrinks with the rate
  NsccConstants nscc;
  DcqcnConstants dcqcn;
  double hpcc_aim = 0.95;        ///< Li et al., SIGCOMM 2019, as the next
  std::uint32_t hpcc_steps = 5;  ///< additive increases before a multiplicative one
  double hpcc_flows = 32;        ///< that the additive increase allows for
  double swift_beta = 0.8;       ///< Kumar et al., SIGCOMM 2020, as the next two
  double swift_additive = 1;     ///< packets per round trip
  double swift_most_cut = 0.5;   ///< largest share of the window that one decrease takes
  double cubic_scale = 0.4;      ///< RFC 9438, 5.1
  double cubic_left = 0.7;       ///< after a loss: RFC 9438, 4.6
  double dctcp_gain = 1.0 / 16;  ///< RFC 8257, 4.2
};

/// What an answer of the receiver reports.
struct AckReport {
  Ps now = 0;
  Ps delay = 0;                            ///< time in queues, both ways
  double bytes = 0;                        ///< newly acknowledged
  double marked = 0;                       ///< bytes of marked packets among `bytes`
  double in_flight = 0;                    ///< bytes
  double load = 0;                         ///< HPCC: of the fullest link on the path, 1 = full without a queue
  bool last_marked = false;                ///< whether the answered packet was marked
  std::uint32_t next = 0, all_before = 0;  ///< first packet never sent; all before `all_before` have arrived
};

struct Control {
  double window = 0;  ///< bytes that may be in flight
  Ps gap = 0;         ///< between packets, ps per wire byte x 2^10; 0: as fast as the wire
  Ps base_rtt = 0, next_send = 0;
  Ps last_decrease = 0, period_end = 0;
  std::uint32_t round_end = 0;  ///< the round ends when this packet arrives
  bool lost_in_period = false, slow_start = true;
  // The file of each transport says how it uses these.
  double a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  double most = 0;  ///< largest window, if each flow has its own
  Ps t1 = 0, t2 = 0, t3 = 0;
  std::uint32_t stage = 0;
  bool flag1 = false, flag2 = false;
};

inline void begin(Control& c, const ControlSettings& s, Ps now, Ps base_rtt, double bdp) {
  c = Control{};
  c.base_rtt = base_rtt;
  c.window = s.first_window > 0 ? s.first_window : s.max_window;
  if (s.law.begin != nullptr) s.law.begin(c, s, now, bdp);
}
inline void on_ack(Control& c, const ControlSettings& s, const AckReport& report) {
  if (s.law.ack != nullptr) s.law.ack(c, s, report);
}
inline void on_loss(Control& c, const ControlSettings& s, Ps now, double bytes, double in_flight) {
  if (s.law.loss != nullptr) s.law.loss(c, s, now, bytes, in_flight);
}
inline void on_timeout(Control& c, const ControlSettings& s, Ps now) {
  if (s.law.timeout != nullptr) s.law.timeout(c, s, now);
}
inline void before_send(Control& c, const ControlSettings& s, Ps now) {
  if (s.law.clock != nullptr) s.law.clock(c, s, now);
}

}  // namespace busbar::packet
