#include "busbar/predict/communicators.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/id.h"

namespace busbar::predict {

/// Servers of one kind have equal wiring and NICs with equal rates.
std::uint32_t Communicators::kind_of(topology::BlockId id) {
  kind_of_block_.resize(topology_.blocks().size(), 0);
  std::uint32_t& known = kind_of_block_[index(id)];
  if (known != 0) return known - 1;
  const topology::Block& block = topology_.blocks()[index(id)];
  std::vector<std::uint64_t> key{index(block.shape), block.template_index};
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    if (topology_.kind(d) != topology::DeviceKind::kNic) continue;
    std::uint64_t rate = 0;
    for (const topology::LinkId l : topology_.out_links(d))
      if (topology::is_fabric(topology_.link_class(l).kind)) rate += per_second(topology_.link_class(l).floor_rate());
    key.push_back(rate);
  }
  const auto next = static_cast<std::uint32_t>(kinds_.size());
  known = 1 + kinds_.try_emplace(std::move(key), next).first->second;
  return known - 1;
}

Result<Communicators::Shape> Communicators::shape_of(const collectives::GroupFamily& family, std::uint32_t group) {
  place_of_block_.resize(topology_.blocks().size(), 0);
  Shape out;
  std::vector<topology::BlockId> blocks;
  const std::uint32_t n = family.size();
  out.reserve(std::size_t{3} * n);
  for (std::uint32_t m = 0; m < n; ++m)
    if (const std::uint32_t rank = family.actor(group, m); rank >= placement_.ranks())
      return invalid(fmt::format("rank {} has no GPU: only {} are placed", rank, placement_.ranks()));
  for (std::uint32_t m = 0; m < n; ++m) {
    const topology::DeviceId gpu = placement_.gpu(family.actor(group, m));
    const topology::BlockId block = topology_.block_of(gpu);
    std::uint32_t& place = place_of_block_[index(block)];
    if (place == 0) {
      blocks.push_back(block);
      place = static_cast<std::uint32_t>(blocks.size());
    }
    out.insert(out.end(), {place, kind_of(block), index(gpu) - topology_.blocks()[index(block)].first_device});
  }
  for (const topology::BlockId block : blocks) place_of_block_[index(block)] = 0;
  return out;
}

Result<std::unique_ptr<Communicator>> Communicators::make(const collectives::GroupFamily& family, std::uint32_t group,
                                                          std::uint32_t channels) const {
  nccl::NcclSettings settings = settings_;
  if (channels > 0) settings.min_channels = settings.max_channels = channels;
  std::vector<topology::DeviceId> gpus;
  for (std::uint32_t m = 0; m < family.size(); ++m) gpus.push_back(placement_.gpu(family.actor(group, m)));
  BUSBAR_ASSIGN(nccl::NcclComm comm, nccl::build_nccl_comm(topology_, gpus, settings, 1, kept_));
  nccl::NcclTuning tuning = nccl::tune_nccl(comm);
  return std::make_unique<Communicator>(Communicator{choice::NcclSchedules(std::move(comm)), std::move(tuning)});
}

Result<const FamilyCommunicators*> Communicators::of(const collectives::GroupFamily& family, std::uint32_t channels) {
  for (const Known& known : families_)
    if (known.channels == channels && known.family == family) return &known.communicators;
  FamilyCommunicators out;
  for (std::uint32_t g = 0; g < family.groups(); ++g) {
    BUSBAR_ASSIGN(Shape shape, shape_of(family, g));
    shape.push_back(channels);
    if (!settings_.shortcuts.has(Shortcut::kCommunicatorsOfEqualGroups))
      shape.push_back(static_cast<std::uint32_t>(made_.size()));
    auto at = made_.find(shape);
    if (at == made_.end()) {
      BUSBAR_ASSIGN(auto fresh, make(family, g, channels));
      at = made_.emplace(std::move(shape), std::move(fresh)).first;
    } else {
      settings_.shortcuts.take(Shortcut::kCommunicatorsOfEqualGroups);
    }
    const auto known = std::find(out.classes.begin(), out.classes.end(), at->second.get());
    out.class_of.push_back(static_cast<std::uint32_t>(known - out.classes.begin()));
    if (known == out.classes.end()) out.classes.push_back(at->second.get());
  }
  families_.push_back({family, channels, std::move(out)});
  return &families_.back().communicators;
}

}  // namespace busbar::predict
