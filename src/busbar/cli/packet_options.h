// --transport and --lb of the packet engine, equal for all commands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/cli/flags.h"
#include "busbar/packet/packet_list.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// packet_options() with a seed, and with progress and notices on stderr. Pre: the words are choices of
/// packet_run_flags(). Errors: kInvalid for a seed below 0.
Result<PacketOptions> read_packet_options(std::string& transport, std::string& balance,
                                          std::optional<std::int64_t> seed, const Cluster& cluster,
                                          const Overrides& overrides);
/// What a run counted, for "packets" and for people.
Json to_json(const PacketCounts& counts);
std::string trouble_of(const PacketCounts& counts);
/// The settings of a run that had an effect: bytes, microseconds, bytes per second, plain numbers and words.
Json settings_json(const std::vector<double>& settings);
/// Faults, background traffic and lanes: the same flags for all commands with packets.
struct PacketExtras {
  std::vector<std::string> faults;
  std::string reroute_after, background, compute_jitter, lanes;
  bool cut_through = false;
  std::optional<std::int64_t> threads;  ///< none: as many as pay
};
std::vector<Flag> packet_flags(PacketExtras& extras);
/// --threads by itself, and its number: 0 where it is not given.
Flag packet_threads_flag(std::optional<std::int64_t>& threads);
Result<std::uint32_t> packet_threads(const std::optional<std::int64_t>& threads);
/// --transport, --lb and --patience, for commands whose other engines do not have them.
std::vector<Flag> packet_run_flags(std::string& transport, std::string& balance, double& patience_s);
/// Parses them. A fault is SELECTOR=WHAT[@FROM[..UNTIL]], with WHAT one of down, rate:SHARE, loss:SHARE, slow:SHARE,
/// storm. Times are durations since the start. slow and storm concern hosts, so they apply to links of the selector
/// that end at a host. Background traffic is LOAD:SIZES@UNTIL. Errors give the flag, or file and line.
Status read_packet_extras(const PacketExtras& extras, const Topology& topology, const std::string& catalog_directory,
                          PacketOptions& options);
/// Reports progress on stderr, every two seconds from the second second on.
std::function<void(const PacketProgress&)> progress_on_stderr();
/// Prints a line on stderr, once per text.
std::function<void(const std::string&)> notice_on_stderr();
}  // namespace busbar
