// GPUs of one server that are joined to the same switches in the same way: what one sends or takes in, each does over
// its own links and the same others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::lowering {

class Twins {
 public:
  /// Divides `gpus`, which are in one block.
  Twins(const topology::Topology& topology, std::span<const topology::DeviceId> gpus);

  struct Class {
    std::vector<std::uint32_t> members;  ///< indices of `gpus`, ascending
  };
  const std::vector<Class>& classes() const { return classes_; }
  /// The place of a link among the scale-up links of member `m`, towards a switch; none: it is no such link of its.
  std::optional<std::size_t> place(std::uint32_t m, topology::LinkId out) const;
  /// The link at that place of member `m`.
  topology::LinkId link(std::uint32_t m, std::size_t place) const { return links_[m][place]; }

 private:
  std::vector<std::vector<topology::LinkId>> links_;  ///< per member, by switch
  std::vector<Class> classes_;
};

}  // namespace busbar::lowering
