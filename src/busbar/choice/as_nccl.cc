#include "busbar/choice/as_nccl.h"

#include <fmt/core.h>

namespace busbar::choice {

nccl::NcclSettings nccl_settings(const NcclSurroundings& around, nccl::NcclVersion version) {
  nccl::NcclSettings s;
  s.version = version;
  s.gdr = around.gpudirect;
  s.p2p_over_pcie = around.p2p;
  s.merges_nics = around.merges_nics;
  if (around.fabric_kind.starts_with("rail")) s.cross_nic = 0;
  return s;
}

std::string words_of_choice(const nccl::NcclComm& comm) {
  const std::string words = fmt::format("as {} chooses", nccl::library_name(comm));
  if (!comm.shapes.front().system.amd_gpus) return words;
  return fmt::format("{}, over rings of {}{}", words, nccl::origin_of_rings(comm),
                     comm.shapes.front().graphs.rccl ? "" : ", because RCCL has no model of this machine");
}

}  // namespace busbar::choice
