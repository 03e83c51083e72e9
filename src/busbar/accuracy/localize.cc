#include "busbar/accuracy/localize.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "busbar/routing/router.h"
#include "busbar/topology/selector.h"

namespace busbar::accuracy {
namespace {

using Cables = std::set<std::uint32_t>;  ///< even LinkIds

constexpr double kMisleading = 0.05;  // share of measurements
constexpr double kCertain = 0.8;

class Ways {
 public:
  explicit Ways(const spec::Cluster& c) : t_(c.topology), router_(t_, topology::RoutingPolicy::kSpray, c.seed) {}

  /// Cables that a measurement of these GPUs uses. Between nodes, GPUs in the same place talk to each other.
  Result<Cables> of(const SubsetTime& m) const {
    Cables out;
    const auto gpus = t_.gpus();
    const bool pair = m.gpus.size() == 2;
    for (const std::uint32_t a : m.gpus)
      for (const std::uint32_t b : m.gpus) {
        if (a == b) continue;
        const bool inside = t_.block_of(gpus[a]) == t_.block_of(gpus[b]);
        if (inside || pair || place_of(gpus[a]) == place_of(gpus[b]))
          BUSBAR_RETURN_IF_ERROR(add(gpus[a], gpus[b], out));
      }
    return out;
  }

 private:
  std::uint32_t place_of(topology::DeviceId d) const {
    return index(d) - t_.blocks()[index(t_.block_of(d))].first_device;
  }

  Status add(topology::DeviceId from, topology::DeviceId to, Cables& out) const {
    if (t_.block_of(from) == t_.block_of(to))
      return add(from, to, kNone<topology::DeviceId>, kNone<topology::DeviceId>, out);
    const auto channels = static_cast<std::uint32_t>(std::max<std::size_t>(1, router_.nearest_nics(from).size()));
    for (std::uint32_t c = 0; c < channels; ++c) {
      const topology::DeviceId nic_to = router_.nearest_nic(to, c);
      const topology::DeviceId nic_from = router_.exit_nic(from, router_.nearest_nic(from, c), nic_to);
      BUSBAR_RETURN_IF_ERROR(add(from, to, nic_from, nic_to, out));
    }
    return {};
  }
  Status add(topology::DeviceId from, topology::DeviceId to, topology::DeviceId nic_from, topology::DeviceId nic_to,
             Cables& out) const {
    std::vector<routing::LinkShare> shares;
    BUSBAR_RETURN_IF_ERROR(router_.spread(from, to, nic_from, nic_to, 0, shares));
    for (const routing::LinkShare& s : shares) out.insert(index(s.link) & ~1u);
    return {};
  }

  const topology::Topology& t_;
  routing::Router router_;
};

/// Marks the slow measurements: those alike use as many cables of each class.
void mark_slow(std::vector<SubsetTime>& times, const std::vector<Cables>& cables, const topology::Topology& t,
               double threshold) {
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::map<std::uint32_t, int> classes;
    for (const std::uint32_t c : cables[i]) ++classes[t.link_class_index(static_cast<topology::LinkId>(c))];
    std::string key = fmt::format("{} {}", times[i].kind, times[i].gpus.size());
    for (const auto& [of, number] : classes) key += fmt::format(" {}x{}", number, of);
    alike[key].push_back(i);
  }
  for (const auto& [key, members] : alike) {
    std::vector<double> sorted;
    for (const std::size_t i : members) sorted.push_back(times[i].us_per_byte);
    std::sort(sorted.begin(), sorted.end());
    const double best = sorted[sorted.size() / 4];
    for (const std::size_t i : members) {
      times[i].slower_percent = 100 * (times[i].us_per_byte / best - 1);
      times[i].slow = times[i].slower_percent > threshold;
    }
  }
}

/// The parts in the order in which they are named: nodes, then what joins nodes if the slow measurements span several.
std::vector<Suspect> parts_to_name(const std::vector<SubsetTime>& times, const topology::Topology& t) {
  const bool spans = std::any_of(times.begin(), times.end(), [&](const SubsetTime& m) {
    return m.slow && t.block_of(t.gpus()[m.gpus.front()]) != t.block_of(t.gpus()[m.gpus.back()]);
  });
  std::vector<Suspect> out = single_parts(t);
  const auto joins_nodes = [&](const Suspect& s) {
    return s.rule == "slow-node" || (spans && (s.rule.starts_with("slow-nic") || s.rule == "slow-cable"));
  };
  std::stable_partition(out.begin(), out.end(), joins_nodes);
  return out;
}

}  // namespace

Result<Localization> localize(std::vector<SubsetTime> times, const spec::Cluster& cluster, double threshold_percent) {
  const topology::Topology& t = cluster.topology;
  const Ways paths(cluster);
  std::vector<Cables> used;
  for (const SubsetTime& m : times) {
    BUSBAR_ASSIGN(Cables cables, paths.of(m));
    used.push_back(std::move(cables));
  }
  Localization out;
  mark_slow(times, used, t, threshold_percent);
  out.times = std::move(times);
  const auto is_slow = [](const SubsetTime& m) { return m.slow; };
  const auto slow = static_cast<std::size_t>(std::count_if(out.times.begin(), out.times.end(), is_slow));
  if (slow == 0) return out;
  std::map<std::vector<bool>, std::size_t> of_crossed;  // parts crossed by the same measurements are one
  for (const Suspect& s : parts_to_name(out.times, t))
    for (const std::string& part : s.alike) {
      BUSBAR_ASSIGN(const std::vector<topology::LinkId> cables, topology::select_cables(t, part));
      std::vector<bool> crossed;
      std::size_t wrong = 0, explained = 0;
      for (std::size_t i = 0; i < used.size(); ++i) {
        crossed.push_back(std::any_of(cables.begin(), cables.end(),
                                      [&](topology::LinkId l) { return used[i].contains(index(l) & ~1u); }));
        wrong += crossed.back() != out.times[i].slow;
        explained += crossed.back() && out.times[i].slow;
      }
      if (explained == 0) continue;
      const auto [at, fresh] = of_crossed.try_emplace(std::move(crossed), out.found.size());
      if (fresh) out.found.push_back({{}, s.rule, s.words, wrong, 0});
      out.found[at->second].parts.push_back(part);
    }
  std::stable_sort(out.found.begin(), out.found.end(),
                   [](const LocatedPart& a, const LocatedPart& b) { return a.wrong < b.wrong; });
  double sum = 0;
  for (LocatedPart& f : out.found)
    sum += f.confidence = std::pow(kMisleading, static_cast<double>(f.wrong - out.found.front().wrong));
  for (LocatedPart& f : out.found) f.confidence /= sum;
  out.named = !out.found.empty() && out.found.front().confidence >= kCertain && out.found.front().wrong < slow;
  return out;
}

}  // namespace busbar::accuracy
