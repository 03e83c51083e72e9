// The links that payloads of a call may use, and the least latency between its members.
#include <algorithm>
#include <cmath>
#include <optional>

#include "busbar/floors/internal/floor_cuts.h"

namespace busbar::floors {

/// Latency of the way over these NICs where the cables between groups of switches are bundles: it costs a hop for each
/// bundle and not for each cable. Appends links outside bundles to `path`. Nothing where there are no bundles, or where
/// `stranger_` needs every link.
std::optional<double> FloorCuts::bundled_latency_ps(std::uint32_t a, std::uint32_t b, NicPair nics,
                                                    std::vector<routing::LinkShare>& path) const {
  const routing::FabricBundles* const bundles = stranger_.empty() ? router_.bundles() : nullptr;
  std::vector<routing::CapacityShare> way;
  if (bundles == nullptr || !router_.spread_bundled(gpus_[a], gpus_[b], nics.from, nics.to, way).ok()) return {};
  const auto latency_ps = [&](topology::LinkId l) { return static_cast<double>(t_.link_class(l).latency.in_ps()); };
  double sum = 0;
  for (const routing::CapacityShare& s : way) {
    const bool one = s.on.is_link();
    const std::uint32_t cables = one ? 1 : bundles->width(s.on.number());
    double all_ps = 0;
    for (std::uint32_t i = 0; i < cables; ++i)
      all_ps += latency_ps(one ? s.on.link() : bundles->link(s.on.number(), i));
    sum += s.share * all_ps / cables;
    if (one) path.push_back({s.on.link(), s.share});
  }
  return sum;
}

/// The least latency over the routes of all channels (by the NIC of a payload and by the NIC of a sum) and over
/// switches between the two that reduce. Infinite if there is no way. Leaves the last route in `path`.
double FloorCuts::route_latency_ps(std::uint32_t a, std::uint32_t b, std::vector<routing::LinkShare>& path) {
  const bool inside = t_.block_of(gpus_[a]) == t_.block_of(gpus_[b]);
  double least = INFINITY;
  const auto latency_ps = [&](topology::LinkId l) { return static_cast<double>(t_.link_class(l).latency.in_ps()); };
  for (const topology::LinkId up : t_.out_links(gpus_[a])) {
    if (!t_.device_class(t_.to(up)).reduces) continue;
    for (const topology::LinkId down : t_.out_links(t_.to(up)))
      if (t_.to(down) == gpus_[b]) least = std::min(least, latency_ps(up) + latency_ps(down));
  }
  const auto by = [&](topology::DeviceId from, topology::DeviceId to) {
    path.clear();
    const std::optional<double> ps = inside ? std::nullopt : bundled_latency_ps(a, b, {from, to}, path);
    if (ps) return void(least = std::min(least, *ps));
    if (!router_.spread(gpus_[a], gpus_[b], from, to, 0, path).ok()) return;
    double sum = 0;
    for (const routing::LinkShare& s : path) {
      sum += s.share * latency_ps(s.link);
      if (!stranger_.empty()) stranger_[index(t_.from(s.link))] = 0;
    }
    least = std::min(least, sum);
  };
  for (std::uint32_t c = 0; c < (inside ? 1 : placement_.nic_channels()); ++c) {
    const topology::DeviceId own = placement_.nic(ranks_[a], c), to = placement_.nic(ranks_[b], c);
    const topology::DeviceId from = inside ? own : router_.exit_nic(gpus_[a], own, to);
    if (from != own && fabric_reduces()) by(own, to);
    by(from, to);
  }
  return least;
}

std::pair<std::uint32_t, std::uint32_t> FloorCuts::pair(std::uint32_t m) const {
  if (to_next()) return {m - 1, m};
  const std::uint32_t other = m == call_.root ? 0 : m;
  if (call_.op == collectives::Collective::kGather || call_.op == collectives::Collective::kReduce)
    return {other, call_.root};
  return {call_.root, other};
}

/// Sets whether payloads of the group stay on scale-up links, and the largest latency from the root, towards it, or to
/// the next rank.
void FloorCuts::find_reach() {
  scale_up_ = one_block_;
  std::vector<routing::LinkShare> path;
  const std::uint32_t stride = std::max(1u, n_ / 4096);  // every pair is a lower bound; 4,096 of them are enough
  for (std::uint32_t m = 1; m < n_; m += (m + stride < n_ ? stride : std::max(1u, n_ - 1 - m))) {
    const auto [from, to] = pair(m);
    const double ps = route_latency_ps(from, to, path);
    if (ps < INFINITY) far_ps_ = std::max(far_ps_, ps);
    scale_up_ = scale_up_ && ps < INFINITY && std::all_of(path.begin(), path.end(), [&](const routing::LinkShare& s) {
                  return topology::is_scale_up(t_.link_class(s.link).kind);
                });
  }
  scale_up_ = scale_up_ && all_pairs_scale_up();
  find_latencies();
}

/// GPUs that are not members. GPUs on ways between members are removed when they are found.
void FloorCuts::find_strangers() {
  stranger_.assign(t_.device_count(), 0);
  for (const std::uint32_t b : used_blocks_)
    for (std::uint32_t p = 0; p < t_.blocks()[b].device_count; ++p) {
      const auto d = static_cast<topology::DeviceId>(t_.blocks()[b].first_device + p);
      stranger_[index(d)] = t_.kind(d) == topology::DeviceKind::kGpu;
    }
  for (const topology::DeviceId gpu : gpus_) stranger_[index(gpu)] = 0;
}

/// Up to 64 ranks: all pairs, over other ranks if that is shorter. Above: the least latency of the links that every
/// route inside a domain or between two domains must cross.
void FloorCuts::find_latencies() {
  constexpr std::uint32_t kMostPairs = 64;  // ranks
  std::vector<routing::LinkShare> path;
  if (n_ <= kMostPairs) {
    find_strangers();
    pair_ps_.assign(std::size_t{n_} * n_, 0);
    for (std::uint32_t a = 0; a < n_; ++a)
      for (std::uint32_t b = 0; b < n_; ++b)
        if (a != b) pair_ps_[a * n_ + b] = route_latency_ps(a, b, path);
    for (std::uint32_t k = 0; k < n_; ++k)
      for (std::uint32_t a = 0; a < n_; ++a)
        for (std::uint32_t b = 0; b < n_; ++b)
          pair_ps_[a * n_ + b] = std::min(pair_ps_[a * n_ + b], pair_ps_[a * n_ + k] + pair_ps_[k * n_ + b]);
    far_ps_ = 0;
    for (std::uint32_t m = 1; m < n_; ++m) {
      const auto [from, to] = pair(m);
      const double ps = pair_ps_[from * n_ + to];
      if (ps < INFINITY) far_ps_ = std::max(far_ps_, ps);
    }
    return;
  }
  double port_ps = INFINITY, cable_ps = INFINITY;
  for (const topology::DeviceId g : gpus_)
    for (const topology::LinkId l : t_.out_links(g))
      if (usable(l)) port_ps = std::min(port_ps, static_cast<double>(t_.link_class(l).latency.in_ps()));
  for (const std::uint32_t b : used_blocks_)
    for (std::uint32_t p = 0; !one_block_ && p < t_.blocks()[b].device_count; ++p)
      for (const topology::LinkId l : t_.out_links(static_cast<topology::DeviceId>(t_.blocks()[b].first_device + p)))
        if (index(t_.block_of(t_.to(l))) != b)
          cable_ps = std::min(cable_ps, static_cast<double>(t_.link_class(l).latency.in_ps()));
  const bool wired = t_.kind(t_.to(t_.out_links(gpus_[0]).front())) == topology::DeviceKind::kGpu;
  near_ps_ = port_ps < INFINITY ? (wired ? 1 : 2) * port_ps : 0;
  near_domains_ps_ = cable_ps < INFINITY ? cable_ps + std::max(near_ps_, cable_ps) : near_ps_;
  if (used_blocks_.size() == n_) near_ps_ = near_domains_ps_;
}

double FloorCuts::nearest_ps(const std::vector<std::uint32_t>& inside, bool between_domains) const {
  if (pair_ps_.empty()) return between_domains ? near_domains_ps_ : near_ps_;
  std::vector<bool> in(n_, false);
  for (const std::uint32_t m : inside) in[m] = true;
  double least = INFINITY;
  for (std::uint32_t a = 0; a < n_; ++a)
    for (std::uint32_t b = 0; b < n_; ++b)
      if (a != b && (inside.empty() || in[a] != in[b])) least = std::min(least, pair_ps_[a * n_ + b]);
  return least < INFINITY ? least : 0;
}

/// Assumes that the pairs of find_reach() use scale-up links. True for chips connected to each other, because such
/// links join them all, and if all members have the same switches; otherwise checks the pairs.
bool FloorCuts::all_pairs_scale_up() {
  constexpr std::uint32_t kMostPairs = 128;  // ranks
  const auto peers = [&](topology::DeviceId gpu) {
    std::vector<topology::DeviceId> out;
    for (const topology::LinkId l : t_.out_links(gpu))
      if (topology::is_scale_up(t_.link_class(l).kind)) out.push_back(t_.to(l));
    return out;
  };
  const std::vector<topology::DeviceId> first = peers(gpus_[0]);
  const bool switched = std::all_of(
      first.begin(), first.end(), [&](topology::DeviceId d) { return t_.kind(d) == topology::DeviceKind::kNvSwitch; });
  if (switched && std::all_of(gpus_.begin(), gpus_.end(), [&](topology::DeviceId g) { return peers(g) == first; }))
    return true;
  std::vector<routing::LinkShare> path;
  if (n_ > kMostPairs) return false;  // PCIe ports then count as well: a weaker bound, but still true
  for (std::uint32_t a = 0; a < n_; ++a)
    for (std::uint32_t b = 0; b < n_; ++b) {
      if (a == b) continue;
      if (route_latency_ps(a, b, path) == INFINITY) return false;
      for (const routing::LinkShare& s : path)
        if (!topology::is_scale_up(t_.link_class(s.link).kind)) return false;
    }
  return true;
}

}  // namespace busbar::floors
