#include "busbar/lowering/channels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "busbar/collectives/chain.h"
#include "busbar/routing/gpu_mesh.h"

namespace busbar::lowering {
namespace {

/// A channel's way through a server.
struct Entry {
  std::uint32_t member;  ///< of the domain, where the channel enters
  bool downwards;
};

/// The members of one group that stand in one server.
class Domain {
 public:
  Domain(const program::CollectiveCall& call, const routing::Placement& placement, std::uint32_t group,
         std::uint32_t first, std::uint32_t size)
      : call_(call), placement_(placement), group_(group), first_(first), size_(size) {}

  topology::DeviceId nic(std::uint32_t m, std::uint32_t channel) const {
    return placement_.nic(call_.groups.actor(group_, first_ + m), channel);
  }
  std::uint32_t nics() const {
    std::vector<topology::DeviceId> all;
    for (std::uint32_t m = 0; m < size_; ++m)
      for (std::uint32_t c = 0; c < placement_.nic_channels(); ++c) all.push_back(nic(m, c));
    std::sort(all.begin(), all.end());
    return static_cast<std::uint32_t>(std::unique(all.begin(), all.end()) - all.begin());
  }
  /// Ways for channels 0, 1, ... that enter by different NICs, members taking turns; as many as there are, up to
  /// `most`.
  std::vector<Entry> entries(std::uint32_t most) const {
    std::vector<Entry> out;
    std::unordered_set<std::uint32_t> used;  // NICs; only looked up
    std::vector<std::uint32_t> times(size_, 0);
    while (out.size() < most) {
      const auto channel = static_cast<std::uint32_t>(out.size());
      std::uint32_t best = size_;
      for (std::uint32_t m = 0; m < size_; ++m) {
        if (best < size_ && times[m] >= times[best]) continue;
        if (!used.contains(index(nic(m, channel)))) best = m;
      }
      if (best == size_) break;
      const topology::DeviceId own = nic(best, channel);
      used.insert(index(own));
      ++times[best];
      out.push_back({best, shares((best + 1) % size_, own) && !shares((best + size_ - 1) % size_, own)});
    }
    return out;
  }

 private:
  bool shares(std::uint32_t m, topology::DeviceId other) const {
    for (std::uint32_t c = 0; c < placement_.nic_channels(); ++c)
      if (nic(m, c) == other) return true;
    return false;
  }
  const program::CollectiveCall& call_;
  const routing::Placement& placement_;
  std::uint32_t group_, first_, size_;
};

/// Payload bytes per second that one GPU of the call sends another by their own links.
double direct_rate(const program::CollectiveCall& call, const topology::Topology& topology,
                   const routing::Placement& placement, std::uint32_t from, std::uint32_t to) {
  double rate = 0;
  for (const topology::LinkId l : topology.out_links(placement.gpu(call.groups.actor(0, from))))
    if (topology.to(l) == placement.gpu(call.groups.actor(0, to)))
      rate += static_cast<double>(per_second(topology.link_class(l).wire_rate)) * topology.link_class(l).efficiency;
  return rate;
}

/// Bytes per second of the fastest links along each dimension of the first group, in one direction of its rings. Where
/// both directions cross the same links, because there are two GPUs or no link joins the ends, half of that.
std::vector<double> dimension_rates(const program::CollectiveCall& call, std::span<const std::uint32_t> extents,
                                    const topology::Topology& topology, const routing::Placement& placement) {
  std::vector<double> out;
  std::uint32_t stride = 1;
  for (const std::uint32_t extent : extents) {
    double most = 0;
    for (std::uint32_t m = 0; m < call.groups.size(); ++m)
      if (m / stride % extent + 1 < extent)
        most = std::max(most, direct_rate(call, topology, placement, m, m + stride));
    const bool ring = extent > 2 && direct_rate(call, topology, placement, (extent - 1) * stride, 0) > 0;
    out.push_back(ring ? most : most / 2);
    stride *= extent;
  }
  return out;
}

/// The longest time of a dimension for a buffer of one byte, if channels start with the dimensions of `starts`.
double longest_of(std::span<const std::uint32_t> starts, std::span<const std::uint32_t> extents,
                  std::span<const double> rates) {
  std::vector<double> load(extents.size(), 0.0);
  for (const std::uint32_t start : starts) {
    double bytes = 1.0 / static_cast<double>(starts.size());
    for (std::size_t i = 0; i < extents.size(); ++i) {
      const std::size_t d = (start + i) % extents.size();
      load[d] += bytes * (extents[d] - 1.0) / extents[d];
      bytes /= extents[d];
    }
  }
  double longest = 0;
  for (std::size_t d = 0; d < load.size(); ++d) longest = std::max(longest, load[d] / rates[d]);
  return longest;
}

/// Trees of reducing switches and their limits: as many trees as GPUs have NICs, no more than the switches hold.
void limit_trees(const program::CollectiveCall& call, const topology::Topology& topology,
                 const routing::Placement& placement, collectives::ScheduleSpec& spec) {
  spec.message_bytes = count(call.bytes);
  for (const topology::DeviceId d : topology.fabric_switches()) {
    const topology::DeviceClass& c = topology.device_class(d);
    if (!c.reduces) continue;
    if (c.reduce_trees > 0) spec.max_trees = std::min(spec.max_trees, c.reduce_trees);
    if (count(c.reduce_message) > 0) spec.max_message_bytes = std::min(spec.max_message_bytes, count(c.reduce_message));
  }
  spec.channels = call.channels > 0 ? call.channels : std::min(spec.max_trees, placement.nic_channels());
}

}  // namespace

std::uint32_t ranks_per_domain(const program::CollectiveCall& call, const topology::Topology& topology,
                               const routing::Placement& placement) {
  const std::uint32_t n = call.groups.size();
  const auto block = [&](std::uint32_t group, std::uint32_t member) {
    return topology.block_of(placement.gpu(call.groups.actor(group, member)));
  };
  std::uint32_t run = 1;
  while (run < n && block(0, run) == block(0, 0)) ++run;
  if (n % run != 0) return 1;
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < n; ++m)
      if ((block(g, m) == block(g, m - m % run)) != true || (m % run == 0 && m > 0 && block(g, m) == block(g, m - 1)))
        return 1;
  return run;
}

