// --transport and --lb of the packet engine, the same for all commands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/cli/flags.h"
#include "busbar/packet/packet_list.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// Fills in what was not given (nscc; the cluster's own routing and seed) and reads the words.
/// Pre: the words are choices of packet_run_flags(). Errors: kInvalid for a seed below 0.
Result<PacketOptions> read_packet_options(std::string& transport, std::string& balance,
                                          std::optional<std::int64_t> seed, const Cluster& cluster);
/// What packets meet on their way, the same flags for all commands with packets.
struct PacketExtras {
  std::vector<std::string> faults;
  std::string reroute_after, background, compute_jitter, lanes;
  bool cut_through = false;
  std::uint32_t threads = 1;
};
std::vector<Flag> packet_flags(PacketExtras& extras);
/// --transport, --lb and --patience of commands whose other engines have neither.
std::vector<Flag> packet_run_flags(std::string& transport, std::string& balance, double& patience_s);
/// Reads them. A fault is SELECTOR=WHAT[@FROM[..UNTIL]] with WHAT one of down, rate:SHARE, loss:SHARE, slow:SHARE,
/// storm; times are durations since the start; the last two befall hosts, so those links of the selector that end at
/// one. Background traffic is LOAD:SIZES.csv@UNTIL. Errors carry the flag, or file and line.
Status read_packet_extras(const PacketExtras& extras, const Topology& topology, PacketOptions& options);
/// A report of progress on stderr, every two seconds from the second one on.
std::function<void(const PacketProgress&)> progress_on_stderr();
/// A line on stderr, once for each text.
std::function<void(const std::string&)> notice_on_stderr();
/// Bytes of memory that this machine has.
double memory_of_this_machine();

}  // namespace busbar
