// Runs a list of point-to-point flows packet by packet.
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
#include "busbar/packet/knobs.h"
#include "busbar/packet/watch.h"
#include "busbar/program/flow_list.h"
#include "busbar/routing/router.h"

namespace busbar::packet {

/// Each is a file NAME_transport.cc, which says what it does.
enum class PacketTransport : std::uint8_t { kNscc, kDcqcn, kHpcc, kRoce, kSwift, kIb, kTcpCubic, kDctcp, kCredit };
enum class PacketBalance : std::uint8_t {
  kEcmp,      ///< one path per flow, by hash
  kSpray,     ///< 64 paths per flow, in turn, without those that delay or lose packets
  kAdaptive,  ///< each packet joins the shorter of two random queues
  kFlowlet    ///< as kAdaptive, but once per burst of a flow
};

/// Progress of a run.
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
  double patience_s = 1800;  ///< a run estimated to take longer is refused, with the estimate
  bool cut_through = false;  ///< switches forward a packet while it comes in, if the output is not faster
  Duration flowlet_gap{};    ///< kFlowlet: the pause after which a flow may change its path; 0: one round trip
  std::optional<BackgroundTraffic> background{};  ///< these flows come last in the result
  Duration compute_jitter{};                      ///< collectives: mean of the exponential delay of a rank's start
  std::vector<PacketFault> faults{};              ///< faults on links that no route crosses have no effect
  Duration reroute_after = Duration::us(1000);    ///< from the change of a link until switches route accordingly
  /// Weights of virtual lanes; a lane of weight 0 goes before all others. Fewer than two: one lane.
  std::vector<std::uint32_t> lanes{};
  std::vector<PacketSetting> settings{};  ///< instead of the transport's defaults; of equal ones the last counts
  std::uint32_t threads = 1;              ///< at most; fewer if the network has fewer parts; 0: as many as pay
  double memory_bytes = 0;                ///< above 0: a run estimated to need more is refused, with the estimate
  std::function<void(const PacketProgress&)> progress{};  ///< called a few times a second
  std::function<void(const std::string&)> notice{};       ///< told why fewer threads run than were requested
  PacketSeries series{};                                  ///< samples; they change no result
  PacketLog log{};                                        ///< likewise
  /// Set from outside (Ctrl-C): the run ends and returns the results so far.
  const volatile std::sig_atomic_t* stop = nullptr;
};

/// The parts of a flow's time, along its last packet to arrive and the acknowledgement of that packet. They sum to fct.
struct PacketParts {
  Duration serialisation;  ///< of the earlier packets at the first wire, and of this packet at every hop
  Duration propagation;
  Duration queueing;         ///< of this packet in switches
  Duration pause;            ///< part of the queueing during which the port was paused
  Duration held;             ///< at the sender: windows, rates, other flows of the same host
  Duration retransmission;   ///< from the last new packet until it left
  Duration acknowledgement;  ///< from its arrival until the last acknowledgement arrives
};
struct PacketOutcome {
  SimTime start;
  Duration fct;       ///< from the start to the arrival of the last acknowledgement at the sender
  Duration received;  ///< from the start to the arrival of the last byte
  Duration alone;     ///< its fct on an idle network, one path, if no window limits it
  PacketParts parts;
  std::uint32_t resent = 0;
  bool done = false;
  topology::LinkId held_by =
      kNone<topology::LinkId>;  ///< the link whose queue delayed one of its packets longest; else its slowest link
};
struct PacketLink {
  topology::LinkId link{};
  std::uint64_t bytes = 0;
  std::uint32_t marks = 0, trims = 0, drops = 0, pauses = 0;
  Duration paused;
  std::uint64_t queue_p50 = 0, queue_p99 = 0, queue_max = 0;  ///< bytes, seen by packets that had to wait
};
/// What a run counted. `asks`: headers that ask for an acknowledgement, because a window shrank.
struct PacketCounts {
  std::uint64_t data = 0, acks = 0, nacks = 0, resent = 0, trims = 0, drops = 0, marks = 0, pauses = 0, timeouts = 0;
  std::uint64_t asks = 0, hops = 0;

  PacketCounts& operator+=(const PacketCounts& o) {
    for (const auto member : {&PacketCounts::data, &PacketCounts::acks, &PacketCounts::nacks, &PacketCounts::resent,
                              &PacketCounts::trims, &PacketCounts::drops, &PacketCounts::marks, &PacketCounts::pauses,
                              &PacketCounts::timeouts, &PacketCounts::asks, &PacketCounts::hops})
      this->*member += o.*member;
    return *this;
  }
};
/// The same of the data of one lane.
struct PacketLane {
  std::uint64_t data = 0, resent = 0, trims = 0, drops = 0, marks = 0, pauses = 0;
  Duration paused;  ///< sum over links
};
struct PacketResult : PacketCounts {
  std::vector<PacketOutcome> flows;
  std::vector<PacketLink> links;  ///< links that carried something, by LinkId
  std::vector<PacketLane> lanes;  ///< if there are several
  SimTime end;                    ///< when the last acknowledgement arrives
  SimTime received;               ///< when the last byte arrives
  std::uint64_t events = 0;
  std::uint64_t background = 0;  ///< number of background flows; they come last
  std::uint64_t done = 0;        ///< flows that have ended; not all if the run was stopped
  std::uint32_t threads = 1;     ///< threads used; only `events` depends on it
  std::vector<double> settings;  ///< of each of packet_knobs(), in its unit; NaN where it has no effect
  std::string stuck;             ///< why faults keep the remaining flows from ending
  std::uint64_t digest = 0;      ///< hash of all starts and ends
};

/// Runs the list to its end. The same input gives the same result, bit for bit. Errors: kUnreachable with the pair;
/// kUnsupported if a flow has more packets than can be numbered.
Result<PacketResult> run_packet_list(const routing::Router& router, const program::FlowList& list,
                                     const PacketOptions& options);

}  // namespace busbar::packet
