#include "busbar/nccl/channel_limit.h"

#include "busbar/nccl/internal/tuning_tables.h"

namespace busbar::nccl {

std::optional<NcclChannelLimit> nccl_channel_limit(const NcclComm& comm, NcclAlgorithm algorithm,
                                                   NcclProtocol protocol) {
  if (comm.shapes.front().system.amd_gpus) return std::nullopt;
  const NcclConstants k = nccl_constants(comm.settings.version);
  const auto [generation, size] = place_in_tables(comm);
  if (algorithm == NcclAlgorithm::kRing)
    return NcclChannelLimit{"perChMaxRingLL128Bws", k.ring_ll128_channel[generation][size] / 2};
  if (algorithm != NcclAlgorithm::kTree) return std::nullopt;
  const float all = k.tree_channel[generation][size], ll128 = k.tree_ll128_channel[generation][size];
  if (protocol == NcclProtocol::kLl128 && ll128 < all) return NcclChannelLimit{"perChMaxTreeLL128Bws", ll128 / 2};
  return NcclChannelLimit{"perChMaxTreeBws", all / 2};
}

}  // namespace busbar::nccl
