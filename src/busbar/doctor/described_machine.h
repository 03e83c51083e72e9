// A described machine as lines that the tables of catalog/evidence read, so that rules judge it like any other text.
#pragma once

#include <string>

#include "busbar/spec/cluster.h"

namespace busbar::doctor {

/// One line per fact: how far each GPU of the first node is from its nearest NIC, its scale-up rate, the network, the
/// over-subscription of the fabric. Parts have the names that --degrade takes.
std::string describe_machine(const spec::Cluster& cluster);

}  // namespace busbar::doctor
