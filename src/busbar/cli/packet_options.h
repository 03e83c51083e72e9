// --transport and --lb of the packet engine, the same for all commands.
#pragma once

#include <optional>
#include <string>

#include "busbar/engine/packet/packet_list.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// Fills in what was not given (nscc; the cluster's own routing and seed) and reads the words.
/// Errors: kInvalid with the flag and the words there are.
Result<PacketOptions> read_packet_options(std::string& transport, std::string& balance,
                                          std::optional<std::int64_t> seed, const Cluster& cluster);
/// "nscc (default), dcqcn, ..."
std::string transport_words();

}  // namespace busbar
