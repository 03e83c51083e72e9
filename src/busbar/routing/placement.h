// The GPU that a rank runs on, and the NICs of its channels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/routing/router.h"

namespace busbar::routing {

class Placement {
 public:
  /// Rank r runs on gpus[r]; its channels take turns over the NICs nearest to its GPU.
  Placement(const Router& router, std::span<const topology::DeviceId> gpus);
  std::uint32_t ranks() const { return static_cast<std::uint32_t>(gpu_.size()); }
  topology::DeviceId gpu(std::uint32_t rank) const { return gpu_[rank]; }
  /// The number of channels after which the NICs repeat: the largest number of equally near NICs of a rank; at least 1.
  std::uint32_t nic_channels() const { return channels_; }
  topology::DeviceId nic(std::uint32_t rank, std::uint32_t channel) const {
    return nic_[std::size_t{rank} * channels_ + channel % channels_];
  }

 private:
  std::vector<topology::DeviceId> gpu_;
  std::vector<topology::DeviceId> nic_;
  std::uint32_t channels_ = 1;
};

}  // namespace busbar::routing
