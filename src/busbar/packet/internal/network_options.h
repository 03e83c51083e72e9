// Options for how switches treat packets.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/packet/fault.h"
#include "busbar/packet/internal/flow_log.h"
#include "busbar/packet/internal/record.h"

namespace busbar::packet {

enum class Lossless : std::uint8_t {
  kNo,      ///< a full queue trims or drops
  kPause,   ///< priority flow control (RoCE)
  kCredits  ///< a packet is sent only if the far end has room (InfiniBand, PCIe, NVLink)
};

/// A PacketFault on a wire.
struct WireFault {
  std::uint32_t wire = 0;
  PacketFault::Kind kind = PacketFault::Kind::kDown;
  double value = 0;
  Ps from = 0, until = INT64_MAX;
};

struct NetworkOptions {
  std::uint64_t seed = 0;
  std::uint32_t header_bytes = 64;  ///< size after trimming; also of acknowledgements and pause frames
  Lossless lossless = Lossless::kNo;
  bool trim = false;
  bool cut_through = false;
  Ps flowlet_gap = 0;             ///< above 0: a flow may change its path after a pause this long
  bool independent_hash = false;  ///< each path value of a flow falls anywhere; else they meet the members evenly
  bool adaptive = false;          ///< the shorter of two random queues instead of a hash
  std::uint32_t queue_bytes = 0;  ///< per port, in lossy networks
  std::uint32_t control_bytes = UINT32_MAX;  ///< per port: trimmed headers that would exceed it are dropped
  std::uint32_t mark_low = UINT32_MAX, mark_high = UINT32_MAX;  ///< queue lengths where marking begins and is full
  std::uint64_t mark_most = std::uint64_t{1} << 32;             ///< probability at mark_high, in 2^-32
  std::int64_t buffer_bytes = 0;                                ///< per switch, shared; with pause
  std::int64_t headroom_bytes = 0;                              ///< per cable, part of buffer_bytes
  std::int64_t pause_eighths = 1;                               ///< dynamic threshold: eighths of the free buffer
  std::int64_t pause_fixed = 0;                                 ///< above 0: a fixed threshold in bytes instead
  std::int64_t resume_below = 0;                                ///< hysteresis in bytes
  std::int32_t credit_bytes = 0;                                ///< buffer per cable; with credits
  std::int32_t packet_bytes = 4160;                             ///< a full packet
  std::vector<std::uint32_t> lanes;  ///< weights; 0: before all others; fewer than two: one lane
  std::vector<WireFault> faults;
  bool link_retry = false;           ///< the two ends of a link repeat what it loses, in order
  Ps reroute_after = INT64_MAX;      ///< from a link's change until switches route accordingly; INT64_MAX: never
  std::uint32_t receiver_bytes = 0;  ///< buffer of a slow host; above it the host pauses or drops
  const FlowLog* log = nullptr;      ///< null: none
  Ps load_over = 0;                  ///< above 0: packets record the load of the fullest wire, averaged over this time
};

}  // namespace busbar::packet
