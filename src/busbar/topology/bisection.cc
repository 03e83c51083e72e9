#include "busbar/topology/bisection.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "busbar/topology/internal/max_flow.h"
#include "busbar/topology/levels.h"
#include "busbar/topology/tiers.h"

namespace busbar::topology {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostSplit = 16;        ///< GPUs for which all splits are tried: 6,435 of them
constexpr std::uint32_t kMostLinks = 60'000;  ///< for one maximum flow in some ten milliseconds

double width(const Topology& t, LinkId l) { return static_cast<double>(per_second(t.link_class(l).floor_rate())); }

/// Devices first_device .. first_device + count as a network; the last two nodes represent the halves.
class HalfFlow {
 public:
  HalfFlow(const Topology& t, bool scale_up_only) : gpus_(t.gpus()) {
    for (std::uint32_t l = 0; l < t.link_count(); l += 2) {
      const auto link = static_cast<LinkId>(l);
      if (!t.failed(link) && (!scale_up_only || is_scale_up(t.link_class(link).kind)))
        links_.push_back({index(t.from(link)), index(t.to(link)), width(t, link)});
    }
    devices_ = t.device_count();
  }
  /// `first[i]`: GPU i belongs to the first half. A half is one node, so its GPUs need no edges of their own.
  double between(const std::vector<bool>& first) const {
    std::vector<std::uint32_t> node(devices_);
    for (std::uint32_t d = 0; d < devices_; ++d) node[d] = d;
    for (std::size_t i = 0; i < gpus_.size(); ++i) node[index(gpus_[i])] = devices_ + (first[i] ? 0 : 1);
    MaxFlow flow(devices_ + 2);
    for (const Cable& c : links_)
      if (node[c.a] != node[c.b]) flow.connect(node[c.a], node[c.b], c.width, c.width);
    return flow.solve(devices_, devices_ + 1);
  }

 private:
  struct Cable {
    std::uint32_t a, b;
    double width;
  };
  std::span<const DeviceId> gpus_;
  std::vector<Cable> links_;
  std::uint32_t devices_ = 0;
};

Bisection all_splits(const HalfFlow& flow, std::size_t n, const std::string& over) {
  double narrowest = kUnlimited;
  std::uint32_t splits = 0;
  for (std::uint32_t mask = 0; mask < 1u << n; ++mask) {
    if (static_cast<std::size_t>(__builtin_popcount(mask)) != n / 2) continue;
    if (n % 2 == 0 && (mask & 1u) == 0) continue;  // only one of two mirror images is needed
    std::vector<bool> first(n);
    for (std::size_t i = 0; i < n; ++i) first[i] = (mask >> i & 1u) != 0;
    narrowest = std::min(narrowest, flow.between(first));
    ++splits;
  }
  return {narrowest / kGiga, "exact",
          fmt::format("narrowest of all {} splits into {} and {} GPUs, {}", splits, n / 2, n - n / 2, over)};
}

/// Consecutive runs of equally many GPUs belong to the halves in turn. In a torus whose first dimension varies fastest,
/// this includes each cut across one dimension.
Bisection regular_splits(const HalfFlow& flow, std::size_t n, const std::string& over) {
  double narrowest = kUnlimited;
  std::size_t best = n / 2;
  for (std::size_t run = n / 2; run > 0; --run) {
    if (run < n / 2 && n % (2 * run) != 0) continue;
    std::vector<bool> first(n);
    for (std::size_t i = 0; i < n; ++i) first[i] = run == n / 2 ? i < run : i / run % 2 == 0;
    const double width = flow.between(first);
    if (width < narrowest * (1 - 1e-9)) narrowest = width, best = run;
  }
  const std::string halves = best == n / 2
                                 ? fmt::format("GPUs 0 to {} against {} to {}", n / 2 - 1, n / 2, n - 1)
                                 : fmt::format("runs of {} GPUs by turns, the narrowest of all such splits", best);
  return {narrowest / kGiga, "symmetric", fmt::format("{}, {}", halves, over)};
}

Bisection inside_block(const Topology& t) {
  const std::size_t n = t.gpus().size();
  const bool scale_up = scale_up_domain(t).gpus == n;
  const std::string over = scale_up ? "over scale-up links" : "over all links of the server";
  const HalfFlow flow(t, scale_up);
  return n <= kMostSplit ? all_splits(flow, n, over) : regular_splits(flow, n, over);
}

/// The half of each device: blocks by number, switches by the side of most of their cables to lower tiers.
class Sides {
 public:
  Sides(const Topology& t, const std::vector<std::uint8_t>& tiers, std::uint32_t half, bool rest)
      : t_(t), tiers_(tiers), half_(half), first_(t.device_count(), rest) {}
  bool first(DeviceId d) const {
    const BlockId b = t_.block_of(d);
    return b == kNone<BlockId> ? first_[index(d)] : index(b) < half_;
  }
  void settle(std::uint8_t level) {
    for (const DeviceId s : t_.fabric_switches()) {
      if (tiers_[index(s)] != level) continue;
      double lead = 0;
      for (const LinkId l : t_.out_links(s)) {
        const DeviceId d = t_.to(l);
        const bool lower = t_.block_of(d) != kNone<BlockId> || tiers_[index(d)] < level;
        if (lower) lead += first(d) ? width(t_, l) : -width(t_, l);
      }
      if (lead != 0) first_[index(s)] = lead > 0;
    }
  }
  double crossing() const {
    double sum = 0;
    for (const DeviceId s : t_.fabric_switches())
      for (const LinkId l : t_.out_links(s)) {
        const DeviceId d = t_.to(l);
        if (first(d) == first(s)) continue;
        sum += width(t_, l) * (t_.block_of(d) == kNone<BlockId> ? 0.5 : 1);  // both ends count a cable between switches
      }
    return sum;
  }

