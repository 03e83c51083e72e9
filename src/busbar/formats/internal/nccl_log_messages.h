// Parsers for the messages of NCCL_DEBUG=INFO, used by nccl_log. All of them reject truncated text.
#pragma once

#include <optional>
#include <string_view>

#include "busbar/formats/nccl_log.h"

namespace busbar::formats::nccl_log {

/// "comm 0x.. rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 9b000 commId 0x.. - Init START", and older and newer forms.
struct CommMessage {
  int rank = -1, ranks = -1, nodes = -1, cuda_device = -1, nvml_device = -1;
  std::string_view bus_id, id;
  enum class Stage : std::uint8_t { kStart, kComplete, kLayout } stage = Stage::kLayout;
};
std::optional<CommMessage> parse_comm(std::string_view text);

/// "Channel 01/16 :    0   7   6": channel and ranks.
struct RingMessage {
  int channel = 0;
  std::vector<int> order;
};
std::optional<RingMessage> parse_ring(std::string_view text);

/// "Channel 00/0 : 9[1] -> 0[0] [send] via NET/IBext/4(1)/GDRDMA": `transport` omits the NIC's number.
struct ConnectMessage {
  int channel = 0, from = -1, to = -1;
  bool send = false, receive = false;
  std::string transport;  ///< "NET/IBext/GDRDMA", "P2P/CUMEM"
  int nic = -1, proxy = -1;
  bool gpudirect = false;
};
std::optional<ConnectMessage> parse_connect(std::string_view text);

/// "Trees [0] 1/8/-1->0->-1 [1] ...": rank and its trees by channel.
struct TreesMessage {
  int rank = -1;
  std::vector<LoggedTree> trees;
};
std::optional<TreesMessage> parse_trees(std::string_view text);

/// "16 coll channels, 0 collnet channels, 16 nvls channels, 16 p2p channels, 2 p2p channels per peer".
bool parse_totals(std::string_view text, LoggedCommunicator& out);
/// "NVLS Head  0:  0  8".
std::optional<std::pair<int, std::vector<int>>> parse_nvls_head(std::string_view text);
/// "NET/IB : Using [0]mlx5_0:1/IB/SHARP [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>".
std::optional<std::vector<LoggedIbDevice>> parse_ib_devices(std::string_view text);
/// "Pattern 4, crossNic 0, nChannels 8, bw 40.0/40.0, type NVL/PIX, sameChannels 0".
std::optional<LoggedGraph> parse_pattern(std::string_view text);
/// "AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}"; older: no name, and numbers.
std::optional<LoggedChoice> parse_choice(std::string_view text);
/// "GPU/0-18000 :GPU/0-18000 (0/5000.0/LOC) NET/0-0 (3/48.0/PIX) ".
std::optional<std::vector<LoggedPath>> parse_paths(std::string_view text);

/// The text with numbers as '#', shortened: texts of one kind have one shape.
std::string shape_of(std::string_view text);

}  // namespace busbar::formats::nccl_log
