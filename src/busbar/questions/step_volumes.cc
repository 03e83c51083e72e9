#include "busbar/questions/step_volumes.h"

#include <algorithm>

#include "busbar/predict/prediction.h"
#include "busbar/questions/bound_by.h"
#include "busbar/routing/path_view.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/tiers.h"

namespace busbar::questions {
namespace {

/// The links on the way between two GPUs, named by the narrowest of those at the highest tier.
struct Reach {
  std::uint8_t tier = 0;  ///< of the highest switch outside servers; 0: none
  std::string links;      ///< "NVLink", "InfiniBand, leaf"
};

Reach reach_of(const routing::Router& router, topology::DeviceId a, topology::DeviceId b,
               const std::vector<std::uint8_t>& tiers) {
  const topology::Topology& t = router.topology();
  Reach out;
  const auto route = routing::view_route(router, a, b);
  if (!route.ok()) return out;
  double narrowest = 0;
  for (const routing::PathHop& hop : route->hops) {
    const topology::LinkId link = hop.links.front().link;
    const std::uint8_t tier = std::max(tiers[index(t.from(link))], tiers[index(t.to(link))]);
    if (!out.links.empty() && (tier < out.tier || (tier == out.tier && hop.payload_GBps >= narrowest))) continue;
    out = {tier, questions::brand_of(t.link_class(link))};
    narrowest = hop.payload_GBps;
  }
  if (out.tier > 0) out.links += ", " + topology::tier_name(out.tier);
  return out;
}

/// The first, of two equal ones.
Reach farther(Reach a, Reach b) { return a.links.empty() || b.tier > a.tier ? std::move(b) : std::move(a); }

/// Which links groups of ranks need.
class Levels {
 public:
  explicit Levels(const step::TrainRun& run)
      : machine_(*run.machine),
        topology_(run.cluster().topology),
        domain_(std::max(1u, topology::scale_up_domain(topology_).gpus)),
        tiers_(topology::switch_tiers(topology_)) {}

  /// From the first group. Rank r is on GPU r.
  std::string level(const collectives::GroupFamily& groups) const {
    const auto gpu = [&](std::uint32_t member) { return groups.actor(0, member); };
    if (machine_.in_host_memory(groups)) return "host memory";
    bool one_domain = true, one_node = true;
    for (std::uint32_t m = 1; m < groups.size(); ++m) {
      one_domain = one_domain && gpu(m) / domain_ == gpu(0) / domain_;
      one_node =
          one_node && topology_.block_of(topology_.gpus()[gpu(m)]) == topology_.block_of(topology_.gpus()[gpu(0)]);
    }
    return domain_ > 1 && one_domain ? "scale-up links" : one_node ? "inside a node" : "network";
  }

  /// The farthest links between the first member and those half around and all around a ring, of three groups.
  Reach reach(const collectives::GroupFamily& groups) const {
    Reach far;
    const std::uint32_t n = groups.size();
    for (const std::uint32_t g : {0u, groups.groups() / 2, groups.groups() - 1})
      for (const std::uint32_t m : {1u, n / 2, n - 1}) {
        if (m == 0 || m >= n) continue;
        Reach to = reach_of(machine_.router(), gpu(groups, g, 0), gpu(groups, g, m), tiers_);
        far = farther(std::move(far), std::move(to));
      }
    return far;
  }

 private:
  topology::DeviceId gpu(const collectives::GroupFamily& groups, std::uint32_t group, std::uint32_t member) const {
    return machine_.placement().gpu(groups.actor(group, member));
  }

  const predict::Predictor& machine_;
  const topology::Topology& topology_;
  std::uint32_t domain_;
  std::vector<std::uint8_t> tiers_;
};

/// What all members of a group send to others, as a factor of S.
double sent_by_call(const program::CollectiveCall& c) {
  const std::uint32_t n = c.groups.size();
  if (c.op != collectives::Collective::kAllToAllV || c.pairs.begin.empty()) return predict::sent_by_group(c.op, n);
  std::uint64_t most = 1, away = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    most = std::max<std::uint64_t>(most, c.pairs.begin[i * n + n] - c.pairs.begin[i * n]);
    away += c.pairs.begin[i * n + n] - c.pairs.begin[i * n] - c.pairs.count(n, i, i);
  }
  return static_cast<double>(away) / static_cast<double>(most);
}

}  // namespace

std::vector<Volume> step_volumes(const step::TrainRun& run) {
  const Levels levels(run);
  std::vector<Volume> out;
  for (const step::CallUse& u : run.step.calls) {
    const program::CollectiveCall& c = run.program.calls[index(u.call)];
    const double n = c.groups.size(), groups = c.groups.groups(), count_of = static_cast<double>(u.count);
    const std::string level = levels.level(c.groups);
    auto at = std::find_if(out.begin(), out.end(), [&](const Volume& v) {
      return v.cls == u.cls && v.op == c.op && v.ranks == c.groups.size() && v.level == level;
    });
    if (at == out.end()) at = out.insert(out.end(), {u.cls, c.op, c.groups.size(), 0, 0, 0, level, 0, {}});
    Reach far = farther({at->tier, std::move(at->links)}, levels.reach(c.groups));
    at->tier = far.tier;
    at->links = std::move(far.links);
    at->calls_per_gpu += count_of * groups * n / run.layout.ranks();
    at->message_bytes += count_of * groups * n / run.layout.ranks() * static_cast<double>(count(c.bytes));
    at->bytes_per_gpu += count_of * groups * sent_by_call(c) * static_cast<double>(count(c.bytes)) / run.layout.ranks();
  }
  for (Volume& v : out) v.message_bytes /= v.calls_per_gpu;
  std::stable_sort(out.begin(), out.end(), [](const Volume& a, const Volume& b) {
    return a.cls != b.cls ? a.cls < b.cls : a.bytes_per_gpu > b.bytes_per_gpu;
  });
  return out;
}

const char* law_of(collectives::Collective op) {
  switch (op) {
    case collectives::Collective::kAllReduce:
      return "2 (n-1)/n S";
    case collectives::Collective::kAllGather:
    case collectives::Collective::kReduceScatter:
    case collectives::Collective::kAllToAll:
    case collectives::Collective::kAllToAllV:
      return "(n-1)/n S";
    default:
      return "S from one rank";
  }
}

}  // namespace busbar::questions
