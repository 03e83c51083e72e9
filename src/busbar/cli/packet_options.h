// --transport and --lb of the packet engine, the same for all commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/engine/packet/packet_list.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// Fills in what was not given (nscc; the cluster's own routing and seed) and reads the words.
/// Errors: kInvalid with the flag and the words there are.
Result<PacketOptions> read_packet_options(std::string& transport, std::string& balance,
                                          std::optional<std::int64_t> seed, const Cluster& cluster);
/// What --fault and --reroute-after say: SELECTOR=WHAT[@FROM[..UNTIL]] with WHAT one of down, rate:SHARE, loss:SHARE,
/// slow:SHARE, storm; times are durations since the start. The last two befall hosts, so the links of the selector that
/// end at one. Errors carry the flag.
Status read_faults(const std::vector<std::string>& texts, const std::string& reroute_after, const Topology& topology,
                   PacketOptions& options);
inline constexpr const char* kFaultHelp =
    "with --engine packet: SELECTOR=WHAT[@FROM[..UNTIL]], WHAT: down, rate:0.25, loss:0.001, slow:0.5 (receiver) or "
    "storm "
    "(of pause frames); leaf0-spine1=down@20us..60us; repeatable";
inline constexpr const char* kRerouteHelp =
    "with --fault: until switches send around a link that went (default 1ms), or 'never'";
/// "nscc (default), dcqcn, ..."
std::string transport_words();

}  // namespace busbar
