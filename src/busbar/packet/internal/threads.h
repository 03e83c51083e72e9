// One run on several threads, each with a part of the network.
#pragma once

#include <optional>

#include "busbar/packet/internal/running_part.h"

namespace busbar::packet {

/// Conservative: all parts run through the same windows of time, each as long as the shortest cable between two parts
/// takes, and exchange packets between windows. Result: that of one thread but for `events`; none where nothing arrives
/// any more, which one thread explains better. Thread rules: `progress` is called on the caller's thread.
/// Source: Chandy and Misra, "Distributed simulation", IEEE Trans. Software Engineering 1979, with windows as in
/// Lubachevsky, CACM 1989.
std::optional<PacketResult> run_on_threads(Wiring& wiring, Traffic& traffic, const Profile& profile,
                                           const NetworkSplit& split, int bucket_bits, const PacketOptions& options,
                                           double hops_expected);

}  // namespace busbar::packet
