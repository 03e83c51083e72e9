// Routes inside a block. The tables of a shape are made at the first request.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/routing/gpu_mesh.h"
#include "busbar/routing/internal/front.h"
#include "busbar/routing/internal/shape_table.h"
#include "busbar/routing/link_share.h"

namespace busbar::routing {

class BlockRoutes {
 public:
  /// `pxn`: GPUs may leave by NICs next to another GPU where the server has another way.
  explicit BlockRoutes(const topology::Topology& topology, bool pxn = true) : topology_(topology), pxn_(pxn) {}

  /// Appends the links of the best way between two GPUs. In order of preference: scale-up links, direct or over
  /// switches; over other GPUs; any links, by fewest hops. False, with nothing appended, if there is none.
  bool between(const topology::Block& block, topology::DeviceId from, topology::DeviceId to,
               std::vector<LinkShare>& out);
  /// The way between a GPU and a NIC, in either direction: by fewest hops over the server's links, otherwise over the
  /// GPU nearest to the NIC. A GPU also leaves over that GPU if its own way would cross a CPU, that GPU's way does not,
  /// and scale-up links join the two, direct or over switches (NCCL's PXN; as in NCCL, only in the sending direction).
  bool leave(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic, std::vector<LinkShare>& out);
  bool enter(const topology::Block& block, topology::DeviceId nic, topology::DeviceId gpu, std::vector<LinkShare>& out);
  /// Whether `gpu` reaches `nic` as well as its own NIC `own`: over no more hops, and over a host only if the way
  /// to `own` crosses one; or over NVLink and the NIC's own GPU, whose way crosses no host.
  bool leaves_as_well(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic,
                      topology::DeviceId own);
  /// The way over the NIC's own GPU, whether or not the server has another way.
  bool over_owner(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic,
                  std::vector<LinkShare>& out);
  bool from_owner(const topology::Block& block, topology::DeviceId nic, topology::DeviceId gpu,
                  std::vector<LinkShare>& out);
  /// The NICs with the fewest hops from `gpu` among those for which `usable` holds, ascending.
  template <typename Usable>
  std::vector<topology::DeviceId> nearest_nics(const topology::Block& block, topology::DeviceId gpu, Usable usable);
  /// The number of GPUs of its block before `gpu`.
  std::uint32_t ordinal(const topology::Block& block, topology::DeviceId gpu) {
    return table(block, RouteLevel::kAnyInside).gpus_before(index(gpu) - block.first_device);
  }

 private:
  /// How a GPU reaches a NIC.
  struct Exit {
    bool known = false;
    bool host = false;        ///< over CPUs
    bool relay = false;       ///< the way over the NIC's own GPU is better
    std::uint8_t hops = 255;  ///< over the server's links; 255: no such way
  };
  /// The ways requested so far by level, in blocks of up to kMostKept devices, up to kMostLinksKept; shared by all
  /// blocks of a shape.
  struct Ways {
    std::vector<std::uint32_t> number;  ///< by places of both ends: a row of `links`, or one of the two below
    Csr<LinkShare> links;               ///< relative to the block's first link
  };
  static constexpr std::uint32_t kMostKept = 2048, kNotSought = 0xffff'ffffu, kNoWay = 0xffff'fffeu;
  static constexpr std::size_t kMostLinksKept = 1 << 21;  ///< 32 MiB
  static constexpr std::size_t kMostHopsKept = 1 << 24;   ///< bytes
  static constexpr std::uint8_t kNotCounted = 254;
  struct Tables {
    std::optional<ShapeTable> level[2];
    std::vector<std::uint8_t> left[2];  ///< hops_left(), of all devices
    Ways ways[2];
    std::optional<GpuMesh> mesh;
    std::unordered_map<std::uint64_t, Exit> exits;  ///< by places of GPU and NIC; only looked up
    std::vector<std::uint32_t> owner;               ///< per place of a NIC, the place of its GPU once computed
  };
  Tables& tables(const topology::Block& block);
  const ShapeTable& table(const topology::Block& block, RouteLevel level);
  bool by_level(const topology::Block& block, RouteLevel level, topology::DeviceId from, topology::DeviceId to,
                std::vector<LinkShare>& out);
  int count_hops(const topology::Block& block, const ShapeTable& t, std::uint32_t x, topology::DeviceId to) const;
  std::span<std::uint8_t> hops_left(const topology::Block& block, RouteLevel level, topology::DeviceId to);
  bool find_by_level(const topology::Block& block, RouteLevel level, topology::DeviceId from, topology::DeviceId to,
                     std::vector<LinkShare>& out);
  bool by_gpus(const topology::Block& block, topology::DeviceId from, topology::DeviceId to,
               std::vector<LinkShare>& out);
  /// The GPU nearest to a NIC; NICs take turns over equally near GPUs. kNone if none reaches it.
  topology::DeviceId owner(const topology::Block& block, topology::DeviceId nic);
  topology::DeviceId find_owner(const topology::Block& block, topology::DeviceId nic);
  const Exit& exit(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic);
  Exit server_exit(const topology::Block& block, topology::DeviceId gpu, topology::DeviceId nic);

  const topology::Topology& topology_;
  bool pxn_;
  std::vector<Tables> shapes_;
  Front front_;
  std::vector<GpuMesh::Part> parts_;
};

template <typename Usable>
std::vector<topology::DeviceId> BlockRoutes::nearest_nics(const topology::Block& block, topology::DeviceId gpu,
                                                          Usable usable) {
  const ShapeTable& t = table(block, RouteLevel::kAnyInside);
  std::vector<topology::DeviceId> found;
  const auto consider = [&](std::uint32_t place) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + place);
    for (const topology::DeviceId known : found)
      if (known == d) return;
    if (usable(d)) found.push_back(d);
  };
  std::vector<std::uint32_t> ring, next, seen;
  const auto reach = [&](std::uint32_t transit) {
    for (const std::uint32_t known : seen)
      if (known == transit) return;
    seen.push_back(transit);
    next.push_back(transit);
  };
  for (const topology::LinkId l : topology_.out_links(gpu)) {
    const std::uint32_t place = index(topology_.to(l)) - block.first_device;
    if (place >= block.device_count) continue;
    if (topology_.kind(topology_.to(l)) == topology::DeviceKind::kNic) consider(place);
    if (t.transit(place) >= 0) reach(static_cast<std::uint32_t>(t.transit(place)));
  }
  while (found.empty() && !next.empty()) {
    std::swap(ring, next);
    next.clear();
    for (const std::uint32_t at : ring) {
      for (const std::uint32_t place : t.nics(at)) consider(place);
      for (const ShapeTable::Hop& hop : t.hops(at)) reach(hop.transit);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace busbar::routing
