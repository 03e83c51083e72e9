#include "busbar/choice/as_nccl.h"

#include <algorithm>
#include <cctype>

namespace busbar {

NcclSettings nccl_settings(const NcclSurroundings& around, NcclVersion version) {
  NcclSettings s;
  s.version = version;
  s.gdr = around.gpudirect;
  s.p2p_over_pcie = around.p2p;
  s.merges_nics = around.merges_nics;
  if (around.fabric_kind.starts_with("rail")) s.cross_nic = 0;
  return s;
}

std::string schedule_name(NcclAlgorithm algorithm) {
  switch (algorithm) {
    case NcclAlgorithm::kRing:
      return "ring";
    case NcclAlgorithm::kTree:
      return "tree";
    case NcclAlgorithm::kNvls:
      return "nvls";
    case NcclAlgorithm::kNvlsTree:
      return "hierarchical(nvls,tree)";
    case NcclAlgorithm::kPat:
      return "pat";
    case NcclAlgorithm::kCollnetDirect:
    case NcclAlgorithm::kCollnetChain:
      return "sharp";
    case NcclAlgorithm::kPointToPoint:
      break;
  }
  return "fastest";
}

std::string protocol_name(NcclProtocol protocol) {
  std::string name = name_of(protocol);
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

Result<NcclChooser> NcclChooser::make(const Topology& topology, std::span<const DeviceId> gpus,
                                      const NcclSettings& settings) {
  BUSBAR_ASSIGN(NcclComm comm, build_nccl_comm(topology, gpus, settings));
  if (comm.shapes.front().system.amd_gpus)
    return Error{ErrorCode::kUnsupported, "RCCL's tables of costs are not known, only its graphs", {}};
  NcclTuning tuning = tune_nccl(comm);
  return NcclChooser(std::move(comm), std::move(tuning));
}

}  // namespace busbar