 private:
  const Topology& t_;
  const std::vector<std::uint8_t>& tiers_;
  std::uint32_t half_;
  std::vector<bool> first_;
};

double narrowest_tier(const Topology& t, std::uint32_t half) {
  double narrowest = kUnlimited;
  const std::vector<std::uint8_t> tiers = switch_tiers(t);
  const std::uint8_t top = tiers.empty() ? 0 : *std::max_element(tiers.begin(), tiers.end());
  for (const bool rest : {false, true}) {
    Sides sides(t, tiers, half, rest);
    narrowest = std::min(narrowest, sides.crossing());
    for (std::uint8_t level = 1; level <= top; ++level) {
      sides.settle(level);
      narrowest = std::min(narrowest, sides.crossing());
    }
  }
  return narrowest;
}

std::string halves_of(const Topology& t) {
  const std::size_t blocks = t.blocks().size(), half = blocks / 2;
  return fmt::format("node0 to node{} against node{} to node{}", half - 1, half, blocks - 1);
}

Bisection across_blocks(const Topology& t) {
  if (t.link_count() > kMostLinks) return bisect_tiers(t);
  const auto half = static_cast<std::uint32_t>(t.blocks().size() / 2);
  std::vector<bool> first;
  for (const DeviceId d : t.gpus()) first.push_back(index(t.block_of(d)) < half);
  return {HalfFlow(t, false).between(first) / kGiga, "symmetric", halves_of(t) + ", over all links"};
}

}  // namespace

Bisection bisect_tiers(const Topology& t) {
  const auto half = static_cast<std::uint32_t>(t.blocks().size() / 2);
  return {narrowest_tier(t, half) / kGiga, "tiers", halves_of(t) + ", narrowest of the fabric's tiers"};
}

Bisection bisect(const Topology& t) {
  if (t.gpus().size() < 2) return {0, "none", "fewer than two GPUs"};
  return t.blocks().size() == 1 ? inside_block(t) : across_blocks(t);
}

}  // namespace busbar::topology
