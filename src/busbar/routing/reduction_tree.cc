#include "busbar/routing/reduction_tree.h"

#include <algorithm>

namespace busbar::routing {

topology::LinkId ReductionTrees::uplink(topology::DeviceId nic) const {
  for (const topology::LinkId l : topology_.out_links(nic)) {
    const topology::DeviceId d = topology_.to(l);
    if (topology_.block_of(d) == kNone<topology::BlockId> && topology_.device_class(d).reduces) return l;
  }
  return kNone<topology::LinkId>;
}

topology::DeviceId ReductionTrees::root(std::span<const topology::DeviceId> leaves, std::uint32_t tree) {
  if (leaves.empty()) return kNone<topology::DeviceId>;
  if (std::all_of(leaves.begin(), leaves.end(), [&](topology::DeviceId d) { return d == leaves[0]; })) return leaves[0];
  std::vector<topology::DeviceId> at;  // the switches so many hops above the first leaf
  for (std::uint8_t hops = 1; hops < FabricTable::kFar; ++hops) {
    at.clear();
    bool farther = false;
    for (const topology::DeviceId d : topology_.fabric_switches()) {
      const std::uint8_t away = table_.distance(number(d), number(leaves[0]));
      farther = farther || (away > hops && away < FabricTable::kFar);
      if (away == hops && topology_.device_class(d).reduces) at.push_back(d);
    }
    for (std::size_t i = 0; i < at.size(); ++i) {
      const topology::DeviceId d = at[(tree + i) % at.size()];
      const auto below = [&](topology::DeviceId leaf) { return table_.distance(number(leaf), number(d)) <= hops; };
      if (std::all_of(leaves.begin(), leaves.end(), below)) return d;
    }
    if (!farther) break;
  }
  return kNone<topology::DeviceId>;
}

bool ReductionTrees::climb(topology::DeviceId leaf, topology::DeviceId root, std::uint32_t tree,
                           std::vector<topology::LinkId>& out) {
  const std::size_t before = out.size();
  std::vector<topology::LinkId> nearer;
  for (topology::DeviceId at = leaf; at != root;) {
    const std::uint8_t left = table_.distance(number(at), number(root));
    nearer.clear();
    for (const FabricTable::Hop& hop : table_.hops(number(at)))
      if (topology_.device_class(topology_.to(hop.link)).reduces && table_.distance(hop.to, number(root)) < left)
        nearer.push_back(hop.link);
    if (left == FabricTable::kFar || nearer.empty()) {
      out.resize(before);
      return false;
    }
    out.push_back(nearer[tree % nearer.size()]);
    at = topology_.to(out.back());
  }
  return true;
}

}  // namespace busbar::routing
