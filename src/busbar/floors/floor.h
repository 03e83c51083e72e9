// Lower bounds of call times: no schedule and no tuning is faster on this machine (DESIGN 4.6).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar::floors {

class FloorTiers;

enum class CutKind : std::uint8_t {
  kEndpoint,
  kAllPorts,
  kPcieSwitch,
  kNuma,
  kNode,
  kLeaf,
  kPod,
  kRanks,
  kLinks,  ///< no cut: all links with all pairs on their shortest ways
  kMemory,
  kFarthest
};
/// "endpoint", "all ports", "PCIe switch", "NUMA", "node", "leaf", "pod", "ranks", "links", "memory",
/// "farthest pair"
const char* name_of(CutKind kind);

/// The rates at which links count.
enum class FloorRates : std::uint8_t {
  kWire,     ///< data sheet rates: a bound for every schedule and tuning
  kPayload,  ///< best payload rates of links that the call's payloads can use: a good schedule can reach this bound
};

struct Floor {
  Duration time;
  CutKind kind = CutKind::kEndpoint;
  std::string cut;  ///< names the cut: "ports of node0.gpu0", "cables of node3", "all ports together"
};

/// `ps` picoseconds in a double, rounded down, as lower bounds are; saturates at Duration::max().
Duration floor_from_ps(double ps);

/// The least time of a call by cuts through the machine, for any number of bytes.
///
/// A cut is a set of devices with the ranks on them. At least demand(inside, outside) bytes must leave it and as many
/// must enter it, with S as in nccl-tests, over links at wire rates without fitted efficiency. That takes demand /
/// rate, plus the latency of the nearest two ranks on different sides. No call ends before data has crossed between the
/// farthest pair.
///
/// Cuts:
/// - every GPU, every PCIe switch and every connected set of them, every NUMA node, every scale-up domain;
/// - the domains under a leaf, or that share leaves; pods, likewise one tier up, and so on;
/// - up to 16 ranks: all sets, devices between on the side that shares more rate; above: the sides of some links;
/// - in an all-reduce, if no switch in between can reduce: N parts of the machine that hold all ranks move 2 (N - 1) S
///   in total. The parts are all GPUs, domains, leaves or pods.
///
/// An all-to-all between up to 16 ranks, or where GPUs or switches of the fabric have links to others of their kind,
/// has one more bound, which no cut gives: the links together must carry all pairs, each over its shortest way
/// (internal/pair_ways.h). It is left out where one round of its search takes too long.
///
/// Links count if payloads of the call may use them: only scale-up links if these join all its ranks. At payload rates,
/// and up to 64 ranks, links to a GPU count only if it is a member or on a way between members.
/// Memory: a GPU reads the data that must leave it, or all its data if they are added, and writes the data that must
/// enter. Payload rates hold for every engine whose protocol shares are at most 1; a calibrated share above 1 may give
/// less time. Source: cut arguments as in Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009,
/// section 3. Cost: linear in ranks, links of their domains and fabric links; every set of 16 ranks takes some 10 ms.
class MachineFloor {
 public:
  /// Pre: the call's ranks are placed. `call.bytes` is not used. Each group is bounded as if it were alone.
  MachineFloor(const routing::Router& router, const routing::Placement& placement, const program::CollectiveCall& call);
  /// The same, with `tiers` kept from one floor to the next.
  MachineFloor(const routing::Router& router, const routing::Placement& placement, const program::CollectiveCall& call,
               FloorTiers& tiers);
  Floor at(Bytes bytes, FloorRates rates = FloorRates::kWire) const;

 private:
  struct Line {  ///< one bound: time >= latency + S x ps_per_byte
    double ps_per_byte = 0, latency_ps = 0;
    CutKind kind = CutKind::kEndpoint;
    std::string cut;
  };
  friend class FloorCuts;
  std::array<std::vector<Line>, 2> lines_;  ///< indexed by FloorRates
};

}  // namespace busbar::floors
