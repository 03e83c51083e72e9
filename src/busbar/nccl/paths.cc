#include "busbar/nccl/internal/paths.h"

#include <algorithm>

namespace busbar::nccl {
namespace {

topology::PathType type_of(NcclLinkKind kind) {
  switch (kind) {
    case NcclLinkKind::kNvl:
      return topology::PathType::kNvl;
    case NcclLinkKind::kC2c:
      return topology::PathType::kC2c;
    case NcclLinkKind::kPci:
      return topology::PathType::kPix;
    case NcclLinkKind::kSys:
      return topology::PathType::kSys;
    case NcclLinkKind::kLoc:
    case NcclLinkKind::kNet:  // only the path to the NIC counts
      break;
  }
  return topology::PathType::kLoc;
}

/// Paths from every node to one node.
class PathsTo {
 public:
  PathsTo(const NcclSystem& s, const NcclSettings& settings) : s_(s), nvb_(settings.nvb), reached_(s.nodes.size()) {}

  void run(std::uint32_t base) {
    std::fill(reached_.begin(), reached_.end(), Reached{});
    reached_[base] = {topology::PathType::kLoc, kNcclLocalGBps, 0, 0};
    base_ = base;
    open_.assign(1, base);
    while (!open_.empty()) {
      next_.clear();
      queued_.assign(s_.nodes.size(), false);
      for (const std::uint32_t n : open_)
        for (const std::uint32_t l : s_.out[n]) try_link(n, l);
      std::swap(open_, next_);
    }
  }

  NcclPath path(std::uint32_t from) const {
    NcclPath out;
    out.type = reached_[from].type;
    if (out.type == topology::PathType::kDis) return out;
    out.GBps = reached_[from].GBps;
    for (std::uint32_t n = from; n != base_; n = s_.links[reached_[n].towards].to)
      out.links.push_back(reached_[n].towards);
    return out;
  }
  topology::PathType type(std::uint32_t from) const { return reached_[from].type; }

 private:
  struct Reached {
    topology::PathType type = topology::PathType::kDis;
    float GBps = 0;
    std::uint32_t hops = 0;
    std::uint32_t towards = 0;  ///< the link to the next node towards the base
  };

  void try_link(std::uint32_t n, std::uint32_t l) {
    const NcclLink& link = s_.links[l];
    const NcclNodeKind here = s_.nodes[n].kind, there = s_.nodes[link.to].kind;
    const Reached& at = reached_[n];
    topology::PathType step = type_of(link.kind);
    if (n != base_ && here == NcclNodeKind::kGpu) {  // a path may pass one GPU only, between two GPUs over NVLink
      const bool relay = nvb_ && link.kind == NcclLinkKind::kNvl && there == NcclNodeKind::kGpu && at.hops == 1;
      if (!relay) return;
      if (at.type == topology::PathType::kNvl) step = topology::PathType::kNvb;
    }
    if (here == NcclNodeKind::kPci && there == NcclNodeKind::kPci) step = topology::PathType::kPxb;
    if (link.kind == NcclLinkKind::kPci && (here == NcclNodeKind::kCpu || there == NcclNodeKind::kCpu))
      step = topology::PathType::kPhb;
    Reached found{std::max(at.type, step), std::min(at.GBps, link.GBps), at.hops + 1, link.reverse};
    Reached& best = reached_[link.to];
    if (found.type > best.type) return;
    if (found.type == best.type && (found.GBps < best.GBps || (found.GBps == best.GBps && found.hops >= best.hops)))
      return;
    best = found;
    if (!queued_[link.to]) next_.push_back(link.to);
    queued_[link.to] = true;
  }

  const NcclSystem& s_;
  bool nvb_;
  std::uint32_t base_ = 0;
  std::vector<Reached> reached_;
  std::vector<std::uint32_t> open_, next_;
  std::vector<bool> queued_;  ///< in next_
};

void fill(NcclPaths& paths, const PathsTo& to, std::span<const std::uint32_t> froms, std::uint32_t column) {
  for (std::uint32_t f = 0; f < froms.size(); ++f) paths.at(f, column) = to.path(froms[f]);
}

/// The path `first` followed by `second`.
NcclPath joined(const NcclPath& first, const NcclPath& second, topology::PathType type) {
  NcclPath out{type, std::min(first.GBps, second.GBps), first.links};
  out.links.insert(out.links.end(), second.links.begin(), second.links.end());
  return out;
}

class Corrections {
 public:
  Corrections(NcclSystem& s, const NcclSettings& settings) : s_(s), settings_(settings) {}

