// The relation of two devices of one block, in the words of NCCL and nvidia-smi.
//
// Source: NVIDIA NCCL 2.30.7, src/graph/{topo,paths}.cc for the names and their order; the legend of `nvidia-smi topo
// -m` for PHB and NODE.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busbar/topology/topology.h"

namespace busbar::topology {

/// From near to far; a path has the type of its farthest link. Compare with other programs by name, not by number.
enum class PathType : std::uint8_t {
  kLoc,  ///< the device itself
  kNvl,  ///< scale-up links, over switches at most
  kNvb,  ///< scale-up links with a GPU between them
  kC2c,  ///< GPU to CPU by a coherent chip-to-chip link
  kPix,  ///< at most one PCIe switch
  kPxb,  ///< several PCIe switches, no host bridge
  kP2c,  ///< chip to chip to the CPU that owns the NIC
  kPxn,  ///< to a NIC through another GPU that is next to it
  kPhb,  ///< through a CPU's host bridge
  kSys,  ///< from socket to socket or NUMA node to NUMA node
  kNet,  ///< through the network
  kDis,  ///< no path
};
const char* name_of(PathType type);  ///< "NVL", "PIX", ...

/// The type of a walk over these links, in order. Between blocks: kNet. No link: kLoc.
PathType classify(const Topology& topology, std::span<const LinkId> walk);

/// Whether a GPU between two others may forward traffic (NCCL's NVB).
enum class GpuRelay : std::uint8_t { kNo, kYes };

/// Paths from one device to all others of its block: lowest type, then fewest hops. Rules: NICs, drives and NUMA nodes
/// forward nothing. A GPU forwards only as the middle of two scale-up links; chips joined by ICI forward any number of
/// times. A host bridge between devices of different NUMA nodes is kSys. Cost: O(links x hops) of the block.
class BlockPaths {
 public:
  /// Pre: `from` lies in a block.
  BlockPaths(const Topology& topology, DeviceId from, GpuRelay relay);
  /// `to` must be in the same block.
  PathType type(DeviceId to) const;
  std::uint32_t hops(DeviceId to) const { return reached_[place(to)].hops; }

 private:
  struct Reached {
    PathType type = PathType::kDis;
    std::uint32_t hops = 0;
    bool chip_to_chip = false;
  };
  std::uint32_t place(DeviceId d) const { return index(d) - first_; }
  Reached step(const Reached& at, LinkId link, GpuRelay relay) const;

  const Topology& topology_;
  DeviceId from_;
  std::uint32_t first_ = 0;
  std::vector<Reached> reached_;
};

/// Bonded scale-up lanes between two GPUs of a block: the direct ones. If there are none, the lanes into switches of
/// the GPU that has fewer. 0: none.
std::uint32_t bonded_lanes(const Topology& topology, DeviceId a, DeviceId b);

}  // namespace busbar::topology
