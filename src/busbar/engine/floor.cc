#include "busbar/engine/floor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/core.h>

namespace busbar {
namespace {

double wire_bytes_per_ps(const Topology& t, LinkId l) {
  return static_cast<double>(per_second(t.link_class(l).floor_rate())) * 1e-12;
}

/// Bytes that must cross a cut with `in_cut` of `n` ranks inside, each way, for S bytes as in nccl-tests.
struct Demand {
  double out = 0, in = 0;
};
Demand demand(Collective op, double s, double in_cut, double n, bool root_inside) {
  const double outside = (n - in_cut) / n;
  switch (op) {
    case Collective::kAllReduce: return {s, s};
    case Collective::kAllGather: return {s * in_cut / n, s * outside};
    case Collective::kReduceScatter: return {s * outside, s * in_cut / n};
    case Collective::kBroadcast: return root_inside ? Demand{s, 0} : Demand{0, s};
    case Collective::kReduce: return root_inside ? Demand{0, s} : Demand{s, 0};
    case Collective::kAllToAll: return {s * in_cut * outside, s * in_cut * outside};
    case Collective::kGather: return root_inside ? Demand{0, s * outside} : Demand{s * in_cut / n, 0};
    case Collective::kScatter: return root_inside ? Demand{s * outside, 0} : Demand{0, s * in_cut / n};
    case Collective::kSendRecv: return root_inside ? Demand{s, 0} : Demand{0, s};
    case Collective::kAllToAllV: return {};  // its counts are not known here
  }
  return {};
}

/// The cuts of one group of ranks.
class Cuts {
 public:
  Cuts(const Router& router, const Placement& placement, const CollectiveCall& call, std::uint32_t group)
      : router_(router), t_(router.topology()), call_(call), n_(call.groups.size()) {
    for (std::uint32_t m = 0; m < n_; ++m) {
      const std::uint32_t rank = call.groups.actor(group, m);
      gpus_.push_back(placement.gpu(rank));
      nics_.push_back(placement.nic(rank, 0));
    }
    one_block_ = std::all_of(gpus_.begin(), gpus_.end(), [&](DeviceId g) { return t_.block_of(g) == t_.block_of(gpus_[0]); });
  }

  Floor largest() {
    find_reach();
    endpoints();
    if (!one_block_) {
      domains();
      pods();
    }
    best_.time = duration_from_ps(n_ > 1 ? most_ps_ + latency_ps_ : 0);
    return best_;
  }

 private:
  /// Farthest latency from rank 0, and whether scale-up links join the whole group.
  void find_reach() {
    scale_up_ = one_block_;
    std::vector<LinkShare> path;
    const std::uint32_t stride = std::max(1u, n_ / 4096);  // any pair bounds from below; 4,096 of them are enough
    for (std::uint32_t m = 1; m < n_; m += (m + stride < n_ ? stride : std::max(1u, n_ - 1 - m))) {
      path.clear();
      if (!router_.spread(gpus_[0], gpus_[m], nics_[0], nics_[m], 0, path).ok()) continue;
      double ps = 0;
      for (const LinkShare& s : path) {
        ps += s.share * static_cast<double>(t_.link_class(s.link).latency.in_ps());
        scale_up_ = scale_up_ && is_scale_up(t_.link_class(s.link).kind);
      }
      latency_ps_ = std::max(latency_ps_, ps);
    }
  }

  void take(double in_cut, double rate_out, double rate_in, bool root_inside, const std::string& name) {
    const Demand d = demand(call_.op, static_cast<double>(count(call_.bytes)), in_cut, n_, root_inside);
    const double ps = std::max(d.out > 0 ? d.out / rate_out : 0, d.in > 0 ? d.in / rate_in : 0);
    if (ps > most_ps_) most_ps_ = ps, best_.cut = name;
  }

  /// A GPU's ports: scale-up only where the group never leaves them.
  double port_rate(DeviceId gpu) const {
    double sum = 0;
    for (const LinkId l : t_.out_links(gpu))
      if (!scale_up_ || is_scale_up(t_.link_class(l).kind)) sum += wire_bytes_per_ps(t_, l);
    return sum;
  }

  bool can_reduce() const {
    const auto reduces = [&](DeviceId d) { return t_.device_class(d).reduces; };
    for (const DeviceId d : t_.fabric_switches())
      if (reduces(d)) return true;
    for (const DeviceId g : gpus_)
      for (const LinkId l : t_.out_links(g))
        if (reduces(t_.to(l))) return true;
    return false;
  }

