// What no schedule and no tuning can beat on this machine (DESIGN 4.6).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "busbar/program/program.h"
#include "busbar/routing/placement.h"

namespace busbar {

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
  kMemory,
  kFarthest
};
/// "endpoint", "all ports", "PCIe switch", "NUMA", "node", "leaf", "pod", "ranks", "memory", "farthest pair"
const char* name_of(CutKind kind);

/// At which rates links count.
enum class FloorRates : std::uint8_t {
  kWire,     ///< of data sheets: what no schedule and no tuning can beat
  kPayload,  ///< of payloads at best, and only where payloads of the call can go: what a good schedule can reach
};

struct Floor {
  Duration time;
  CutKind kind = CutKind::kEndpoint;
  std::string cut;  ///< which one it is: "ports of node0.gpu0", "cables of node3", "all ports together"
};

/// The least time of a call by cuts through the machine, for any number of bytes.
///
/// A cut is a set of devices with the ranks on them. At least demand(inside, outside) bytes must leave it and as many
/// enter it, S as in nccl-tests, over links at wire rates without fitted efficiency; that takes demand / rate, plus the
/// latency of the nearest two ranks on different sides. No call ends before the farthest pair has heard of each other.
/// Cuts: every GPU; every PCIe switch and every web of them; every NUMA node; every scale-up domain; the domains under
/// a leaf, or that share leaves; pods, likewise one tier up, and so on; up to 16 ranks every set of them, the devices
/// between going to the side with which they share more. Where no switch between them can reduce, N parts of the
/// machine that hold all ranks pass 2 (N - 1) S on in an all-reduce: all GPUs, domains, leaves or pods together.
/// Links count that payloads of the call may use: only scale-up ones where these join all its ranks. At payload rates,
/// and up to 64 ranks, links to GPUs count only where these are members or on the way between members.
/// Memory: a GPU reads what must leave it, or all it has where that is added up, and writes what must enter it.
/// Payload rates hold for every engine whose protocol shares are at most 1; a calibrated share above 1 may go below.
/// Source: cut arguments as in Patarasuk & Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009, section 3.
/// Cost: linear in ranks, links of their domains and fabric links; every set of 16 ranks some 10 ms.
class MachineFloor {
 public:
  /// Pre: the call's ranks are placed. `call.bytes` does not matter. Groups are bounded one by one, as if each were
  /// alone.
  MachineFloor(const Router& router, const Placement& placement, const CollectiveCall& call);
  /// The same with the machine's tiers from floor to floor.
  MachineFloor(const Router& router, const Placement& placement, const CollectiveCall& call, FloorTiers& tiers);
  Floor at(Bytes bytes, FloorRates rates = FloorRates::kWire) const;

 private:
  struct Line {  ///< one bound: time >= latency + S x ps_per_byte
    double ps_per_byte = 0, latency_ps = 0;
    CutKind kind = CutKind::kEndpoint;
    std::string cut;
  };
  friend class FloorCuts;
  std::array<std::vector<Line>, 2> lines_;  ///< by FloorRates
};

Floor machine_floor(const Router& router, const Placement& placement, const CollectiveCall& call,
                    FloorRates rates = FloorRates::kWire);

}  // namespace busbar
