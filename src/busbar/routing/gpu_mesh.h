// GPUs (and TPU chips) of one shape of block that are wired to each other, and routes that pass through other GPUs.
//
// NVLink and xGMI: at most one GPU in between, as in NCCL (its path type NVB). ICI: any number of chips. A complete
// torus or grid is routed by its coordinates, dimension by dimension. Any other mesh of ICI links gets rows of hops,
// computed on request.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/topology/topology.h"

namespace busbar::routing {

/// The extents of a torus or grid; ordinal = x + X (y + Y z).
struct Grid {
  std::array<std::uint32_t, 3> extent{1, 1, 1};
  std::array<bool, 3> wraps{};  ///< whether the ends of a dimension are joined
};

class GpuMesh {
 public:
  static constexpr std::uint8_t kFar = 255;
  struct Hop {
    std::uint32_t to;    ///< ordinal of a GPU in its block
    std::uint32_t link;  ///< relative to Block::first_link
    double rate;         ///< wire, bytes/s
  };
  struct Part {
    std::uint32_t link;
    double share;
  };

  GpuMesh(const topology::Topology& topology, const topology::Block& block);
  bool empty() const { return hops_.values.empty(); }
  const std::optional<Grid>& grid() const { return grid_; }
  /// Appends the links from GPU `from` to GPU `to` (ordinals). False if no GPU can forward.
  /// Cost: grid O(hops); NVLink O(neighbours squared); otherwise the row of `to`, once.
  bool route(std::uint32_t from, std::uint32_t to, std::vector<Part>& out);

 private:
  void find_grid();
  std::optional<Grid> as_grid(std::array<std::uint32_t, 3> extent, std::size_t pairs) const;
  bool over_one(std::uint32_t from, std::uint32_t to, std::vector<Part>& out) const;
  void along(const Grid& grid, std::uint32_t from, std::uint32_t to, std::vector<Part>& out) const;
  bool over_many(std::uint32_t from, std::uint32_t to, std::vector<Part>& out);
  const std::vector<std::uint8_t>& row(std::uint32_t to);
  double rate(std::uint32_t from, std::uint32_t to) const;
  void cross(std::uint32_t from, std::uint32_t to, double share, std::vector<Part>& out) const;

  Csr<Hop> hops_;
  bool ici_ = false;
  std::optional<Grid> grid_;
  std::vector<std::vector<std::uint8_t>> rows_;
};

/// Extents of the box of a torus or grid that every group of `size` GPUs in `gpus` fills, the fastest dimension first,
/// without extents of 1. Empty if the groups differ, fill no box of one block, are not in the order of their
/// coordinates, or are not wired as a torus or grid. Precondition: size divides gpus.size().
std::vector<std::uint32_t> torus_extents(const topology::Topology& topology, std::span<const topology::DeviceId> gpus,
                                         std::uint32_t size);

}  // namespace busbar::routing
