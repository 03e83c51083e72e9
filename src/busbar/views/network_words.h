// The network between servers in words: its wiring, its over-subscription, NICs that cannot fill it.
#pragma once

#include <string>

#include "busbar/spec/cluster.h"

namespace busbar::views {

/// "by node: all NICs of a node are on one leaf"; empty where one switch holds all NICs, or the kind says it.
std::string wiring_words(const spec::FabricSummary& fabric);

/// "no over-subscription", "leaves 2:1 over-subscribed", "one switch holds all NICs, so 2:1 has no effect", ...
std::string oversubscription_words(const spec::FabricSummary& fabric);

/// The same, and where all NICs of a rail are on one leaf, that the ratio slows only traffic between rails.
std::string oversubscription_words(const spec::Cluster& cluster);
/// Whether a ratio of the fabric slows nothing, or nothing but traffic between rails.
bool ratio_is_idle(const spec::Cluster& cluster);

/// "the slot of a NIC carries 55.4 GB/s, its cables 98.4"; empty where the slot suffices.
std::string starved_nic_words(const spec::Cluster& cluster);

}  // namespace busbar::views