std::vector<std::vector<std::uint32_t>> ring_orders(const program::CollectiveCall& call,
                                                    const topology::Topology& topology,
                                                    const routing::Placement& placement, std::uint32_t per_domain,
                                                    std::uint32_t most) {
  const std::uint32_t n = call.groups.size();
  if (per_domain < 2 || per_domain == n || topology.blocks().size() < 2) return {};
  std::uint32_t fewest = UINT32_MAX, group = 0, place = 0;  // the server with the fewest NICs
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t first = 0; first < n; first += per_domain) {
      const std::uint32_t nics = Domain(call, placement, g, first, per_domain).nics();
      if (nics < fewest) fewest = nics, group = g, place = first;
    }
  const Domain scarce(call, placement, group, place, per_domain);
  const std::vector<Entry> entries = scarce.entries(most == 0 ? fewest : std::min(most, fewest));
  if (entries.size() < 2) return {};
  std::vector<std::vector<std::uint32_t>> orders;
  for (const Entry& e : entries) {
    auto& order = orders.emplace_back(n);
    for (std::uint32_t first = 0; first < n; first += per_domain) {
      std::uint32_t member = e.member;
      for (std::uint32_t i = first; i < first + per_domain; ++i) {
        order[i] = first + member;
        member = e.downwards ? (member == 0 ? per_domain : member) - 1 : (member + 1 == per_domain ? 0 : member + 1);
      }
    }
  }
  return orders;
}

std::vector<std::uint32_t> torus_dimensions(const program::CollectiveCall& call, const topology::Topology& topology,
                                            const routing::Placement& placement) {
  std::vector<topology::DeviceId> gpus;
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g)
    for (std::uint32_t m = 0; m < call.groups.size(); ++m) gpus.push_back(placement.gpu(call.groups.actor(g, m)));
  const std::uint32_t per_domain = ranks_per_domain(call, topology, placement);
  return routing::torus_extents(topology, gpus, per_domain > 1 ? per_domain : call.groups.size());
}

std::vector<std::uint32_t> torus_starts(std::span<const std::uint32_t> extents, std::span<const double> rates) {
  constexpr std::uint32_t kMostTurns = 8;
  constexpr double kWorth = 0.97;  // of the time, for one more channel in each direction
  const auto d = static_cast<std::uint32_t>(extents.size());
  if (d < 2 || *std::min_element(rates.begin(), rates.end()) == 0) return {};
  std::vector<std::uint32_t> starts(d), best;
  std::iota(starts.begin(), starts.end(), 0u);
  double least = longest_of(starts, extents, rates);
  for (starts = {}; starts.size() < kMostTurns;) {  // one more, where it shortens the time most
    std::vector<std::uint32_t> next;
    double shortest = INFINITY;
    for (std::uint32_t s = 0; s < d; ++s) {
      starts.push_back(s);
      if (const double time = longest_of(starts, extents, rates); time < shortest) shortest = time, next = starts;
      starts.pop_back();
    }
    starts = std::move(next);
    if (shortest < kWorth * least) least = shortest, best = starts;
  }
  return best;
}

std::uint32_t pipeline_chunks(const program::CollectiveCall& call, const collectives::Schedule& schedule,
                              const program::ProtocolModel& protocol, std::uint32_t all_channels) {
  if (call.chunks != 0) return call.chunks;
  const std::uint64_t piece = count(protocol.chunk) * all_channels;
  if (piece == 0 || !collectives::pipelines(schedule)) return 1;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count(call.bytes) / piece, 1, kMostChunks));
}

Result<collectives::Schedule> build_for_call(const program::CollectiveCall& call, const topology::Topology& topology,
                                             const routing::Placement& placement, std::uint32_t per_domain,
                                             std::uint32_t most_channels) {
  collectives::ScheduleSpec spec;
  spec.algorithm = call.algorithm;
  spec.op = call.op;
  spec.ranks = call.groups.size();
  spec.ranks_per_group = per_domain;
  spec.root = call.root;
  spec.pairs = call.pairs;
  const collectives::AlgorithmTraits traits = collectives::traits_of(call.algorithm);
  if (traits.takes_orders) {
    if (call.channels == 0 && traits.channels_per_order > 1)
      most_channels = most_channels == 0 ? kMostTreeChannels : std::min(most_channels, kMostTreeChannels);
    const std::uint32_t most = most_channels == 0 ? 0 : std::max(1u, most_channels / traits.channels_per_order);
    spec.orders = ring_orders(call, topology, placement, per_domain, most);
  }
  if (traits.takes_dimensions) {
    spec.dimensions = torus_dimensions(call, topology, placement);
    spec.starts = torus_starts(spec.dimensions, dimension_rates(call, spec.dimensions, topology, placement));
  }
  if (traits.reduces_in_fabric) limit_trees(call, topology, placement, spec);
  return collectives::build_schedule(spec);
}

}  // namespace busbar::lowering
