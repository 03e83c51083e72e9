// The report of `busbar topo` about cables, optics and the power of a network.
#pragma once

#include <string>

#include "busbar/base/json.h"
#include "busbar/report/document.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/cabling.h"

namespace busbar {

/// "2,048 cables, 31.2 km: ...; 1,024 transceivers; 26.6 kW", for the terminal.
std::string cabling_sentence(const Cluster& cluster, const CablingSums& sums);
/// One row per part in use, then the switches, then the sum.
Table cabling_table(const Cluster& cluster, const CablingSums& sums);
Json cabling_json(const Cluster& cluster, const CablingSums& sums);

}  // namespace busbar
