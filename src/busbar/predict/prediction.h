// The time of a collective on a machine, its limit, and its accuracy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/choice/relief.h"
#include "busbar/engine/engine.h"
#include "busbar/floors/floor.h"
#include "busbar/lowering/chain_part.h"
#include "busbar/lowering/simplification.h"
#include "busbar/nccl/tuning.h"
#include "busbar/packet/packet_list.h"
#include "busbar/predict/band.h"
#include "busbar/predict/jitter.h"
#include "busbar/program/measured_calls.h"

namespace busbar::predict {

/// What chose the algorithm.
enum class ChosenBy : std::uint8_t {
  kGiven,    ///< the user
  kNccl,     ///< NCCL's rules
  kFastest,  ///< the least time of several algorithms
};
const char* name_of(ChosenBy chosen_by);  ///< "given", "nccl", "fastest"

/// A schedule made for this machine, compared with the fastest of the others.
struct MadeSchedule {
  std::string what;      ///< "12 trees"; "plain ring" if no schedule made for the machine is faster
  std::string textbook;  ///< the fastest of the others
  Duration textbook_time;
  std::optional<Duration> ring_time;  ///< the time of rings in rank order, if rings can run it
};

struct Prediction {
  program::CollectiveCall call;  ///< as timed, with the chosen algorithm, protocol, chunks and schedule
  Duration time;                 ///< for several jobs that start at once: the end of the last one
  std::string algorithm;
  ChosenBy chosen_by = ChosenBy::kGiven;
  std::optional<nccl::NcclChoice> nccl;
  std::uint32_t channels = 1, chunks = 1;
  lowering::Bound bound;
  std::string cause;           ///< of a bound that is not a link: "no NIC near: ...", "the host: ..."; otherwise empty
  Duration host_wait;          ///< part of the time: GPUs wait for the host, which starts all GPUs of a node in turn
  program::CallTraits traits;  ///< what measured calls know it by
  double measured_factor = 1;  ///< of the modelled time, by measured calls of this machine
  Band band;
  lowering::Simplifications simplified{};  ///< by the fluid engines; effect_of() says by how much
  floors::Floor floor;                     ///< no schedule on this machine is faster; zero if not requested
  Duration algorithm_floor;                ///< time of the busiest link of this schedule at wire rate
  std::vector<choice::Relief> relief;
  std::vector<lowering::ChainPart> chain;  ///< with TimeAsk::explain: parts that sum to the time
  std::optional<MadeSchedule> made;
  std::optional<JitterEffect> jitter;
  std::optional<Duration> p99;                  ///< with a NetworkPenalty: if all transfers took its p99
  std::vector<Duration> jobs;                   ///< end of each of several jobs, earliest first
  std::optional<packet::PacketCounts> packets;  ///< of the packet engine
  std::string warning;                          ///< of below_floor(); empty: none

  Bytes size() const { return call.bytes; }
  program::Protocol protocol() const {
    return call.protocol == program::Protocol::kAuto ? program::Protocol::kSimple : call.protocol;
  }
  /// Difference from the floor, in percent.
  double gap_percent() const { return floor.time.in_ps() > 0 ? 100 * (time.in_s() / floor.time.in_s() - 1) : 0; }
  /// GB/s; 0 if the time is 0.
  double algbw() const { return time.in_ps() > 0 ? static_cast<double>(count(call.bytes)) / time.in_s() / 1e9 : 0; }
};

/// In a few words: "ring, ll128" and "bandwidth of nvlink4 x5".
std::string how_of(const Prediction& p);
std::string limit_of(const Prediction& p, const topology::Topology& topology);

/// Bus bandwidth per algorithm bandwidth over n ranks. Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.
double bus_factor(collectives::Collective op, double n);
/// Bytes that all members of a group of `n` send together per byte of S, without what stays on its rank.
double sent_by_group(collectives::Collective op, double n);

/// What to say of a time below a physical floor, which is our bug; empty: it is not below. Tolerance: 4 ps, as engines
/// round each part of a time to picoseconds, and one part in 1e9, as they add fluids in floating point.
std::string below_floor(Duration predicted, Duration floor, const std::string& what);

}  // namespace busbar::predict
