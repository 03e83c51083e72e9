// An InfiniBand network as its tools list it: ibnetdiscover (blocks, or the port list of -p) and iblinkinfo.
//
// Source: linux-rdma/infiniband-diags, man pages and output of ibnetdiscover(8) and iblinkinfo(8).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {

struct FabricDevice {
  std::uint64_t guid = 0;
  std::string description;                     ///< "a08-p1-dgx-04-c01 mlx5_5"
  bool is_switch = false, aggregates = false;  ///< aggregates: the SHARP node of a switch
  int ports = 0, lid = -1, line = 0;
  std::string name;  ///< in the topology: "leaf3", "node5.mlx5_5"; empty: not in it
};

struct FabricPort {
  std::size_t device = 0;  ///< in ImportedFabric::devices
  int port = 0;
};
struct FabricCable {
  FabricPort a, b;
  int width = 0;       ///< lanes
  std::string speed;   ///< "NDR"; "???" if the tool did not know it
  std::string remark;  ///< "Could be 53.125 Gbps"
  int line = 0;
};

struct ImportedFabric {
  topology::Topology
      topology;  ///< hosts are blocks of NICs; switches next to hosts are leaves, those next to leaves spines
  std::vector<FabricDevice> devices;
  std::vector<FabricCable> cables;
  std::vector<std::string> hosts;  ///< by block
  std::uint64_t unconnected = 0;   ///< ports listed without a peer
  std::vector<std::string> notes;
  std::vector<UnknownPart> unknown;
};

bool looks_like_ibnetdiscover(std::string_view head);
bool looks_like_iblinkinfo(std::string_view head);
/// A cable is listed at both ends and counted once. Rates are the data rates of width and speed. A host is named by the
/// part of the description before the NIC's name; a NIC with only its product name is a host of its own.
Result<ImportedFabric> read_ibnetdiscover(LineSource& source);
Result<ImportedFabric> read_iblinkinfo(LineSource& source);

}  // namespace busbar::formats
