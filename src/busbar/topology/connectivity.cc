#include "busbar/topology/connectivity.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "busbar/base/disjoint_sets.h"

namespace busbar::topology {
namespace {

/// Chips of a torus forward for their neighbours.
bool passes_on(const Topology& t, LinkId link) { return t.link_class(link).kind == LinkKind::kIci; }

/// Joins the ends of every live cable. Cables of endpoints only if `with_endpoints` or if endpoints forward.
DisjointSets sets_of(const Topology& t, bool with_endpoints) {
  DisjointSets sets(t.device_count());
  for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
    const auto link = static_cast<LinkId>(l);
    const DeviceId a = t.from(link), b = t.to(link);
    const bool endpoint = (is_endpoint(t.kind(a)) || is_endpoint(t.kind(b))) && !passes_on(t, link);
    if (!t.failed(link) && (with_endpoints || !endpoint)) sets.join(index(a), index(b));
  }
  return sets;
}

/// Whether `gpu` touches the set with that root.
bool touches(const Topology& t, DisjointSets& sets, DeviceId gpu, std::uint32_t root) {
  for (const LinkId l : t.out_links(gpu)) {
    if (sets.find(index(t.to(l))) == root) return true;
  }
  return false;
}

Error cut_off(const Topology& t, DeviceId gpu, const char* how) {
  return Error{
      ErrorCode::kUnreachable,
      fmt::format("{} {}; give it a link that leads to the other GPUs, or take back what failed", t.name(gpu), how),
      {}};
}

}  // namespace

Status check_connected(const Topology& t) {
  const auto gpus = t.gpus();
  if (gpus.size() < 2) return {};
  for (const DeviceId g : gpus) {
    if (t.out_links(g).empty()) return cut_off(t, g, "is disconnected: it has no live link");
  }
  DisjointSets sets = sets_of(t, false);
  std::vector<std::uint32_t> touching(t.device_count(), 0);          // GPUs, per root of a set
  std::vector<DeviceId> counted(t.device_count(), kNone<DeviceId>);  // the last GPU counted for a root
  std::uint32_t best = 0;
  for (const DeviceId g : gpus) {
    for (const LinkId l : t.out_links(g)) {
      const std::uint32_t root = sets.find(index(t.to(l)));
      if (counted[root] == g || (is_endpoint(t.kind(t.to(l))) && !passes_on(t, l))) continue;
      counted[root] = g;
      if (++touching[root] > touching[best]) best = root;
    }
  }
  const auto lonely = std::find_if(gpus.begin(), gpus.end(),
                                   [&](DeviceId g) { return touching[best] == 0 || !touches(t, sets, g, best); });
  if (lonely == gpus.end()) return {};
  DisjointSets relayed = sets_of(t, true);
  for (const DeviceId g : gpus) {
    if (relayed.find(index(g)) == relayed.find(index(gpus[0]))) continue;
    return cut_off(t, touching[best] == 0 ? g : *lonely, "cannot reach the other GPUs");
  }
  return {};
}

}  // namespace busbar::topology
