#include "busbar/packet/transport_names.h"

#include <algorithm>
#include <iterator>

namespace busbar::packet {
namespace {

// clang-format off: one row of the table per entry
constexpr PacketTransportName kNames[] = {
    {"nscc", PacketTransport::kNscc, "sender-based control in the style of Ultra Ethernet: marks, delay, trimming"},
    {"dcqcn", PacketTransport::kDcqcn, "RoCEv2 with DCQCN: rates by marks, pause frames"},
    {"hpcc", PacketTransport::kHpcc, "RoCEv2 with HPCC: windows by the load that switches report, pause frames"},
    {"roce", PacketTransport::kRoce, "RoCEv2 without congestion control: line rate until paused"},
    {"swift", PacketTransport::kSwift, "windows by delay; full queues drop"},
    {"ib", PacketTransport::kIb, "InfiniBand: credits, no congestion control"},
    {"tcp-cubic", PacketTransport::kTcpCubic, "TCP with CUBIC; full queues drop"},
    {"dctcp", PacketTransport::kDctcp, "TCP with DCTCP: windows by marks; full queues drop"},
    {"credit", PacketTransport::kCredit,
     "receiver-driven in the style of NDP and EQDS: paced by the receiver, trimming"}};
// clang-format on

}  // namespace

std::span<const PacketTransportName> packet_transports() { return kNames; }

const PacketTransportName* find_packet_transport(std::string_view name) {
  const auto at = std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& t) { return name == t.name; });
  return at == std::end(kNames) ? nullptr : at;
}

}  // namespace busbar::packet
