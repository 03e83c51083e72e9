#include "busbar/nccl/internal/search.h"

#include <algorithm>

#include "busbar/nccl/internal/channel_bound.h"

namespace busbar::nccl {
namespace {

/// Odd multipliers, different for every link: the sum of reservations times multipliers identifies the reservations.
std::uint64_t fingerprint(std::uint32_t link) { return (link + 1) * 0x9e3779b97f4a7c15u | 1; }

}  // namespace

GraphSearch::GraphSearch(const NcclSystem& system, NcclGraph& best, NcclVersion version)
    : s_(system),
      neighbours_(!system.has_nvs() || version < NcclVersion{2, 19} ? Neighbours::kNone
                  : version < NcclVersion{2, 23}                    ? Neighbours::kFirst
                                                                    : Neighbours::kOnly),
      replays_always_(version < NcclVersion{2, 23}),
      best_(best) {
  for (const NcclLink& l : s_.links) left_.push_back(thousandths_of_GBps(l.GBps));
  for (std::uint32_t l = 0; l < s_.links.size(); ++l)
    pcie_.push_back(s_.links[l].kind == NcclLinkKind::kPci ? fingerprint(l) : 0);
  for (const std::uint32_t n : s_.nets) net_left_.push_back(s_.nodes[n].net_GBps);
  for (std::uint32_t n = 0; n < s_.net_count(); ++n) same_port_.push_back(nets_on_port_of(n));
  used_.resize(s_.gpu_count());
  rankings_.resize(s_.gpus.size() * (s_.nets.size() + 1));
  for (const NcclLink& l : s_.links) takes_back_.push_back(share_taken_back(l));
  for (std::uint32_t n = 0; n < s_.net_count(); ++n) near_gpus_.push_back(local_gpus(s_, n));
  for (std::uint32_t g = 0; g < s_.gpu_count() && s_.net_count() > 0; ++g) near_nets_.push_back(preferred_nets(g));
}

/// The part of a link's traffic that its opposite direction also carries: 1/8 into a GPU before cc 80 (unless a GPU
/// sends), all of it into a POWER CPU over NVLink; 0: nothing.
std::int32_t GraphSearch::share_taken_back(const NcclLink& l) const {
  const NcclNode& to = s_.nodes[l.to];
  if (to.kind == NcclNodeKind::kGpu && to.compute_capability < 80 && !s_.amd_gpus) return 8;
  return to.kind == NcclNodeKind::kCpu && to.cpu.arch == CpuArch::kPower && l.kind == NcclLinkKind::kNvl ? 1 : 0;
}

std::vector<std::uint32_t> GraphSearch::nets_on_port_of(std::uint32_t net) const {
  std::vector<std::uint32_t> out;
  const NcclNode& a = s_.nodes[s_.nets[net]];
  for (std::uint32_t n = 0; n < s_.nets.size(); ++n) {
    const NcclNode& b = s_.nodes[s_.nets[n]];
    if (a.asic == b.asic && a.port == b.port) out.push_back(n);
  }
  return out;
}

int GraphSearch::run(const NcclGraph& trial, int steps) {
  now_ = trial;
  now_.channels = 0;
  now_.gpus = s_.gpu_count();
  now_.intra.assign(std::size_t{now_.max_channels + 1} * now_.gpus, 0);
  now_.inter.assign(s_.inter ? std::size_t{now_.max_channels + 1} * 2 : 0, 0);
  if (s_.inter && (nets_of_.empty() || nets_type_ != now_.inter_type)) {
    nets_type_ = now_.inter_type;
    nets_of_.clear();
    for (int g = -1; g < static_cast<int>(s_.gpu_count()); ++g) nets_of_.push_back(usable_nets(g));
  }
  if (ranked_type_ != now_.intra_type || ranked_tree_ != is_tree())
    for (Ranking& r : rankings_) r.made = false;
  ranked_type_ = now_.intra_type;
  ranked_tree_ = is_tree();
  next_channel(steps);
  return steps;
}

bool GraphSearch::is_tree() const {
  return now_.pattern == NcclPattern::kBalancedTree || now_.pattern == NcclPattern::kTree ||
         now_.pattern == NcclPattern::kSplitTree;
}

GraphSearch::Leg GraphSearch::leg(End from, std::uint32_t a, End to, std::uint32_t b) const {
  if (from == End::kNet) return {&s_.net_gpu.at(a, b), &s_.gpu_net.at(b, a), false, false, s_.nets[a]};
  if (to == End::kNet) return {&s_.gpu_net.at(a, b), &s_.net_gpu.at(b, a), false, true, s_.gpus[a]};
  if (from == End::kNvs) return {&s_.nvs_gpu.at(0, b), &s_.gpu_nvs.at(b, 0), true, false, s_.nvs};
  if (to == End::kNvs) return {&s_.gpu_nvs.at(a, 0), &s_.nvs_gpu.at(0, a), true, true, s_.gpus[a]};
  return {&s_.gpu_gpu.at(a, b), &s_.gpu_gpu.at(b, a), true, true, s_.gpus[a]};
}

/// Reserves `bandwidth` on the first `most` links and stops before a link with too little. Returns how many it
/// reserved. HOT: bench case rings-b200-2.
std::size_t GraphSearch::walk(const Leg& leg, std::size_t most, float bandwidth) {
  const std::int32_t plain = thousandths_of_GBps(bandwidth);
  std::int32_t over_pcie = plain;
  if (leg.path->type == topology::PathType::kPhb && leg.from_gpu)
    for (const std::uint32_t l : leg.path->links) {  // an Intel host bridge loses a sixth of peer traffic
      const NcclNode& n = s_.nodes[s_.links[l].to];
      if (n.kind == NcclNodeKind::kCpu && n.cpu.arch == CpuArch::kX86 && n.cpu.vendor == CpuVendor::kIntel)
        over_pcie = thousandths_of_GBps(bandwidth * 6 / 5);
    }
  for (std::size_t i = 0; i < most; ++i) {
    const std::uint32_t l = leg.path->links[i];
    const std::int32_t forward = pcie_[l] != 0 ? over_pcie : plain;
    if (left_[l] < forward) return i;
    if (takes_back_[l] != 0 && (takes_back_[l] == 1 || !leg.from_gpu)) {
      const std::uint32_t opposite = s_.links[l].reverse;
      std::int32_t& back = left_[opposite];
      const std::int32_t reverse = forward / takes_back_[l];
      if (back < reverse) return i;
      back -= reverse;
      pcie_key_ += fingerprint(opposite) * static_cast<std::uint64_t>(static_cast<std::int64_t>(reverse));
    }
    left_[l] -= forward;
    pcie_key_ += pcie_[l] * static_cast<std::uint64_t>(static_cast<std::int64_t>(forward));
  }
  return most;
}

bool GraphSearch::allowed(const Leg& leg) const {
  const topology::PathType most = leg.intra ? now_.intra_type : now_.inter_type;
  if (leg.path->type == topology::PathType::kDis || leg.path->type > most) return false;
  return !is_tree() || leg.back->type <= most;
}

bool GraphSearch::take(const Leg& leg, float times) {
  if (!allowed(leg)) return false;
  const float bandwidth = (leg.intra ? now_.intra_GBps : now_.inter_GBps) * times;
  const std::size_t all = leg.path->links.size(), done = walk(leg, all, bandwidth);
  if (done < all) {
    walk(leg, done, -bandwidth);
    return false;
  }
  now_.hops += static_cast<int>(times) * static_cast<int>(all);
  return true;
}

void GraphSearch::give(const Leg& leg, float times) {
  const float bandwidth = (leg.intra ? now_.intra_GBps : now_.inter_GBps) * times;
  walk(leg, leg.path->links.size(), -bandwidth);
  now_.hops -= static_cast<int>(times) * static_cast<int>(leg.path->links.size());
}

bool GraphSearch::better() const {
  if (now_.channels < now_.min_channels) return false;
  const auto now = static_cast<float>(now_.channels), best = static_cast<float>(best_.channels);
  if (now_.pattern == NcclPattern::kNvls)
    return (now_.channels > best_.channels && now_.channels <= s_.gpu_count()) ||
           now * now_.inter_GBps > best * best_.inter_GBps;
  if (now * now_.intra_GBps != best * best_.intra_GBps) return now * now_.intra_GBps > best * best_.intra_GBps;
  return now_.pattern == best_.pattern && now_.cross_nic == best_.cross_nic && now_.hops < best_.hops;
}

void GraphSearch::complete(int& steps) {
  ++now_.channels;
  if (better()) {
    best_ = now_;
    if (now_.channels == now_.max_channels) steps = kNcclPerfect;
  }
  if (now_.channels < now_.max_channels) next_channel(steps);
  --now_.channels;
}

void GraphSearch::next_channel(int& steps) {
  Turns turns;
  if (s_.inter) {
    turns.net = now_.pattern == NcclPattern::kRing        ? static_cast<int>(s_.gpu_count()) - 1
                : now_.pattern == NcclPattern::kSplitTree ? 1
                                                          : 0;
    from_nets(turns, steps);
  } else {
    if (now_.pattern == NcclPattern::kRing) turns.first = static_cast<int>(s_.gpu_count()) - 1;
    from_gpus(turns, steps);
  }
}

void GraphSearch::try_gpu(std::uint32_t step, Turns turns, Order order, int& steps, std::uint32_t net,
                          std::uint32_t gpu) {
  if (steps <= 0) return;
  const std::uint64_t flag = std::uint64_t{1} << now_.channels;
  const bool first = step == 0 && net == kNoNet;
  Leg way{};
  if (!first) {
    const std::uint32_t before = step == 0 ? 0 : now_.gpu(now_.channels, step - 1);
    way = net != kNoNet ? leg(End::kNet, net, End::kGpu, gpu) : leg(End::kGpu, before, End::kGpu, gpu);
    if (!take(way, 1)) return;
  }
  used_[gpu] ^= flag;
  at_gpu(gpu, step, turns, order, steps);
  used_[gpu] ^= flag;
  if (!first) give(way, 1);
}

void GraphSearch::at_gpu(std::uint32_t gpu, std::uint32_t step, Turns turns, Order order, int& steps) {
  if (steps <= 0) return;
  --steps;
  const std::uint32_t gpus = s_.gpu_count();
  if (step == gpus) return complete(steps);
  now_.intra[std::size_t{now_.channels} * gpus + step] = gpu;
  if (static_cast<int>(step) == turns.net) return back_to_net(gpu, step, turns, order, steps);
  if (now_.pattern == NcclPattern::kNvls) return through_switch(gpu, steps);
  if (now_.pattern == NcclPattern::kCollnetDirect) return all_to_head(gpu, steps);
  if (step + 1 < gpus) {
    NextGpus next;
    if (order == Order::kPci)
      next.push(step + 1);
    else if (order == Order::kReplay)
      next.push(replayed(static_cast<std::int32_t>(step)));
    else
      next_gpus(gpu, turns.net == -1 ? 0 : turns.net == static_cast<int>(step) + 1 ? 1 : -1, next);
    for (std::uint32_t i = 0; i < next.count; ++i) try_gpu(step + 1, turns, order, steps, kNoNet, next.gpu[i]);
    return;
  }
  if (static_cast<int>(step) == turns.first) {
    const std::uint32_t head = now_.gpu(now_.channels, 0);
    const Leg way = leg(End::kGpu, gpu, End::kGpu, head);
    if (!take(way, 1)) return;
    at_gpu(head, step + 1, {turns.net, -1}, order, steps);
    give(way, 1);
    return;
  }
  at_gpu(gpu, gpus, {}, order, steps);
}

void GraphSearch::back_to_net(std::uint32_t gpu, std::uint32_t step, Turns turns, Order order, int& steps) {
  const std::uint32_t start = now_.net(now_.channels, 0);
  const bool balanced = now_.pattern == NcclPattern::kBalancedTree;
  const float times = balanced ? 0.5f : 1;  // in a balanced tree each of two GPUs sends half
  for (const std::uint32_t n : nets_of_[gpu + 1]) {
    if (!net_allowed(start, n, step)) continue;
    const Leg way = leg(End::kGpu, gpu, End::kNet, n);
    const int hops = now_.hops;
    if (!take(way, times)) continue;
    now_.hops = hops + static_cast<int>(way.path->links.size());
    now_.inter[std::size_t{now_.channels} * 2 + 1] = n;
    at_gpu(gpu, step, {balanced && step == 0 ? 1 : -1, turns.first}, order, steps);
    give(way, times);
    now_.hops = hops;
  }
}

bool GraphSearch::net_allowed(std::uint32_t start, std::uint32_t net, std::uint32_t step) const {
  const std::uint32_t c = now_.channels;
  const NcclNode &a = s_.nodes[s_.nets[start]], &b = s_.nodes[s_.nets[net]];
  if (now_.pattern == NcclPattern::kTree && net != start) return false;  // trees enter and leave by the same device
  if (now_.pattern == NcclPattern::kRing && now_.cross_nic == 2) {
    if ((c & 1) != 0 && net != now_.net(c - 1, 0)) return false;
  } else if (now_.cross_nic == 0 && (a.asic != b.asic || a.port != b.port)) {
    return false;
  }
  return now_.pattern != NcclPattern::kBalancedTree || step == 0 || net == now_.net(c, 1);
}

void GraphSearch::reserve_net(std::uint32_t net, float gigabytes_per_s) {
  for (const std::uint32_t n : same_port_[net]) net_left_[n] -= gigabytes_per_s;
}

void GraphSearch::from_nets(Turns turns, int& steps) {
  const auto whole = static_cast<float>(static_cast<int>(now_.inter_GBps));  // NCCL counts devices in whole GB/s
  const bool heads = now_.pattern == NcclPattern::kNvls || now_.pattern == NcclPattern::kCollnetDirect;
  const std::vector<std::uint32_t>& nets = nets_of_[0];
  bool found = false;
  for (std::uint32_t i = 0; i < nets.size() && !(heads && found) && steps > 0; ++i) {
    const std::uint32_t c = now_.channels, n = nets[(c + i) % nets.size()];
    if (now_.collnet && !s_.nodes[s_.nets[n]].collnet) continue;
    if (net_left_[n] < whole) continue;
    if (now_.pattern == NcclPattern::kRing && now_.cross_nic == 2 && (c & 1) != 0 && n != now_.net(c - 1, 1)) continue;
    now_.inter[std::size_t{c} * 2] = n;
    now_.inter_latency_us = s_.nodes[s_.nets[n]].net_latency_us;
    reserve_net(n, whole);
    if (heads)
      found = heads_from_net(n, turns, steps) || found;
    else
      from_net(n, turns, steps);
    reserve_net(n, -whole);
  }
}

/// The GPU next to a device becomes a head, unless it already is one.
bool GraphSearch::heads_from_net(std::uint32_t net, Turns turns, int& steps) {
  const int gpu = s_.local_gpu[net];
  if (now_.channels >= nets_of_[0].size() || gpu < 0) return false;
  for (std::uint32_t c = 0; c < now_.channels; ++c)
    if (now_.gpu(c, 0) == static_cast<std::uint32_t>(gpu)) return false;
  try_gpu(0, turns, Order::kFree, steps, net, static_cast<std::uint32_t>(gpu));
  return true;
}

void GraphSearch::from_net(std::uint32_t net, Turns turns, int& steps) {
  if (now_.channels > 0 && (now_.same_channels || replays_always_))
    try_gpu(0, turns, Order::kReplay, steps, net, replayed(-1));
  if (now_.channels > 0 && now_.same_channels) return;
  if (now_.channels == 0 && neighbours_ == Neighbours::kNone) {  // for a reference order; its steps do not count
    int few = 1 << 10;
    try_gpu(0, turns, Order::kPci, few, net, 0);
    if (few == kNcclPerfect) steps = kNcclPerfect;
  }
  const int near = s_.local_gpu[net];
  if (near >= 0) try_gpu(0, turns, Order::kFree, steps, net, static_cast<std::uint32_t>(near));
  for (const std::uint32_t g : near_gpus_[net])
    if (static_cast<int>(g) != near) try_gpu(0, turns, Order::kFree, steps, net, g);
}

void GraphSearch::from_gpus(Turns turns, int& steps) {
  if (now_.pattern == NcclPattern::kNvls) {
    try_gpu(0, turns, Order::kFree, steps, kNoNet, now_.channels);
    return;
  }
  if (now_.channels == 0)
    try_gpu(0, turns, Order::kPci, steps, kNoNet, 0);
  else
    try_gpu(0, turns, Order::kReplay, steps, kNoNet, replayed(-1));
  if (now_.channels > 0 && now_.same_channels) return;
  for (std::uint32_t g = 0; g < s_.gpu_count(); ++g) try_gpu(0, turns, Order::kFree, steps, kNoNet, g);
}

/// Every GPU sends to and receives from the switches, the head twice.
void GraphSearch::through_switch(std::uint32_t head, int& steps) {
  const std::uint32_t gpus = s_.gpu_count();
  const auto times = [&](std::uint32_t g) { return g == head ? 2.0f : 1.0f; };
  const auto down = [&](std::uint32_t g) { return leg(End::kNvs, 0, End::kGpu, g); };
  const auto up = [&](std::uint32_t g) { return leg(End::kGpu, g, End::kNvs, 0); };
  std::uint32_t in = 0, out = 0;
  while (in < gpus && take(down(in), times(in))) ++in;
  if (in == gpus) {
    while (out < gpus && take(up(out), times(out))) ++out;
    if (out == gpus) at_gpu(head, gpus, {}, Order::kFree, steps);
  }
  while (out > 0) --out, give(up(out), times(out));
  while (in > 0) --in, give(down(in), times(in));
}

/// Every GPU exchanges its share with the head directly.
void GraphSearch::all_to_head(std::uint32_t head, int& steps) {
  const std::uint32_t gpus = s_.gpu_count();
  const float share = 1.0f / static_cast<float>(std::max(gpus, 2u) - 1);
  const auto down = [&](std::uint32_t g) { return leg(End::kGpu, head, End::kGpu, g); };
  const auto up = [&](std::uint32_t g) { return leg(End::kGpu, g, End::kGpu, head); };
  std::uint32_t out = 0, in = 0;
  while (out < gpus && take(down(out), share)) ++out;
  if (out == gpus) {
    while (in < gpus && take(up(in), share)) ++in;
    if (in == gpus) {
      std::uint32_t step = 1;
      for (std::uint32_t g = 0; g < gpus; ++g)
        if (g != head) now_.intra[std::size_t{now_.channels} * gpus + step++] = g;
      at_gpu(head, gpus, {}, Order::kFree, steps);
    }
  }
  while (in > 0) --in, give(up(in), share);
  while (out > 0) --out, give(down(out), share);
}

std::uint32_t GraphSearch::replayed(std::int32_t step) const {
  return now_.gpu(now_.channels - 1, static_cast<std::uint32_t>(step + 1));
}

}  // namespace busbar::nccl
