#include <fmt/core.h>

#include <algorithm>

#include "busbar/topology/internal/fabric_kinds.h"

namespace busbar::topology {
namespace {

constexpr std::uint32_t kLongestDimension = 128;  ///< hops are counted in 8 bits; three halves of this fit

std::uint32_t extent(const FabricSpec& spec, std::size_t dimension) {
  return std::max<std::uint32_t>(1, spec.dims[dimension]);
}

/// Cables of a switch along one dimension: a ring of two has one neighbour.
std::uint32_t neighbours(std::uint32_t n) { return n <= 1 ? 0 : n == 2 ? 1 : 2; }

}  // namespace

Result<FabricPlan> plan_torus(const FabricSpec& spec, std::uint32_t nodes, std::uint32_t nics) {
  const std::uint64_t all = std::uint64_t{nodes} * nics, parallel = std::max<std::uint32_t>(1, spec.tier(0).parallel);
  std::uint64_t switches = 1, up = 0;
  for (std::size_t d = 0; d < spec.dims.size(); ++d) {
    switches *= extent(spec, d);
    up += neighbours(extent(spec, d)) * parallel;
    if (extent(spec, d) <= kLongestDimension) continue;
    return cannot(spec, nodes, nics,
                  fmt::format("a dimension of {} is longer than {}", spec.dims[d], kLongestDimension));
  }
  if (spec.dims[0] == 0) return cannot(spec, nodes, nics, "it has no dimensions; add 'dims: [4, 4]'");
  if (switches * up > kMostCables) {
    return cannot(spec, nodes, nics, fmt::format("{} switches of {} cables are too many", switches, up));
  }
  const std::uint64_t down = spec.leaf_down > 0 ? spec.leaf_down : ceil_div(all, switches);
  const SwitchSpec& s = spec.tier(0).switches;
  if (down > room_for(s, spec.nic_link) || up > room_for(s, spec.tier(0).up, down * part_of_port(s, spec.nic_link))) {
    return cannot(spec, nodes, nics, fmt::format("{} NICs and {} cables to neighbours on {}", down, up, describe(s)));
  }
  if (down * switches < all) {
    return cannot(spec, nodes, nics,
                  fmt::format("{} switches of {} NICs hold {}, not {}", switches, down, switches * down, all));
  }
  FabricPlan plan;
  plan.kind = FabricKind::kTorus;
  plan.tiers = {{static_cast<std::uint32_t>(switches)}};
  plan.down = static_cast<std::uint32_t>(down);
  return plan;
}

void cable_torus(const FabricSpec& spec, const std::vector<DeviceId>& leaves, TopologyBuilder& builder) {
  std::uint32_t stride = 1;
  for (std::size_t d = 0; d < spec.dims.size(); ++d) {
    const std::uint32_t n = extent(spec, d);
    for (std::uint32_t i = 0; n > 1 && i < leaves.size(); ++i) {
      const std::uint32_t at = i / stride % n;
      if (n == 2 && at == 1) continue;  // its only cable exists already
      const std::uint32_t next = i - at * stride + (at + 1) % n * stride;
      for (std::uint32_t c = 0; c < std::max<std::uint32_t>(1, spec.tier(0).parallel); ++c) {
        builder.connect(leaves[i], leaves[next], spec.tier(0).up);
      }
    }
    stride *= n;
  }
}

}  // namespace busbar::topology
