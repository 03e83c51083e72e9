// Reads and writes NCCL's graph files (NCCL_GRAPH_FILE, NCCL_GRAPH_DUMP_FILE).
//
// Source: NVIDIA NCCL 2.30.7, src/graph/search.cc and xml.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"

namespace busbar::formats {

/// One channel: NIC in, GPUs in the order of the chain, NIC out. -1: no NIC (one node).
struct NcclGraphChannel {
  struct Gpu {
    int dev = 0, rank = -1;  ///< CUDA index; rank only if the file has it
    bool operator==(const Gpu&) const = default;
  };
  std::optional<std::uint64_t> net_in, net_out;
  std::vector<Gpu> gpus;
  bool operator==(const NcclGraphChannel&) const = default;
};

struct NcclGraphRecord {
  int id = 0;       ///< 0 ring, 1 tree, 2 CollNet chain, 3 NVLS, 4 CollNet direct
  int pattern = 0;  ///< 1 to 6
  int cross_nic = 0, same_channels = 0;
  double speed_intra = 0, speed_inter = 0, latency_inter = 0;  ///< GB/s, us
  std::string type_intra, type_inter;                          ///< path types: "NVL", "PIX"
  std::vector<NcclGraphChannel> channels;
  bool operator==(const NcclGraphRecord&) const = default;
};
const char* nccl_graph_name(int id);  ///< "ring", ...; "unknown"

struct NcclGraphFile {
  std::vector<NcclGraphRecord> graphs;
  std::vector<UnknownPart> unknown;
};

Result<NcclGraphFile> read_nccl_graph_xml(std::string_view text, const std::string& name);
/// As NCCL's own dump writes it; reading it gives `graphs` again.
std::string write_nccl_graph_xml(const std::vector<NcclGraphRecord>& graphs);

}  // namespace busbar::formats
