// Receivers grant every packet after the first window.
#include "busbar/packet/internal/collected.h"
#include "busbar/packet/internal/common_defaults.h"

namespace busbar::packet {
namespace {

/// Receiver-driven: one BDP at the line rate, then credits that the receiver paces at the rate of its own wire; small
/// queues that trim. Sources: Handley et al. (NDP), SIGCOMM 2017; Olteanu et al. (EQDS), NSDI 2022; queues: half a BDP.
void credit_defaults(Profile& p, const Scale& scale) {
  p.hosts.grants = true;
  p.hosts.control.max_window =
      whole_packets(scale.bdp, p.hosts.control.packet_bytes) + 4 * p.hosts.control.packet_bytes;
  p.network.trim = true;
  p.network.queue_bytes = whole_packets(scale.bdp / 2, p.hosts.control.packet_bytes);
}

}  // namespace

Transport credit_transport() {
  return {{"credit", PacketTransport::kCredit,
           "receiver-driven in the style of NDP and EQDS: paced by the receiver, trimming"},
          credit_defaults,
          {}};
}

}  // namespace busbar::packet
