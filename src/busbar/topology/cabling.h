// Where racks stand, how long every fabric cable is, and whether it is copper or optic.
//
// Nodes fill racks, racks fill rows. A switch stands in the middle of the racks of what is cabled below it. A cable
// goes up to the tray, along the row, across the rows, and down again. The latency that engines use does not come from
// here: it keeps the nominal lengths of the fabric file, so that cables of one tier stay one class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

enum class Medium : std::uint8_t { kCopper, kMultiMode, kSingleMode };
const char* name_of(Medium medium);  ///< "copper", "multi-mode", "single-mode"

/// The hall and the cables to be had. Every default is an assumption of usual size, not a product's figure.
struct CablingRules {
  std::uint32_t nodes_per_rack = 4;  ///< 10 kW servers in racks of some 40 kW
  std::uint32_t racks_per_row = 16;
  double rack_m = 0.6;         ///< a rack is 600 mm wide (EIA-310 frames)
  double row_m = 3.0;          ///< a rack of 1.2 m and an aisle of 1.8 m
  double riser_m = 2.0;        ///< from a device up to the tray, at each end
  double in_rack_m = 1.5;      ///< a cable that stays in its rack
  double copper_m = 3.0;       ///< longest passive copper at 25 to 100 Gb/s per lane
  double multi_mode_m = 50.0;  ///< longest multi-mode optic at 100 Gb/s per lane
  double optic_power_w = 8.0;  ///< of one end of a cable at `optic_rate`; scaled with the rate
  BytesPerSecond optic_rate{50'000'000'000};
};

struct Cable {
  LinkId link;  ///< one direction: the even one
  double length_m = 0;
  Medium medium = Medium::kCopper;
};

struct CablingSums {
  std::uint32_t copper = 0, multi_mode = 0, single_mode = 0;  ///< cables
  std::uint32_t optics = 0;                                   ///< transceivers: two per optical cable
  double optic_power_w = 0, length_m = 0;
};

/// All cables outside blocks that are not ideal, in order of LinkId; failed ones too, for they still hang there.
std::vector<Cable> lay_cables(const Topology& topology, const CablingRules& rules);
CablingSums sum_of(const Topology& topology, const std::vector<Cable>& cables, const CablingRules& rules);
/// "from,to,length_m,medium,rate_Gbps", one line per cable; lengths to 0.1 m, rates per direction.
std::string cabling_csv(const Topology& topology, const std::vector<Cable>& cables);

}  // namespace busbar