  void peers() {
    topology::PathType level = topology::PathType::kPxb;
    if (s_.cpu.arch == CpuArch::kX86 && s_.cpu.vendor == CpuVendor::kAmd && s_.gpu_count() <= 2)
      level = topology::PathType::kSys;
    level = settings_.p2p_level.value_or(level);
    if (!settings_.p2p_over_pcie) level = std::min(level, topology::PathType::kNvb);
    for (std::uint32_t g = 0; g < s_.gpu_count(); ++g) {
      const std::uint32_t cpu = local_cpu(g);
      for (std::uint32_t p = 0; p < s_.gpu_count(); ++p) {
        if (p == g || s_.gpu_gpu.at(p, g).type <= level || cpu == UINT32_MAX) continue;
        const NcclPath& up = s_.gpu_cpu.at(p, cpu);
        const NcclPath& down = s_.cpu_gpu.at(cpu, g);
        if (up.type == topology::PathType::kDis || down.type == topology::PathType::kDis) continue;
        s_.gpu_gpu.at(p, g) = joined(up, down, std::max(up.type, down.type));
      }
    }
  }

  void chip_to_chip() {
    if (settings_.version < NcclVersion{2, 27}) return;
    for (std::uint32_t g = 0; g < s_.gpu_count(); ++g)
      for (std::uint32_t n = 0; n < s_.net_count(); ++n) {
        NcclPath& path = s_.gpu_net.at(g, n);
        if (path.type != topology::PathType::kPhb || s_.links[path.links.front()].kind != NcclLinkKind::kC2c) continue;
        path.type = s_.net_gpu.at(n, g).type = topology::PathType::kP2c;
      }
  }

  void through_peers() {
    if (!settings_.pxn.value_or(true)) return;
    const topology::PathType beside =
        reaches_c2c(settings_.pxn_c2c) ? topology::PathType::kP2c : topology::PathType::kPxb;
    for (std::uint32_t n = 0; n < s_.net_count(); ++n) {
      const int p = s_.local_gpu[n];
      if (p < 0) continue;
      const auto peer = static_cast<std::uint32_t>(p);
      const NcclPath out = s_.gpu_net.at(peer, n);
      if (out.type > beside || !direct(peer, n)) continue;
      for (std::uint32_t g = 0; g < s_.gpu_count(); ++g) {
        NcclPath& own = s_.gpu_net.at(g, n);
        const NcclPath& over = s_.gpu_gpu.at(g, peer);
        if (g == peer || over.type > topology::PathType::kNvl) continue;
        if (out.GBps > own.GBps || own.type > topology::PathType::kPxn)
          own = joined(over, out, topology::PathType::kPxn);
      }
    }
  }

  void bounces() {
    for (std::uint32_t g = 0; g < s_.gpu_count(); ++g) {
      const std::uint32_t cpu = local_cpu(g);
      for (std::uint32_t n = 0; n < s_.net_count(); ++n) {
        if (s_.gpu_net.at(g, n).type == topology::PathType::kPxn || direct(g, n) || cpu == UINT32_MAX) continue;
        const NcclPath &up = s_.gpu_cpu.at(g, cpu), &away = s_.cpu_net.at(cpu, n);
        const NcclPath &in = s_.net_cpu.at(n, cpu), &down = s_.cpu_gpu.at(cpu, g);
        if (away.type == topology::PathType::kDis) continue;
        s_.gpu_net.at(g, n) = joined(up, away, std::max(up.type, away.type));
        s_.net_gpu.at(n, g) = joined(in, down, std::max(in.type, down.type));
      }
    }
  }

 private:
  bool reaches_c2c(bool enabled) const { return enabled && settings_.version >= NcclVersion{2, 27}; }

  /// Whether the NIC accesses the GPU's memory directly.
  bool direct(std::uint32_t g, std::uint32_t n) const {
    if (!settings_.gdr || settings_.sockets) return false;
    const topology::PathType level =
        reaches_c2c(settings_.gdr_c2c) ? topology::PathType::kP2c : topology::PathType::kPxb;
    return s_.gpu_net.at(g, n).type <= settings_.gdr_level.value_or(level);
  }

  /// The CPU that is fewest hops away.
  std::uint32_t local_cpu(std::uint32_t g) const {
    std::uint32_t best = UINT32_MAX;
    for (std::uint32_t c = 0; c < s_.cpus.size(); ++c) {
      if (s_.gpu_cpu.at(g, c).type == topology::PathType::kDis) continue;
      if (best == UINT32_MAX || s_.gpu_cpu.at(g, c).links.size() < s_.gpu_cpu.at(g, best).links.size()) best = c;
    }
    return best;
  }

