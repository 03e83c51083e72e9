// Reads the log of NCCL (2.11 to 2.30) with NCCL_DEBUG=INFO: settings, networks, communicators with rings, trees and
// channels, the NIC of each rank, transports, choices, warnings.
//
// Lines of different ranks interleave, even within a line. Only complete messages are used; truncated ones are counted.
// Source of the messages: NVIDIA NCCL, src/{init,debug,graph/*,transport/*}.cc of these releases, and logs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {

/// A text with its first line and how often it occurred.
struct LoggedText {
  std::string text;
  int line = 0;
  std::uint64_t count = 0;
};

struct LoggedSetting {
  std::string name, value;
  int line = 0;
};

struct LoggedIbDevice {
  int index = 0, port = 0;
  std::string name, link_layer;  ///< "mlx5_0", "IB" or "RoCE"
  bool sharp = false;
  bool operator==(const LoggedIbDevice&) const = default;
};

/// Children and parent of a rank in the tree of a channel; -1: none.
struct LoggedTree {
  std::array<int, 3> down{-1, -1, -1};
  int up = -1;
};

/// The NIC through which a rank sends on a channel; with PXN `proxy` is another rank, which is next to the NIC.
struct LoggedNic {
  int channel = 0, device = -1, proxy = -1;
  bool gpudirect = false;
  auto operator<=>(const LoggedNic&) const = default;
};

struct LoggedRank {
  std::string host, bus_id;
  int cuda_device = -1, nvml_device = -1;
  std::vector<LoggedTree> trees;  ///< by channel; empty: not in the log
  std::vector<LoggedNic> sends;   ///< ascending
};

struct LoggedCommunicator {
  std::string id;  ///< commId, if the release prints it
  int ranks = 0, nodes = -1;
  int line = 0;  ///< of its first message
  int coll_channels = -1, collnet_channels = -1, nvls_channels = -1, p2p_channels = -1, p2p_channels_per_peer = -1;
  std::map<int, std::vector<int>> rings;       ///< channel -> ranks in order
  std::map<int, std::vector<int>> nvls_heads;  ///< head -> ranks
  std::map<int, LoggedRank> members;           ///< by rank; only ranks that occur
  bool nvls = false, complete = false;         ///< multicast available; some rank logged "Init COMPLETE"
};

/// One graph as the search printed it (NCCL_DEBUG_SUBSYS=GRAPH).
struct LoggedGraph {
  int pattern = 0, cross_nic = 0, channels = 0, same_channels = 0, line = 0;
  double bw_intra = 0, bw_inter = 0;
  std::string type_intra, type_inter;
  std::vector<std::string> orders;  ///< per channel: "NET/0 GPU/0 GPU/1 NET/0"
  std::uint64_t count = 0;
};

/// The tuner's choice for a size.
struct LoggedChoice {
  std::string collective, algorithm, protocol;
  std::int64_t bytes = 0;
  int first_channel = -1, last_channel = -1;
  std::uint64_t count = 0;
  int line = 0;  ///< of its first occurrence
};

struct LoggedPath {
  std::string from, to, type;
  int hops = 0;
  double GBps = 0;
};

struct NcclLog {
  std::uint64_t lines = 0, messages = 0, broken = 0;
  std::vector<LoggedText> versions, networks, interfaces, transports, hosts, warnings, other;
  std::vector<LoggedSetting> settings;
  std::int64_t cuda_driver = -1;
  int no_ib_line = 0;  ///< of the first "No device found"
  std::vector<LoggedIbDevice> ib_devices;
  std::vector<LoggedCommunicator> communicators;
  std::vector<LoggedGraph> graphs;
  std::vector<LoggedChoice> choices;
  std::vector<LoggedText> system;  ///< lines of the topology in NCCL's view, from the first rank that printed it
  std::vector<LoggedPath> paths;
  std::vector<LoggedText> tuning;  ///< rows of the latency and bandwidth table
  std::vector<UnknownPart> unknown;
};

/// Whether text from the beginning of a file looks like such a log.
bool looks_like_nccl_log(std::string_view head);

/// Reads to the end. Error kInvalid if no line is NCCL's. Space grows with ranks x channels, not with lines.
Result<NcclLog> read_nccl_log(LineSource& source);

/// The logs of one job that are in several files, one per host or rank, as one log. Numbers of lines are those in the
/// files.
class NcclLogs {
 public:
  static std::unique_ptr<NcclLogs> make();
  virtual ~NcclLogs() = default;
  virtual void add(LineSource& source) = 0;
  /// Once. Error kInvalid if no line is NCCL's; `name`: for that.
  virtual Result<NcclLog> take(const std::string& name) = 0;
};

}  // namespace busbar::formats
