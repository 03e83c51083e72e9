#include "busbar/routing/placement.h"

#include <algorithm>
#include <unordered_map>

namespace busbar::routing {
namespace {

/// Blocks that are alike inside and have the same NICs cabled; GPUs in the same place have NICs in the same places.
struct BlockKind {
  topology::ShapeId shape{};
  std::vector<std::uint32_t> cabled;                                        ///< places of NICs
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> nics = {};  ///< of the GPU at a place; only looked up
};

std::vector<std::uint32_t> cabled_places(const Router& router, const topology::Block& block) {
  const topology::Topology& t = router.topology();
  std::vector<std::uint32_t> out;
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    if (t.kind(d) == topology::DeviceKind::kNic && router.has_cable(d)) out.push_back(p);
  }
  return out;
}

/// The NICs of every rank in the order of its channels.
Csr<topology::DeviceId> nics_of(const Router& router, std::span<const topology::DeviceId> gpus) {
  const topology::Topology& t = router.topology();
  std::vector<BlockKind> kinds;
  Csr<topology::DeviceId> out;
  topology::BlockId last = kNone<topology::BlockId>;
  std::size_t kind = 0;
  for (const topology::DeviceId gpu : gpus) {
    const topology::Block& block = t.blocks()[index(t.block_of(gpu))];
    if (t.block_of(gpu) != last) {
      last = t.block_of(gpu);
      std::vector<std::uint32_t> cabled = cabled_places(router, block);
      const auto alike = [&](const BlockKind& s) { return s.shape == block.shape && s.cabled == cabled; };
      kind = static_cast<std::size_t>(std::find_if(kinds.begin(), kinds.end(), alike) - kinds.begin());
      if (kind == kinds.size()) kinds.push_back({block.shape, std::move(cabled)});
    }
    const auto [entry, fresh] = kinds[kind].nics.try_emplace(index(gpu) - block.first_device);
    if (fresh) {
      for (const topology::DeviceId d : router.nearest_nics(gpu))
        entry->second.push_back(index(d) - block.first_device);
    }
    for (const std::uint32_t place : entry->second) {
      out.values.push_back(static_cast<topology::DeviceId>(block.first_device + place));
    }
    out.close_row();
  }
  return out;
}

}  // namespace

Placement::Placement(const Router& router, std::span<const topology::DeviceId> gpus) : gpu_(gpus.begin(), gpus.end()) {
  if (router.topology().blocks().size() >= 2) {  // in one scale-up domain no NIC carries anything
    const Csr<topology::DeviceId> nics = nics_of(router, gpus);
    for (std::uint32_t r = 0; r < nics.rows(); ++r) {
      channels_ = std::max(channels_, static_cast<std::uint32_t>(nics.row(r).size()));
    }
    nic_.assign(gpu_.size() * channels_, kNone<topology::DeviceId>);
    for (std::uint32_t r = 0; r < nics.rows(); ++r) {
      const auto row = nics.row(r);
      for (std::uint32_t c = 0; c < channels_ && !row.empty(); ++c) nic_[r * channels_ + c] = row[c % row.size()];
    }
  } else {
    nic_.assign(gpu_.size(), kNone<topology::DeviceId>);
  }
}

}  // namespace busbar::routing
