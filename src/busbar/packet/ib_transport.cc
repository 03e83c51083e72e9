// InfiniBand: credits, no congestion control.
#include "busbar/packet/internal/collected.h"

namespace busbar::packet {
namespace {

/// Buffers of two round trips of the longest cable and two packets, so that credits never limit a stream: an
/// assumption, since vendors do not publish them. No window: hosts send while there are credits. The responder reports
/// the first missing packet and discards later ones: InfiniBand Architecture Specification 1.6, vol. 1, section 9.7.
/// Links repeat what they lose: NVIDIA MLNX-OS User Manual 3.11.4002, "UNBREAKABLE-LINK" (link-level retransmission
/// between NVIDIA's ports).
void ib_defaults(Profile& p, const Scale& scale) {
  p.hosts.control.max_window = 16 * scale.bdp;
  p.hosts.recovery = Recovery::kGoBack;
  p.hosts.timeout = 4'000'000'000;
  p.network.lossless = Lossless::kCredits;
  p.network.link_retry = true;
  p.network.credit_bytes = static_cast<std::int32_t>(4 * static_cast<double>(scale.longest_cable) * scale.line_rate) +
                           4 * p.network.packet_bytes;
}

}  // namespace

Transport ib_transport() {
  return {{"ib", PacketTransport::kIb, "InfiniBand: credits, no congestion control"}, ib_defaults, {}};
}

}  // namespace busbar::packet
