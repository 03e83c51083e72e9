// Hops between the switches outside all blocks, towards one switch at a time, computed when first asked.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/topology.h"

namespace busbar {

class FabricTable {
 public:
  static constexpr std::uint8_t kFar = 255;

  explicit FabricTable(const Topology& topology);
  struct Hop {
    std::uint32_t to;  ///< fabric number
    LinkId link;
  };
  /// Number of a fabric switch (place in Topology::fabric_switches()), or -1.
  std::int32_t number(DeviceId d) const;
  std::span<const Hop> hops(std::uint32_t from) const { return hops_.row(from); }
  /// Hops from every switch to `to`. Not safe for concurrent first calls.
  const std::vector<std::uint8_t>& row(std::uint32_t to);

 private:
  std::vector<std::int32_t> number_;  ///< per device from first_ on
  std::uint32_t first_ = 0;
  Csr<Hop> hops_;
  std::vector<std::vector<std::uint8_t>> rows_;
};

}  // namespace busbar
