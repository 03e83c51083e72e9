#include "busbar/packet/internal/profile.h"

#include "busbar/packet/internal/knobs.h"

namespace busbar::packet {
namespace {

std::uint32_t whole_packets(double bytes, double packet) {
  return static_cast<std::uint32_t>(bytes / packet + 0.9999) * static_cast<std::uint32_t>(packet);
}

/// Source: Ultra Ethernet Specification 1.0, 3.6.13: queues of one BDP, marks from 0.2 to 0.8 of them, target 0.75 RTT.
void nscc(Profile& p, const Scale& scale) {
  p.hosts.control.algorithm = Algorithm::kNscc;
  p.hosts.control.max_window = 1.5 * scale.bdp;
  p.hosts.control.target_delay = scale.rtt * 3 / 4;
  p.network.trim = true;
  p.network.queue_bytes = whole_packets(scale.bdp, p.hosts.control.packet_bytes);
  p.network.mark_low = static_cast<std::uint32_t>(0.2 * p.network.queue_bytes);
  p.network.mark_high = static_cast<std::uint32_t>(0.8 * p.network.queue_bytes);
}

/// Source: the settings published with HPCC (SIGCOMM 2019), scaled to the line rate as there: 32 MB a switch, dynamic
/// threshold 1/8, headroom of three BDP, marks from 800 to 3,200 kB at 400 Gb/s with at most 0.2; window of one BDP
/// that follows the rate.
void roce(Profile& p, const Scale& scale, Algorithm algorithm) {
  const double faster = scale.line_rate / 0.05;  // than 400 Gb/s
  p.hosts.control.algorithm = algorithm;
  p.hosts.recovery = Recovery::kGoBack;
  p.hosts.control.window_follows_rate = algorithm == Algorithm::kDcqcn;
  // One more packet for each that an acknowledgement may be late by.
  const double window = scale.bdp + p.hosts.packets_per_ack * p.hosts.control.packet_bytes;
  p.hosts.control.max_window = algorithm == Algorithm::kNone ? 16 * window : window;
  p.hosts.timeout = 4'000'000'000;  // far beyond any pause: only faults lose packets here
  p.network.lossless = Lossless::kPause;
  p.network.buffer_bytes = 32'000'000;
  p.network.headroom_bytes = static_cast<std::int64_t>(3 * scale.bdp);
  p.network.resume_below = 2 * p.network.packet_bytes;
  if (algorithm == Algorithm::kDcqcn) {
    p.network.mark_low = static_cast<std::uint32_t>(800'000 * faster);
    p.network.mark_high = static_cast<std::uint32_t>(3'200'000 * faster);
    p.network.mark_most = (std::uint64_t{1} << 32) / 5;
  }
  if (algorithm == Algorithm::kHpcc) p.network.load_over = scale.rtt;
}

/// Buffers of two round trips of the longest cable and two packets, so that credits never limit a stream: an
/// assumption, since vendors do not publish them. No window: hosts send while there are credits. The responder reports
/// the first missing packet and discards later ones: InfiniBand Architecture Specification 1.6, vol. 1, section 9.7.
void infiniband(Profile& p, const Scale& scale) {
  p.hosts.control.algorithm = Algorithm::kNone;
  p.hosts.control.max_window = 16 * scale.bdp;
  p.hosts.recovery = Recovery::kGoBack;
  p.hosts.timeout = 4'000'000'000;
  p.network.lossless = Lossless::kCredits;
  p.network.credit_bytes = static_cast<std::int32_t>(4 * static_cast<double>(scale.longest_cable) * scale.line_rate) +
                           4 * p.network.packet_bytes;
}

/// Sources: RFC 6928 (initial window of ten segments), RFC 5681 (one acknowledgement per two), RFC 8257 and "Data
/// center TCP", eq. 13 (marks above a seventh of the BDP; a quarter here). Queues of 1,000 packets and a timeout of at
/// least 200 us are the usual settings when packet simulators are compared.
void tcp(Profile& p, const Scale& scale, Algorithm algorithm) {
  p.hosts.control.algorithm = algorithm;
  p.hosts.recovery = Recovery::kSelective;
  p.hosts.packets_per_ack = 2;
  p.hosts.timeout = std::max<Ps>(200'000'000, 4 * scale.rtt);
  p.hosts.control.first_window = 10 * p.hosts.control.packet_bytes;
  p.hosts.control.max_window = 8 * scale.bdp;
  p.network.queue_bytes = 1000 * static_cast<std::uint32_t>(p.hosts.control.packet_bytes);
  if (algorithm == Algorithm::kDctcp)
    p.network.mark_low = p.network.mark_high = static_cast<std::uint32_t>(scale.bdp / 4);
}

/// Source: Kumar et al., SIGCOMM 2020: target delay; half a round trip here. Losses are handled as in TCP.
void swift(Profile& p, const Scale& scale) {
  tcp(p, scale, Algorithm::kSwift);
  p.hosts.control.first_window = scale.bdp;
  p.hosts.control.max_window = 2 * scale.bdp;
  p.hosts.control.target_delay = scale.rtt / 2;
}

/// Receiver-driven: one BDP at the line rate, then credits that the receiver paces at the rate of its own wire; small
/// queues that trim. Sources: Handley et al. (NDP), SIGCOMM 2017; Olteanu et al. (EQDS), NSDI 2022; queues: half a BDP.
void credit(Profile& p, const Scale& scale) {
  p.hosts.control.algorithm = Algorithm::kCredit;
  p.hosts.control.max_window =
      whole_packets(scale.bdp, p.hosts.control.packet_bytes) + 4 * p.hosts.control.packet_bytes;
  p.network.trim = true;
  p.network.queue_bytes = whole_packets(scale.bdp / 2, p.hosts.control.packet_bytes);
}

}  // namespace

Profile make_profile(const PacketOptions& options, const Scale& scale) {
  Profile p;
  p.hosts.spray = options.balance == PacketBalance::kSpray || options.balance == PacketBalance::kAdaptive;
  p.hosts.seed = p.network.seed = options.seed;
  const HostSettings shape = shape_of(options);
  p.hosts.payload = shape.payload;
  p.hosts.header = p.network.header_bytes = shape.header;
  p.hosts.control.packet_bytes = shape.control.packet_bytes;
  p.network.packet_bytes = static_cast<std::int32_t>(shape.payload + shape.header);
  p.hosts.timeout = 100'000'000;
  p.hosts.control.network_bdp = scale.bdp;
  p.hosts.control.network_rtt = scale.rtt;
  p.hosts.control.line_rate = scale.line_rate;
  p.network.adaptive = options.balance == PacketBalance::kAdaptive;
  p.network.cut_through = options.cut_through;
  p.network.lanes = p.hosts.lanes = options.lanes;
  if (options.balance == PacketBalance::kFlowlet)
    p.network.flowlet_gap = options.flowlet_gap > Duration() ? options.flowlet_gap.in_ps() : scale.rtt;
  switch (options.transport) {
    case PacketTransport::kNscc:
      nscc(p, scale);
      break;
    case PacketTransport::kDcqcn:
      roce(p, scale, Algorithm::kDcqcn);
      break;
    case PacketTransport::kHpcc:
      roce(p, scale, Algorithm::kHpcc);
      break;
    case PacketTransport::kRoce:
      roce(p, scale, Algorithm::kNone);
      break;
    case PacketTransport::kSwift:
      swift(p, scale);
      break;
    case PacketTransport::kIb:
      infiniband(p, scale);
      break;
    case PacketTransport::kTcpCubic:
      tcp(p, scale, Algorithm::kCubic);
      break;
    case PacketTransport::kCredit:
      credit(p, scale);
      break;
    case PacketTransport::kDctcp:
      tcp(p, scale, Algorithm::kDctcp);
      break;
  }
  if (p.hosts.spray) {
    p.hosts.recovery = Recovery::kTrimming;  // a gap proves no loss if paths reorder
    if (p.network.lossless == Lossless::kNo)
      p.hosts.gap_packets = std::max(16u, static_cast<std::uint32_t>(scale.bdp / p.hosts.control.packet_bytes));
  }
  return p;
}

}  // namespace busbar::packet
