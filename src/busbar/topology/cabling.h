// The positions of racks, and the length and parts of every fabric cable.
//
// Nodes fill racks, racks fill rows. A switch stands in the middle of the racks of the devices cabled below it. A cable
// goes up to the tray, along the row, across the rows, and down again. Latencies keep the nominal lengths of the fabric
// file, so the cables of one tier remain one class, unless `take_lengths` is called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

enum class Medium : std::uint8_t { kCopper, kMultiMode, kSingleMode, kCoPackaged };
constexpr Medium kLastMedium = Medium::kCoPackaged;
const char* name_of(Medium medium);  ///< "copper", "multi-mode", "single-mode", "co-packaged"

/// An available cable, or pair of optics.
struct CablePart {
  std::string name;  ///< "dac-100g-lanes"
  Medium medium = Medium::kCopper;
  double reach_m = 0;
  double power_w = 0;  ///< of one end that carries `rate`; scaled with the rate of the cable
  BytesPerSecond rate{0};
  bool operator==(const CablePart&) const = default;
};

/// The hall and the available cables. Every default is an assumption of usual size, not a product's figure.
struct CablingRules {
  std::uint32_t nodes_per_rack = 4;  ///< 10 kW servers in racks of some 40 kW
  std::uint32_t racks_per_node = 1;  ///< above 1: a node is a row of racks, and nodes_per_rack is not used
  std::uint32_t racks_per_row = 16;
  double rack_m = 0.6;           ///< a rack is 600 mm wide (EIA-310 frames)
  double row_m = 3.0;            ///< a rack of 1.2 m and an aisle of 1.8 m
  double riser_m = 2.0;          ///< from a device up to the tray, at each end
  double in_rack_m = 1.5;        ///< a cable that stays in its rack
  std::vector<CablePart> parts;  ///< the first that reaches is taken, the last if none does. Not empty
};

/// Co-packaged optics are in switches: the NIC's end of such a cable has the next part that reaches.
struct Cable {
  LinkId link;  ///< one direction: the even one
  double length_m = 0;
  std::uint16_t part[2] = {0, 0};  ///< place in CablingRules::parts, at from(link) and at to(link)
  bool reaches = true;             ///< false: longer than any part
};

/// Replaces the nominal latency of every cable by that of its length in the hall, rounded to 0.1 m, or to 1/2048 of the
/// longest. Cables with a single figure for latency keep it. Precondition: `builder` has all cables and no faults.
void take_lengths(TopologyBuilder& builder, const CablingRules& rules, Duration per_m);

/// All cables outside blocks that are not ideal, in order of LinkId. Failed ones are included: they are still in place.
std::vector<Cable> lay_cables(const Topology& topology, const CablingRules& rules);

/// The totals of one part.
struct CablePartSum {
  std::uint32_t cables = 0;  ///< cables with this part at their upper end, where switches are
  std::uint32_t ends = 0;
  std::uint32_t modules = 0;  ///< rate of all ends / rate of the part, rounded up: a twin-port module serves two ends
  double length_m = 0, longest_m = 0;
  double power_w = 0;  ///< of its ends
};
struct CablingSums {
  std::vector<CablePartSum> parts;  ///< in the order of CablingRules::parts
  std::uint32_t cables = 0, too_long = 0;
  std::uint32_t transceivers = 0;  ///< optical and pluggable modules
  double power_w = 0, length_m = 0;
};
CablingSums sum_of(const Topology& topology, const std::vector<Cable>& cables, const CablingRules& rules);
/// "from,to,length_m,medium,part,rate_Gbps", one line per cable; lengths to 0.1 m, rates per direction. If the ends
/// have different parts, '+' joins them, that of `from` first.
std::string cabling_csv(const Topology& topology, const std::vector<Cable>& cables, const CablingRules& rules);

}  // namespace busbar::topology
