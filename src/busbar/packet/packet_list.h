// A list of point-to-point flows run packet by packet.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/packet/background.h"
#include "busbar/packet/fault.h"
#include "busbar/program/flow_list.h"
#include "busbar/routing/router.h"

namespace busbar {

enum class PacketTransport : std::uint8_t {
  kNscc,      ///< Ultra Ethernet style: windows by marks and delay, trimming
  kDcqcn,     ///< RoCEv2: rates by marks, pause
  kHpcc,      ///< RoCEv2: windows by the load that switches report, pause
  kRoce,      ///< RoCEv2 untuned: line rate until paused
  kSwift,     ///< windows by delay
  kIb,        ///< InfiniBand: credits
  kTcpCubic,  ///< TCP
  kDctcp,     ///< TCP with marks
  kCredit     ///< the receiver grants every packet beyond the first round trip; trimming
};
enum class PacketBalance : std::uint8_t {
  kEcmp,      ///< one path per flow, by hash
  kSpray,     ///< 64 paths per flow, in turn, marked ones left out once
  kAdaptive,  ///< each packet joins the shorter of two random queues
  kFlowlet    ///< so does a flow after each pause of its own
};

/// How far a run is.
struct PacketProgress {
  SimTime now;
  std::uint64_t done = 0, flows = 0;
  std::uint64_t hops = 0;
  double hops_expected = 0;  ///< without retransmissions
};

struct PacketOptions {
  PacketTransport transport = PacketTransport::kNscc;
  PacketBalance balance = PacketBalance::kEcmp;
  std::uint64_t seed = 0;
  double patience_s = 1800;  ///< a run that would take longer is refused, with an estimate
  bool cut_through = false;  ///< switches pass packets on while they come in, where the way out is not faster
  Duration flowlet_gap{};    ///< kFlowlet: the pause that frees a flow to go elsewhere; 0: one round trip
  std::optional<BackgroundTraffic> background{};  ///< flows of others, behind those of the list in the result
  Duration compute_jitter{};          ///< collectives: mean of the exponential time by which a rank starts late
  std::vector<PacketFault> faults{};  ///< those on links that no route crosses have no effect
  Duration reroute_after = Duration::us(1000);  ///< from when a link goes or comes until switches send around it
  /// Weights of virtual lanes, 0: before all others; a flow's lane is its own. Fewer than two: one lane.
  std::vector<std::uint32_t> lanes{};
  std::uint32_t threads = 1;  ///< at most; fewer where the network has fewer parts to give them
  double memory_bytes = 0;    ///< above 0: a run that would need more is refused, with an estimate
  std::function<void(const PacketProgress&)> progress{};  ///< called now and then, some times a second
  std::function<void(const std::string&)> notice{};       ///< told why fewer threads run than were asked for
  /// Set from outside (Ctrl-C): the run ends with what it has.
  const volatile std::sig_atomic_t* stop = nullptr;
};

/// Where the time of a flow went, along its last packet to arrive and the acknowledgement of it; the parts sum to fct.
struct PacketParts {
  Duration serialisation;  ///< of the packets before it at the first wire, and its own at every hop
  Duration propagation;
  Duration queueing;         ///< of that packet in switches
  Duration pause;            ///< of which the port had been told to stop
  Duration held;             ///< at the sender: windows, rates, other flows of the same host
  Duration retransmission;   ///< from the last new packet until it left
  Duration acknowledgement;  ///< from its arrival to the last acknowledgement's
};
struct PacketOutcome {
  SimTime start;
  Duration fct;       ///< from the start to the arrival of the last acknowledgement at the sender
  Duration received;  ///< from the start to the arrival of the last byte
  PacketParts parts;
  std::uint32_t resent = 0;
  bool done = false;
  LinkId held_by = kNone<LinkId>;  ///< before which its last packet waited longest
};
struct PacketLink {
  LinkId link{};
  std::uint64_t bytes = 0;
  std::uint32_t marks = 0, trims = 0, drops = 0, pauses = 0;
  Duration paused;
  std::uint64_t queue_p50 = 0, queue_p99 = 0, queue_max = 0;  ///< bytes, as packets that had to wait found it
};
struct PacketResult {
  std::vector<PacketOutcome> flows;
  std::vector<PacketLink> links;  ///< those that carried something, by LinkId
  SimTime end;                    ///< the last acknowledgement
  SimTime received;               ///< the last byte
  std::uint64_t events = 0, hops = 0;
  std::uint64_t background = 0;  ///< flows of others, the last ones
  std::uint64_t done = 0;        ///< flows that have ended; fewer than there are when the run was stopped
  std::uint64_t data = 0, acks = 0, nacks = 0, resent = 0, trims = 0, drops = 0, marks = 0, pauses = 0, timeouts = 0;
  std::uint32_t threads = 1;  ///< that ran; but for `events` nothing depends on them
  std::string stuck;          ///< why the rest cannot end, where faults keep it from ending
  std::uint64_t digest = 0;   ///< of all starts and ends
};

/// Runs the list to its end. Two runs with the same input give the same result, to the bit.
/// Errors: kUnreachable with the pair; kUnsupported for flows of more packets than can be numbered.
Result<PacketResult> run_packet_list(const Router& router, const FlowList& list, const PacketOptions& options);

}  // namespace busbar
