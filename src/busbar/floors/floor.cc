#include "busbar/floors/floor.h"

#include <iterator>

#include "busbar/floors/internal/floor_cuts.h"

namespace busbar::floors {

const char* name_of(CutKind kind) {
  constexpr const char* kNames[] = {"endpoint", "all ports", "PCIe switch", "NUMA",   "node",         "leaf",
                                    "pod",      "ranks",     "links",       "memory", "farthest pair"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(CutKind::kFarthest) + 1);
  return kNames[static_cast<std::size_t>(kind)];
}

MachineFloor::MachineFloor(const routing::Router& router, const routing::Placement& placement,
                           const program::CollectiveCall& call) {
  FloorTiers tiers(router.topology());
  *this = MachineFloor(router, placement, call, tiers);
}

MachineFloor::MachineFloor(const routing::Router& router, const routing::Placement& placement,
                           const program::CollectiveCall& call, FloorTiers& tiers) {
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g) {
    FloorCuts cuts(router, placement, call, g, tiers);
    for (const FloorRates rates : {FloorRates::kWire, FloorRates::kPayload}) {
      const std::vector<Line> lines = cuts.bounds(rates);
      auto& all = lines_[static_cast<std::size_t>(rates)];
      all.insert(all.end(), lines.begin(), lines.end());
    }
  }
}

Duration floor_from_ps(double ps) {
  return ps < 9.2e18 ? Duration::ps(static_cast<std::int64_t>(ps)) : Duration::max();
}

Floor MachineFloor::at(Bytes bytes, FloorRates rates) const {
  Floor worst;
  const std::vector<Line>& lines = lines_[static_cast<std::size_t>(rates)];
  for (const Line& line : lines) {
    const double ps = line.latency_ps + line.ps_per_byte * static_cast<double>(count(bytes));
    if (&line == &lines.front() || floor_from_ps(ps) > worst.time) worst = {floor_from_ps(ps), line.kind, line.cut};
  }
  return worst;
}

}  // namespace busbar::floors
