// One run on several threads, each with a part of the network.
#pragma once

#include <optional>

#include "busbar/packet/internal/running_part.h"

namespace busbar::packet {

/// Conservative: all parts run through the same windows of time and exchange packets between windows. A window is as
/// long as the shortest latency of a cable between parts. The result equals that of one thread except for `events`.
/// Returns nullopt if no packet arrives any more, because one thread explains that better. Thread rules: `progress` is
/// called on the caller's thread.
/// Source: Chandy and Misra, "Distributed simulation", IEEE Trans. Software Engineering 1979, with windows as in
/// Lubachevsky, CACM 1989.
std::optional<PacketResult> run_on_threads(Wiring& wiring, Traffic& traffic, const Profile& profile,
                                           const NetworkSplit& split, int bucket_bits, const PacketOptions& options,
                                           double hops_expected);

}  // namespace busbar::packet
