// Which parts of a machine are alike, so that losing one of them is like losing any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar {

/// Parts that cannot be told apart by what is around them.
struct PartClass {
  std::string what;                    ///< "nic", "leaf", "rail", "cable leaf-spine", "nvlink gpu-nvswitch"
  std::vector<std::string> selectors;  ///< of the first, the middle and the last, as --fail takes it: "node0.nic2"
  std::uint64_t alike = 0;             ///< parts in the class
  bool ends_job = true;    ///< a job that uses it ends when it dies; traffic between switches finds other paths
  bool network = true;     ///< an operator can switch it off; parts inside servers not
  bool dies_alone = true;  ///< false: the GPU dies with it, as with its PCIe link
};

/// What a library builds on the machine, such as trees, gives alike parts unlike places: the three of a class show by
/// how much.
///
/// GPUs, NICs (with their cables), switches, rails (the NICs at one place of all nodes), cables between switches, links
/// of GPUs inside nodes. Parts are alike if their kinds, rates and neighbours are, and so on for the neighbours (colour
/// refinement). `colours`: per GPU of the machine; GPUs of unlike colours are not alike. In order of LinkId. Cost: a
/// few passes over all links.
std::vector<PartClass> part_classes(const Topology& topology, std::span<const std::uint32_t> colours);

}  // namespace busbar
