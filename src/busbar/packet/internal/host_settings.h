// How hosts make packets, acknowledge and resend.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/internal/control.h"
#include "busbar/packet/internal/flow_log.h"

namespace busbar::packet {

/// What a receiver does about missing packets.
enum class Recovery : std::uint8_t {
  kTrimming,   ///< nothing: switches trim packets and forward the headers, and paths may reorder
  kSelective,  ///< reports each missing packet once and keeps later ones
  kGoBack      ///< reports the first missing packet and discards all after it
};

struct HostSettings {
  std::uint32_t payload = 4096, header = 64;
  std::uint32_t packets_per_ack = 4;
  Recovery recovery = Recovery::kTrimming;
  bool grants = false;            ///< after the first window, receivers grant every packet
  bool reports_load = false;      ///< answers carry the load of the fullest link, in place of the time of pauses
  bool spray = false;             ///< packets of one flow take many paths
  std::uint32_t paths = 64;       ///< per sprayed flow; a power of two, at most 64
  std::uint32_t gap_packets = 0;  ///< above 0: a packet counts as lost when so many later ones have overtaken it
  std::uint64_t seed = 0;
  std::vector<std::uint32_t> lanes;  ///< weights, as in NetworkOptions
  std::uint32_t faults = 0;          ///< number of faults; their event sources come before those of hosts
  const FlowLog* log = nullptr;      ///< null: none
  /// All packets in flight count as lost after so long without an answer, counted from the flow's last transmission.
  Ps timeout = 0;
  ControlSettings control;

  /// Bytes of a packet with a full payload.
  std::uint32_t full() const { return payload + header; }
  /// Packets that a sender over `wires` wires may send before its receiver grants any (credit).
  std::uint32_t first_window(std::uint32_t wires) const {
    return wires * static_cast<std::uint32_t>(control.max_window / control.packet_bytes);
  }
};

}  // namespace busbar::packet
