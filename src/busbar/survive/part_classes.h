// Which parts of a machine are alike, so that losing one of them is like losing any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::survive {

/// Parts that cannot be told apart by what is around them.
struct PartClass {
  std::string what;                    ///< "nic", "leaf", "rail", "cable leaf-spine", "nvlink gpu-nvswitch"
  std::vector<std::string> selectors;  ///< of the first, the middle and the last, as --fail takes it: "node0.nic2"
  std::uint64_t alike = 0;             ///< parts in the class
  bool ends_job = true;    ///< a job that uses it ends when it dies; traffic between switches finds other paths
  bool network = true;     ///< an operator can switch it off, which is not so inside servers
  bool dies_alone = true;  ///< false: the GPU dies with it, as with its PCIe link
};

/// A library may put equal parts at different places of its rings and trees. The first, middle and last part of a class
/// show how much this changes.
///
/// GPUs, NICs (with their cables), switches, rails (the NICs at one place of all nodes), cables between switches, links
/// of GPUs inside nodes. Parts are alike if their kinds, rates and neighbours are, and so on for the neighbours (colour
/// refinement). `colours`: per GPU of the machine; GPUs of different colours are never alike. In order of LinkId. Cost:
/// a few passes over all links.
std::vector<PartClass> part_classes(const topology::Topology& topology, std::span<const std::uint32_t> colours);

}  // namespace busbar::survive
