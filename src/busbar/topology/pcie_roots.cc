#include "busbar/topology/pcie_roots.h"

#include <algorithm>

#include "busbar/topology/tree_view.h"

namespace busbar::topology {
namespace {

bool has_cable(const Topology& t, DeviceId nic) {
  const auto links = t.out_links(nic);
  return std::any_of(links.begin(), links.end(), [&](LinkId l) { return is_fabric(t.link_class(l).kind); });
}

}  // namespace

std::vector<PcieRoot> pcie_roots(const Topology& t, BlockId block) {
  std::vector<PcieRoot> out;
  bool below_cpu = false;  // else the tree starts with a switch or a single device
  for (const TreeLine& line : block_tree(t, block)) {
    if (line.depth == 0) below_cpu = t.kind(line.device) == DeviceKind::kCpu;
    if (line.depth == (below_cpu ? 1 : 0)) out.push_back({line.device, {}, {}});
    if (out.empty()) continue;
    if (t.kind(line.device) == DeviceKind::kGpu) out.back().gpus.push_back(line.device);
    if (t.kind(line.device) == DeviceKind::kNic) out.back().nics.push_back(line.device);
  }
  std::erase_if(out, [](const PcieRoot& r) { return r.gpus.empty() && r.nics.empty(); });
  return out;
}

std::vector<DeviceId> gpu_nics(const Topology& t, const std::vector<PcieRoot>& roots) {
  std::vector<DeviceId> all, beside, cabled;
  for (const PcieRoot& r : roots)
    for (const DeviceId nic : r.nics) {
      all.push_back(nic);
      if (!r.gpus.empty()) beside.push_back(nic);
      if (has_cable(t, nic)) cabled.push_back(nic);
    }
  return !cabled.empty() ? cabled : !beside.empty() ? beside : all;
}

}  // namespace busbar::topology