  NcclSystem& s_;
  const NcclSettings& settings_;
};

/// The best entries of a row, by bandwidth and then by type.
template <typename At>
std::vector<std::uint32_t> nearest(std::uint32_t count, const At& path) {
  std::vector<std::uint32_t> out;
  float most = 0;
  topology::PathType least = topology::PathType::kDis;
  for (std::uint32_t i = 0; i < count; ++i) {
    const NcclPath& p = path(i);
    if (p.type == topology::PathType::kDis) continue;
    if (p.GBps > most || (p.GBps == most && p.type < least)) {
      most = p.GBps;
      least = p.type;
      out.clear();
    }
    if (p.GBps == most && p.type == least) out.push_back(i);
  }
  return out;
}

std::uint32_t mirrored(std::uint32_t value, std::uint32_t power) {
  std::uint32_t out = 0;
  for (std::uint32_t b = 1, m = power >> 1; b < power; b <<= 1, m >>= 1)
    if ((value & b) != 0) out |= m;
  return out;
}

/// The GPU next to a network device that chooses it first: with the lowest channel, then the lowest GPU number.
int preferring_gpu(const NcclSystem& s, std::uint32_t net) {
  const std::vector<std::uint32_t> gpus = local_gpus(s, net);
  for (std::uint32_t c = 0; c < kMostNcclChannels; ++c)
    for (const std::uint32_t g : gpus)
      if (local_net(s, g, c) == net) return static_cast<int>(g);
  return -1;
}

void sum_up(NcclSystem& s) {
  if (!s.inter && s.gpu_count() == 1) {
    s.max_GBps = s.total_GBps = kNcclLocalGBps;
    return;
  }
  for (std::uint32_t g = 0; g < s.gpu_count(); ++g) {
    const std::uint32_t ends = s.inter ? s.net_count() : s.gpu_count();
    for (std::uint32_t e = 0; e < ends; ++e) {
      const NcclPath& p = s.inter ? s.gpu_net.at(g, e) : s.gpu_gpu.at(g, e);
      if (!p.links.empty()) s.max_GBps = std::max(s.max_GBps, p.GBps);
    }
    float nvlink = 0, pcie = 0;
    for (const std::uint32_t l : s.out[s.gpus[g]]) {
      if (s.links[l].kind == NcclLinkKind::kNvl) nvlink += s.links[l].GBps;
      if (s.links[l].kind == NcclLinkKind::kPci) pcie = s.links[l].GBps;
    }
    s.total_GBps = std::max(s.total_GBps, std::max(nvlink, pcie));
  }
}

}  // namespace

std::vector<std::uint32_t> local_gpus(const NcclSystem& s, std::uint32_t net) {
  return nearest(s.gpu_count(), [&](std::uint32_t g) -> const NcclPath& { return s.net_gpu.at(net, g); });
}

std::uint32_t local_net(const NcclSystem& s, std::uint32_t gpu, std::uint32_t channel) {
  const std::vector<std::uint32_t> nets =
      nearest(s.net_count(), [&](std::uint32_t n) -> const NcclPath& { return s.gpu_net.at(gpu, n); });
  if (nets.empty()) return 0;
  const auto count = static_cast<std::uint32_t>(nets.size());
  const auto sharing = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(local_gpus(s, nets[0]).size()));
  std::uint32_t start = s.nodes[s.gpus[gpu]].dev % sharing;
  if ((count & (count - 1)) == 0) start = mirrored(start, count);
  return nets[(start + channel % ((count + sharing - 1) / sharing)) % count];
}

std::vector<std::uint32_t> local_nets(const NcclSystem& s, std::uint32_t gpu) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t c = 0; c < kMostNcclChannels && s.net_count() > 0; ++c) {
    const std::uint32_t net = local_net(s, gpu, c);
    if (!out.empty() && net == out.front()) break;
    out.push_back(net);
  }
  return out;
}

void compute_nccl_paths(NcclSystem& s, const NcclSettings& settings) {
  const auto table = [](NcclPaths& p, std::size_t rows, std::size_t columns) {
    p.columns = static_cast<std::uint32_t>(columns);
    p.cells.resize(rows * columns);
  };
  const std::vector<std::uint32_t> nvs = s.has_nvs() ? std::vector<std::uint32_t>{s.nvs} : std::vector<std::uint32_t>{};
  const std::size_t g = s.gpus.size(), n = s.net_count(), c = s.cpus.size();
  table(s.gpu_gpu, g, g), table(s.gpu_net, g, n), table(s.net_gpu, n, g), table(s.gpu_nvs, g, 1);
  table(s.nvs_gpu, 1, g), table(s.gpu_cpu, g, c), table(s.cpu_gpu, c, g), table(s.net_cpu, n, c),
      table(s.cpu_net, c, n);
  PathsTo to(s, settings);
  for (std::uint32_t i = 0; i < g; ++i) {
    to.run(s.gpus[i]);
    fill(s.gpu_gpu, to, s.gpus, i), fill(s.cpu_gpu, to, s.cpus, i), fill(s.nvs_gpu, to, nvs, i);
    if (s.inter) fill(s.net_gpu, to, s.nets, i);
  }
  for (std::uint32_t i = 0; i < c; ++i) {
    to.run(s.cpus[i]);
    fill(s.gpu_cpu, to, s.gpus, i);
    if (s.inter) fill(s.net_cpu, to, s.nets, i);
  }
  for (std::uint32_t i = 0; i < n; ++i) {
    to.run(s.nets[i]);
    fill(s.gpu_net, to, s.gpus, i), fill(s.cpu_net, to, s.cpus, i);
  }
  if (s.has_nvs()) {
    to.run(s.nvs);
    fill(s.gpu_nvs, to, s.gpus, 0);
  }
  Corrections correct(s, settings);
  correct.peers();
  correct.chip_to_chip();
  for (std::uint32_t i = 0; i < n; ++i) s.local_gpu.push_back(preferring_gpu(s, i));
  correct.through_peers();
  correct.bounces();
  sum_up(s);
}

}  // namespace busbar::nccl
