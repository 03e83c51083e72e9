// The order in which the search tries GPUs and network devices.
#include <algorithm>

#include "busbar/nccl/internal/search.h"

namespace busbar::nccl {
namespace {

bool before(const GraphSearch::GpuScore& a, const GraphSearch::GpuScore& b) {
  if (a.net_GBps != b.net_GBps) return a.net_GBps > b.net_GBps;
  if (a.net_pcie_GBps != b.net_pcie_GBps) return a.net_pcie_GBps > b.net_pcie_GBps;
  if (a.net_hops != b.net_hops) return a.net_hops < b.net_hops;
  if (a.GBps != b.GBps) return a.GBps > b.GBps;
  if (a.hops != b.hops) return a.hops < b.hops;
  return a.offset < b.offset;
}

bool as_well(const GraphSearch::GpuScore& a, const GraphSearch::GpuScore& b) {
  return a.GBps == b.GBps && a.hops == b.hops;
}

void add_new(std::vector<std::uint32_t>& list, std::uint32_t value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

}  // namespace

float GraphSearch::pcie_GBps_of(std::uint32_t gpu) const {
  for (const std::uint32_t l : s_.out[s_.gpus[gpu]])
    if (s_.links[l].kind == NcclLinkKind::kPci) return std::min(left_[l], left_[s_.links[l].reverse]);
  return -1;
}

/// With switches: only the GPUs with neighbouring numbers.
void GraphSearch::neighbours(std::uint32_t gpu, NextGpus& next) const {
  const std::uint64_t flag = std::uint64_t{1} << now_.channels;
  const std::uint32_t gpus = s_.gpu_count(), up = (gpu + 1) % gpus, down = (gpu + gpus - 1) % gpus;
  const auto add = [&](std::uint32_t g) {
    if (g != gpu && (used_[g] & flag) == 0 && !s_.gpu_gpu.at(gpu, g).links.empty()) next.push(g);
  };
  if (now_.pattern == NcclPattern::kRing && up != down) add(down);
  add(up);
  if ((now_.pattern == NcclPattern::kSplitTree || now_.pattern == NcclPattern::kBalancedTree) && up != down) add(down);
}

void GraphSearch::next_gpus(std::uint32_t gpu, int sort_net, NextGpus& next) {
  if (neighbours_ != Neighbours::kNone) neighbours(gpu, next);
  if (neighbours_ == Neighbours::kOnly) return;
  if (neighbours_ == Neighbours::kNone) return sorted_gpus(gpu, sort_net, next);
  NextGpus sorted;
  sorted_gpus(gpu, sort_net, sorted);
  const std::uint32_t first = next.count;
  for (std::uint32_t i = 0; i < sorted.count; ++i)
    if (std::find(next.gpu, next.gpu + first, sorted.gpu[i]) == next.gpu + first) next.push(sorted.gpu[i]);
}

/// All GPUs with a path from `gpu`, best first; recomputed only when reservations on PCIe have changed.
const GraphSearch::Ranking& GraphSearch::ranking(std::uint32_t gpu, bool for_net) {
  const std::uint32_t net = for_net ? now_.net(now_.channels, 0) + 1 : 0;
  Ranking& r = rankings_[std::size_t{gpu} * (s_.nets.size() + 1) + net];
  if (r.made && (!for_net || r.pcie_key == pcie_key_)) return r;
  r.made = true;
  r.pcie_key = pcie_key_;
  scores_.clear();
  const std::uint32_t gpus = s_.gpu_count();
  for (std::uint32_t i = 1; i < gpus; ++i) {
    GpuScore s;
    s.gpu = (gpu + i) % gpus;
    const NcclPath& path = s_.gpu_gpu.at(gpu, s.gpu);
    if (path.links.empty()) continue;
    s.offset = i;
    s.hops = static_cast<int>(path.links.size());
    s.GBps = static_cast<int>(path.GBps);
    if (for_net) {
      const NcclPath& from_net = s_.net_gpu.at(net - 1, s.gpu);
      s.net_hops = static_cast<int>(from_net.links.size());
      s.net_pcie_GBps = static_cast<int>(pcie_GBps_of(s.gpu));
      s.net_GBps = static_cast<int>(from_net.GBps);
    }
    scores_.push_back(s);
  }
  std::sort(scores_.begin(), scores_.end(), before);
  r.best_first.clear();
  for (const GpuScore& s : scores_) {
    const auto way = std::find_if(scores_.begin(), scores_.end(), [&](const GpuScore& t) { return as_well(s, t); });
    r.best_first.push_back({static_cast<std::uint8_t>(s.gpu), static_cast<std::uint8_t>(way - scores_.begin()),
                            allowed(leg(End::kGpu, gpu, End::kGpu, s.gpu))});
  }
  return r;
}

/// `sort_net` 1: the next GPU goes to the network; -1: a later one does, so GPUs near it are tried last. GPUs without
/// an allowed path count for this order, but are left out of the result. HOT: bench case rings-mi250x-2. No branches:
/// which GPUs are free cannot be predicted.
void GraphSearch::sorted_gpus(std::uint32_t gpu, int sort_net, NextGpus& next) {
  std::uint32_t count = 0;
  std::uint32_t in_any = 0, in_all = UINT32_MAX;  // bits of the ways of free GPUs: equal if all have one way
  for (const Ranked& r : ranking(gpu, sort_net != 0).best_first) {
    const auto free = static_cast<std::uint32_t>(~used_[r.gpu] >> now_.channels & 1);
    next.gpu[count] = r.gpu;
    count += free & static_cast<std::uint32_t>(r.allowed);
    in_any |= r.way & (0 - free);
    in_all &= r.way | (free - 1);
  }
  next.count = count;
  if (sort_net == -1 && in_any == in_all) std::reverse(next.gpu, next.gpu + count);
}

std::vector<std::uint32_t> GraphSearch::preferred_nets(std::uint32_t gpu) const {
  std::vector<std::uint32_t> nets{local_net(s_, gpu, 0)};
  for (std::uint32_t c = 1; c < kMostNcclChannels; ++c) {
    const std::uint32_t n = local_net(s_, gpu, c);
    if (n == nets.front()) break;
    add_new(nets, n);
  }
  return nets;
}

/// Network devices in the order of trial, for one GPU or (-1) for the start: first those that the GPUs prefer, then
/// others by type.
std::vector<std::uint32_t> GraphSearch::usable_nets(int gpu) const {
  std::vector<std::uint32_t> nets;
  std::vector<bool> listed(s_.net_count());
  const auto list = [&](std::uint32_t n) {
    if (!listed[n]) nets.push_back(n);
    listed[n] = true;
  };
  const std::uint32_t first = gpu == -1 ? 0 : static_cast<std::uint32_t>(gpu);
  const std::uint32_t end = gpu == -1 ? s_.gpu_count() : first + 1;
  for (std::uint32_t g = first; g < end; ++g)
    for (const std::uint32_t n : near_nets_[g]) list(n);
  for (auto t = static_cast<int>(topology::PathType::kLoc); t <= static_cast<int>(now_.inter_type); ++t)
    for (std::uint32_t g = first; g < end && nets.size() < listed.size(); ++g)
      for (std::uint32_t n = 0; n < s_.net_count(); ++n)
        if (s_.gpu_net.at(g, n).type == static_cast<topology::PathType>(t)) list(n);
  return nets;
}

}  // namespace busbar::nccl
