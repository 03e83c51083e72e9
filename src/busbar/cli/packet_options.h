// --transport, --lb and the other flags of packets, for commands that are not questions yet.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/cli/streams.h"
#include "busbar/questions/packet_request.h"
#include "busbar/views/packet_counts.h"

namespace busbar {

std::vector<Flag> packet_flags(questions::PacketExtras& extras);
/// --transport, --lb and --patience.
std::vector<Flag> packet_run_flags(std::string& transport, std::string& balance, double& patience_s);
/// questions::packet_options_of() with notices on stderr and errors at flags.
Result<PacketOptions> read_packets(questions::PacketRun& run, const questions::PacketExtras& extras,
                                   std::optional<std::int64_t> seed, const Cluster& cluster,
                                   const Overrides& overrides);
/// Prints a line on stderr, once per text.
std::function<void(const std::string&)> notice_on_stderr();

}  // namespace busbar
