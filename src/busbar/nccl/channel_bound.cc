#include "busbar/nccl/internal/channel_bound.h"

#include <algorithm>
#include <map>
#include <utility>

namespace busbar::nccl {
namespace {

bool is_chain(NcclPattern p) {
  return p == NcclPattern::kRing || p == NcclPattern::kTree || p == NcclPattern::kSplitTree ||
         p == NcclPattern::kBalancedTree;
}

bool allowed(const NcclPath& path, topology::PathType most) {
  return path.type <= most && path.type != topology::PathType::kDis;
}

}  // namespace

const ChannelBound::Inside& ChannelBound::inside(topology::PathType most) {
  std::optional<Inside>& known = inside_[static_cast<std::size_t>(most)];
  if (known) return *known;
  Inside& in = known.emplace(Inside());  // clang 15 sees no default constructor in the traits
  std::vector<bool> counted(s_.links.size());
  for (std::uint32_t a = 0; a < s_.gpu_count(); ++a)
    for (std::uint32_t b = 0; b < s_.gpu_count(); ++b) {
      const NcclPath& path = s_.gpu_gpu.at(a, b);
      if (a == b || !allowed(path, most) || path.links.empty()) continue;
      in.hops = std::min(in.hops, path.links.size());
      const std::uint32_t first = path.links.front();
      if (!counted[first]) in.first_links.push_back(thousandths_of_GBps(s_.links[first].GBps));
      counted[first] = true;
    }
  return in;
}

const ChannelBound::Outside& ChannelBound::outside(topology::PathType most) {
  std::optional<Outside>& known = outside_[static_cast<std::size_t>(most)];
  if (known) return *known;
  Outside& out = known.emplace(Outside());
  for (std::uint32_t n = 0; n < s_.net_count(); ++n) {
    bool used = false;
    for (std::uint32_t g = 0; g < s_.gpu_count(); ++g) {
      const NcclPath &to = s_.net_gpu.at(n, g), &from = s_.gpu_net.at(g, n);
      if (allowed(from, most)) out.out_hops = std::min(out.out_hops, from.links.size());
      if (!allowed(to, most)) continue;
      out.in_hops = std::min(out.in_hops, to.links.size());
      used = true;
    }
    if (used) out.nets.push_back(n);
  }
  return out;
}

/// Number of paths between GPUs in one channel.
std::uint64_t ChannelBound::legs(const NcclGraph& trial) const {
  const bool closed = trial.pattern == NcclPattern::kRing && !s_.inter;
  return closed ? s_.gpu_count() : s_.gpu_count() - 1;
}

/// A channel takes whole GB/s of the device it starts from, and of every device that shares its port.
std::uint64_t ChannelBound::fit_on_nets(const NcclGraph& trial) {
  const auto whole = static_cast<int>(trial.inter_GBps);
  if (whole <= 0) return trial.max_channels;
  std::map<std::pair<std::uint32_t, std::uint32_t>, float> ports;
  for (const std::uint32_t n : outside(trial.inter_type).nets) {
    const NcclNode& node = s_.nodes[s_.nets[n]];
    float& most = ports[{node.asic, node.port}];
    most = std::max(most, node.net_GBps);
  }
  std::uint64_t sum = 0;
  for (const auto& [port, most] : ports) sum += static_cast<std::uint64_t>(most / static_cast<float>(whole));
  return sum;
}

std::uint32_t ChannelBound::most_channels(const NcclGraph& trial) {
  std::uint64_t most = trial.max_channels;
  if (!is_chain(trial.pattern) || s_.gpu_count() < 2) return trial.max_channels;
  if (const std::int32_t each = thousandths_of_GBps(trial.intra_GBps); each > 0) {
    std::uint64_t fit = 0;
    for (const std::int32_t link : inside(trial.intra_type).first_links) fit += static_cast<std::uint64_t>(link / each);
    most = std::min(most, fit / legs(trial));
  }
  if (s_.inter) most = std::min(most, fit_on_nets(trial));
  return static_cast<std::uint32_t>(most);
}

int ChannelBound::least_hops(const NcclGraph& trial) {
  if (!is_chain(trial.pattern) || s_.gpu_count() < 2) return 0;
  const auto known = [](std::size_t hops) { return hops == SIZE_MAX ? 0 : hops; };
  std::size_t hops = known(inside(trial.intra_type).hops) * legs(trial);
  if (s_.inter) {
    const Outside& out = outside(trial.inter_type);
    hops += known(out.in_hops) + known(out.out_hops);
  }
  return static_cast<int>(hops);
}

bool ChannelBound::may_improve(const NcclGraph& trial, const NcclGraph& best) {
  if (!is_chain(trial.pattern)) return true;
  const std::uint32_t most = most_channels(trial);
  if (most < std::max(trial.min_channels, 1u)) return false;
  const float now = static_cast<float>(most) * trial.intra_GBps;
  const float then = static_cast<float>(best.channels) * best.intra_GBps;
  if (now != then) return now > then;
  return trial.pattern == best.pattern && trial.cross_nic == best.cross_nic &&
         static_cast<int>(most) * least_hops(trial) < best.hops;
}

}  // namespace busbar::nccl
