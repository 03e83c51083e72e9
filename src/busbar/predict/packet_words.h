// Options of the packet engine from the words of a cluster and of a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/packet/packet_list.h"
#include "busbar/spec/cluster.h"

namespace busbar::predict {

/// Names of the ways to balance packets over paths.
std::vector<std::string_view> packet_balances();

/// Fills in defaults (nscc; the cluster's own routing and seed) and parses the words. Pre: the words are names of
/// packet_transports() and packet_balances(). Settings: those of the cluster's `packet:`, then those of `overrides`,
/// --set packet.KEY=VALUE and --set packet=PROFILE. Errors: kInvalid for wrong settings.
Result<packet::PacketOptions> packet_options(std::string& transport, std::string& balance, const spec::Cluster& cluster,
                                             const spec::Overrides& overrides);
/// Checks keys, units and ranges of `packet:`. Errors are at the line.
Result<std::vector<packet::PacketSetting>> read_packet_settings(const std::vector<spec::PacketLine>& lines);
/// What is left for the machine.
spec::Overrides without_packets(spec::Overrides overrides);

}  // namespace busbar::predict
