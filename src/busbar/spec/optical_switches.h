// Optical circuit switches that re-wire a torus of cubes.
#pragma once

#include <cstdint>

#include "busbar/base/units.h"

namespace busbar::spec {

/// Per scale-up domain.
struct OpticalSwitches {
  std::uint32_t switches = 0;  ///< 0: none
  std::uint32_t cube = 0;      ///< chips along an edge of a cube that is wired with copper
  std::uint32_t cubes = 0;     ///< that a pod has at most; 0: as many as its shape says
  Duration switching;          ///< the mirrors turn: until light passes the new way
  Duration initialisation;     ///< the links train again, and the chips learn the new shape
  /// Until another shape, or a spare cube, is connected. The restart of the job is not in it.
  Duration reconfiguration() const { return switching + initialisation; }
  std::uint32_t chips_in_cube() const { return cube * cube * cube; }
  /// Fibres from cubes to switches, for a domain of `chips` chips: six faces of each cube.
  std::uint64_t links(std::uint64_t chips) const {
    const std::uint64_t edge = cube, cubes = edge == 0 ? 0 : chips / (edge * edge * edge);
    return cubes * 6 * edge * edge;
  }
};

}  // namespace busbar::spec
