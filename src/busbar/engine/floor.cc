#include "busbar/engine/floor.h"

#include "busbar/engine/floor_cuts.h"

namespace busbar {

const char* name_of(CutKind kind) {
  switch (kind) {
    case CutKind::kEndpoint:
      return "endpoint";
    case CutKind::kAllPorts:
      return "all ports";
    case CutKind::kPcieSwitch:
      return "PCIe switch";
    case CutKind::kNuma:
      return "NUMA";
    case CutKind::kNode:
      return "node";
    case CutKind::kLeaf:
      return "leaf";
    case CutKind::kPod:
      return "pod";
    case CutKind::kRanks:
      return "ranks";
    case CutKind::kFarthest:
      return "farthest pair";
  }
  return "";
}

MachineFloor::MachineFloor(const Router& router, const Placement& placement, const CollectiveCall& call) {
  FloorTiers tiers(router.topology());
  *this = MachineFloor(router, placement, call, tiers);
}

MachineFloor::MachineFloor(const Router& router, const Placement& placement, const CollectiveCall& call,
                           FloorTiers& tiers) {
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g) {
    const std::vector<Line> lines = FloorCuts(router, placement, call, g, tiers).bounds();
    lines_.insert(lines_.end(), lines.begin(), lines.end());
  }
}

Floor MachineFloor::at(Bytes bytes) const {
  Floor worst;
  for (const Line& line : lines_) {
    const double ps = line.latency_ps + line.ps_per_byte * static_cast<double>(count(bytes));
    if (&line == &lines_.front() || duration_from_ps(ps) > worst.time)
      worst = {duration_from_ps(ps), line.kind, line.cut};
  }
  return worst;
}

Floor machine_floor(const Router& router, const Placement& placement, const CollectiveCall& call) {
  return MachineFloor(router, placement, call).at(call.bytes);
}

}  // namespace busbar
