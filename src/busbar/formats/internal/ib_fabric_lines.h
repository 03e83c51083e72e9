// Parsing of single lines of ibnetdiscover and iblinkinfo. Part of the work of ib_fabric.h.
#pragma once

#include <map>
#include <set>

#include "busbar/formats/internal/ib_fabric.h"

namespace busbar::formats::ib_fabric {

/// Collects devices and cables; a cable may be listed at both ends.
class Collector {
 public:
  std::size_t device(std::uint64_t guid, bool is_switch, std::string_view description, int line);
  FabricDevice& at(std::size_t i) { return out.devices[i]; }
  void cable(FabricCable cable);
  ImportedFabric out;

 private:
  std::map<std::uint64_t, std::size_t> by_guid_;
  std::set<std::pair<std::pair<std::size_t, int>, std::pair<std::size_t, int>>> seen_;
};

/// "4xNDR": lanes and speed.
bool take_rate(LineCursor& c, FabricCable& cable);
/// Data rate in Mb/s of one lane; 0 for an unknown name. Source: IBTA, InfiniBand roadmap, after line coding.
double lane_Mbps(std::string_view speed);

/// Determines levels, names, hosts and cables of the collected devices.
Status build_topology(ImportedFabric& fabric, const std::string& name);

}  // namespace busbar::formats::ib_fabric
