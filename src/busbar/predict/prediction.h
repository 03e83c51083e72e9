// How long a collective takes on a machine, what limits it, and how far that can be trusted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/choice/relief.h"
#include "busbar/engine/chain_part.h"
#include "busbar/engine/engine.h"
#include "busbar/floors/floor.h"
#include "busbar/nccl/tuning.h"
#include "busbar/predict/band.h"
#include "busbar/predict/jitter.h"

namespace busbar {

/// Who chose the algorithm.
enum class ChosenBy : std::uint8_t {
  kGiven,    ///< it was named
  kNccl,     ///< NCCL's rules
  kFastest,  ///< the least time of several
};
const char* name_of(ChosenBy chosen_by);  ///< "given", "nccl", "fastest"

/// A schedule made for this machine next to the fastest that was not.
struct MadeSchedule {
  std::string what;           ///< "12 trees"; "plain ring" where nothing made for the machine is faster
  std::string textbook;       ///< the fastest of the others
  Duration textbook_time;
  std::optional<Duration> ring_time;  ///< what rings in the order of ranks take, where there are any
};

struct Prediction {
  CollectiveCall call;  ///< as timed: algorithm, protocol, chunks and schedule chosen
  Duration time;        ///< of several jobs that start at once: when the last ends
  std::string algorithm;
  ChosenBy chosen_by = ChosenBy::kGiven;
  std::optional<NcclChoice> nccl;
  std::uint32_t channels = 1, chunks = 1;
  Bound bound;
  std::string cause;  ///< of the bound where it is no link: "no NIC near: ...", "GPU memory (HBM): ..."; else empty
  Band band;
  Floor floor;               ///< no schedule on this machine is faster; zero where not asked for
  Duration algorithm_floor;  ///< what the busiest link of this schedule takes at wire rate
  std::vector<Relief> relief;
  std::vector<ChainPart> chain;  ///< with TimeAsk::explain: parts that sum to the time
  std::optional<MadeSchedule> made;
  std::optional<JitterEffect> jitter;
  std::vector<Duration> jobs;  ///< when each of several jobs ended, earliest first

  Bytes size() const { return call.bytes; }
  Protocol protocol() const { return call.protocol == Protocol::kAuto ? Protocol::kSimple : call.protocol; }
  /// How far above the floor, in percent.
  double gap_percent() const { return floor.time.in_ps() > 0 ? 100 * (time.in_s() / floor.time.in_s() - 1) : 0; }
  /// GB/s; 0 where no time passes.
  double algbw() const { return time.in_ps() > 0 ? static_cast<double>(count(call.bytes)) / time.in_s() / 1e9 : 0; }
};

/// In a few words: "ring, ll128" and "bandwidth of nvlink4 x5".
std::string how_of(const Prediction& p);
std::string limit_of(const Prediction& p, const Topology& topology);

/// Bus bandwidth per algorithm bandwidth over n ranks. Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.
double bus_factor(Collective op, double n);

/// Refuses a time below a physical floor: that is our bug. Tolerance: one part in 1e9 for round-off.
Status check_floor(Duration predicted, Duration floor, const std::string& what);

}  // namespace busbar
