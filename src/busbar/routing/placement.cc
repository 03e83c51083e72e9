#include "busbar/routing/placement.h"

#include <unordered_map>

namespace busbar {
namespace {

/// The place in its block of the NIC that serves the GPU at a place of that shape, as the first block of the shape has it.
using NicPlaces = std::unordered_map<std::uint64_t, std::uint32_t>;

}  // namespace

Placement::Placement(const Router& router, std::span<const DeviceId> gpus)
    : gpu_(gpus.begin(), gpus.end()), nic_(gpus.size(), kNone<DeviceId>) {
  const Topology& t = router.topology();
  if (t.blocks().size() < 2) return;  // one scale-up domain: no NIC carries anything
  NicPlaces places;
  for (std::size_t r = 0; r < gpu_.size(); ++r) {
    const Block& block = t.blocks()[index(t.block_of(gpu_[r]))];
    const std::uint64_t key = (std::uint64_t{index(block.shape)} << 32) | (index(gpu_[r]) - block.first_device);
    const auto known = places.find(key);
    if (known != places.end()) {
      const auto nic = static_cast<DeviceId>(block.first_device + known->second);
      if (router.has_cable(nic)) {  // a lost cable outside the block leaves the shape alone: look again then
        nic_[r] = nic;
        continue;
      }
    }
    nic_[r] = router.nearest_nic(gpu_[r], 0);
    if (nic_[r] != kNone<DeviceId> && known == places.end()) places.emplace(key, index(nic_[r]) - block.first_device);
  }
}

}  // namespace busbar