  void endpoints() {
    double all = 0, least = INFINITY;
    DeviceId narrowest = gpus_[0];
    for (std::uint32_t m = 0; m < n_; ++m) {
      const double rate = port_rate(gpus_[m]);
      all += rate;
      if (rate < least) least = rate, narrowest = gpus_[m];
    }
    take(1, least, least, false, "ports of " + t_.name(narrowest));
    take(1, port_rate(gpus_[call_.root]), port_rate(gpus_[call_.root]), true, "ports of " + t_.name(gpus_[call_.root]));
    if (call_.op == Collective::kAllReduce && n_ > 1 && !can_reduce()) {
      const double ps = 2.0 * (n_ - 1) * static_cast<double>(count(call_.bytes)) / all;
      if (ps > most_ps_) most_ps_ = ps, best_.cut = "all ports together";
    }
  }

  void domains() {
    for (std::uint32_t m = 0; m < n_;) {
      const BlockId b = t_.block_of(gpus_[m]);
      std::uint32_t end = m;
      bool root = false;
      while (end < n_ && t_.block_of(gpus_[end]) == b) root |= end++ == call_.root;
      double rate = 0;
      const Block& block = t_.blocks()[index(b)];
      for (std::uint32_t p = 0; p < block.device_count; ++p)
        for (const LinkId l : t_.out_links(static_cast<DeviceId>(block.first_device + p)))
          if (t_.block_of(t_.to(l)) != b) rate += wire_bytes_per_ps(t_, l);
      // A domain that appears in several runs of the order holds more ranks than this run: a weaker, still true bound.
      take(end - m, rate, rate, root, fmt::format("cables of node{}", index(b)));
      m = end;
    }
  }

  /// Domains joined by switches that own cables to them; cut by the cables from those switches upwards.
  void pods() {
    const auto blocks = static_cast<std::uint32_t>(t_.blocks().size());
    std::vector<std::uint32_t> parent(blocks), leaf_owner(t_.device_count(), 0xffff'ffffu);
    std::iota(parent.begin(), parent.end(), 0u);
    const auto root = [&](std::uint32_t b) {
      while (parent[b] != b) b = parent[b] = parent[parent[b]];
      return b;
    };
    for (const DeviceId s : t_.fabric_switches())
      for (const LinkId l : t_.out_links(s)) {
        const BlockId b = t_.block_of(t_.to(l));
        if (b == kNone<BlockId>) continue;
        std::uint32_t& owner = leaf_owner[index(s)];
        if (owner == 0xffff'ffffu) owner = index(b);
        const std::uint32_t x = root(owner), y = root(index(b));
        parent[std::max(x, y)] = std::min(x, y);
      }
    std::vector<double> up(blocks, 0), ranks(blocks, 0);
    for (const DeviceId s : t_.fabric_switches()) {
      if (leaf_owner[index(s)] == 0xffff'ffffu) continue;
      for (const LinkId l : t_.out_links(s))
        if (t_.block_of(t_.to(l)) == kNone<BlockId>) up[root(leaf_owner[index(s)])] += wire_bytes_per_ps(t_, l);
    }
    for (const DeviceId g : gpus_) ++ranks[root(index(t_.block_of(g)))];
    const std::uint32_t root_pod = root(index(t_.block_of(gpus_[call_.root])));
    for (std::uint32_t b = 0; b < blocks; ++b)
      if (ranks[b] > 0 && ranks[b] < n_ && up[b] > 0)
        take(ranks[b], up[b], up[b], b == root_pod, fmt::format("uplinks of the leaves of node{}", b));
  }

  const Router& router_;
  const Topology& t_;
  const CollectiveCall& call_;
  std::uint32_t n_;
  std::vector<DeviceId> gpus_, nics_;
  bool one_block_ = true, scale_up_ = true;
  double latency_ps_ = 0, most_ps_ = 0;
  Floor best_;
};

}  // namespace

Floor machine_floor(const Router& router, const Placement& placement, const CollectiveCall& call) {
  Floor worst;
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g) {
    const Floor f = Cuts(router, placement, call, g).largest();
    if (g == 0 || f.time > worst.time) worst = f;
  }
  return worst;
}

}  // namespace busbar
