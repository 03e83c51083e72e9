#include "busbar/nccl/tuning.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "busbar/nccl/internal/rccl_tuning.h"
#include "busbar/nccl/internal/tuning_tables.h"

namespace busbar::nccl {

namespace {

/// From this version on, NVLS counts with the efficiency of the switches. With 2.27.7, 5 of 8 GPUs use NVLS and 4 do
/// not (github.com/stas00/ml-engineering, network, one node of 8 H200); the older formula gives this.
constexpr NcclVersion kNvlsByEfficiency{2, 28};

float log2_floor(std::uint32_t n) { return static_cast<float>(std::bit_width(std::max(n, 1u)) - 1); }

/// The figures of a communicator from which the tables are computed.
class CostModel {
 public:
  explicit CostModel(const NcclComm& comm)
      : c_(comm),
        v_(comm.settings.version),
        k_(nccl_constants(v_)),
        ranks_(static_cast<float>(comm.ranks)),
        nodes_(comm.node_count()),
        generation_(place_in_tables(comm).generation),
        size_(place_in_tables(comm).size),
        cpu_(comm.shapes.front().system.cpu) {
    if (cpu_.arch == CpuArch::kPower) k_.pcie[index(NcclAlgorithm::kTree)][2] = k_.pcie[index(NcclAlgorithm::kRing)][2];
  }

  NcclCost cost(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const {
    if (!exists(op, a, p) || !enabled(op, a, p)) return {};
    return {latency(op, a, p), bandwidth(op, a, p)};
  }

 private:
  static constexpr std::size_t index(NcclAlgorithm a) { return static_cast<std::size_t>(a); }

  const NcclGraph& graph(NcclAlgorithm a) const {
    switch (a) {
      case NcclAlgorithm::kRing:
        return c_.graphs.ring;
      case NcclAlgorithm::kCollnetDirect:
        return c_.graphs.collnet_direct;
      case NcclAlgorithm::kCollnetChain:
        return c_.graphs.collnet_chain;
      case NcclAlgorithm::kNvls:
      case NcclAlgorithm::kNvlsTree:
        return c_.graphs.nvls;
      default:
        return c_.graphs.tree;
    }
  }
  static bool is_nvls(NcclAlgorithm a) { return a == NcclAlgorithm::kNvls || a == NcclAlgorithm::kNvlsTree; }
  static bool is_collnet(NcclAlgorithm a) {
    return a == NcclAlgorithm::kCollnetDirect || a == NcclAlgorithm::kCollnetChain;
  }
  static bool gathers(collectives::Collective op) {
    return op == collectives::Collective::kAllGather || op == collectives::Collective::kReduceScatter;
  }
  float per_node() const { return ranks_ / static_cast<float>(nodes_); }
  float steps(collectives::Collective op) const {
    if (op == collectives::Collective::kAllReduce) return 2 * (ranks_ - 1);
    return gathers(op) ? ranks_ - 1 : ranks_;
  }

  bool exists(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const {
    if ((op == collectives::Collective::kBroadcast || op == collectives::Collective::kReduce) &&
        a != NcclAlgorithm::kRing)
      return false;
    if (gathers(op) &&
        (a == NcclAlgorithm::kTree || a == NcclAlgorithm::kCollnetChain || a == NcclAlgorithm::kNvlsTree))
      return false;
    if (op == collectives::Collective::kAllReduce && a == NcclAlgorithm::kPat) return false;
    const bool any_protocol = a == NcclAlgorithm::kTree || a == NcclAlgorithm::kRing;
    return any_protocol || p == NcclProtocol::kSimple;
  }

  bool enabled(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const {
    if (graph(a).channels == 0) return false;
    if (is_nvls(a) && (!c_.nvls || graph(a).channels < 2)) return false;
    if (a == NcclAlgorithm::kNvlsTree && nodes_ == 1) return false;
    const bool collnet = c_.settings.collnet && nodes_ >= std::max(c_.settings.collnet_nodes, 2u);
    if (a == NcclAlgorithm::kNvls && nodes_ > 1 && (!collnet || gathers(op))) return false;
    if (is_collnet(a) && !collnet) return false;
    if (a == NcclAlgorithm::kCollnetDirect && (!c_.shapes.front().system.has_nvs() || gathers(op))) return false;
    if (a == NcclAlgorithm::kPat) return pat();
    return p != NcclProtocol::kLl128 || c_.settings.allowed[nccl_place(op)].trusts_ll128 || ll128(a);
  }

  bool pat() const {
    if (v_ < NcclVersion{2, 23} || c_.least_capability < 60) return false;
    return c_.settings.pat.value_or(nodes_ == c_.ranks);
  }

  bool ll128(NcclAlgorithm a) const {
    if (c_.least_capability < 70 || graph(a).intra_type > topology::PathType::kNvb) return false;
    // Before 2.23, only generations that had been tested.
    const int cc = c_.least_capability;
    if (v_ < NcclVersion{2, 23} && cc != 70 && cc != 80 && cc != 90) return false;
    return graph(a).inter_type <= (cc >= 90 ? topology::PathType::kPxn : topology::PathType::kPxb);
  }

  float nvls_per_channel(collectives::Collective op, NcclAlgorithm a) const {
    const NcclGraph& g = graph(a);
    const auto channels = static_cast<float>(g.channels);
    const bool tree = a == NcclAlgorithm::kNvlsTree;
    if (v_ < kNvlsByEfficiency) return std::min(g.intra_GBps, tree && nodes_ > 2 ? g.inter_GBps / 2 : g.inter_GBps);
    float inside = g.intra_GBps * k_.nvls_efficiency[generation_] * (channels - 1) / channels;
    inside *= op == collectives::Collective::kAllReduce ? 2 : (per_node() - 1) / per_node();
    const float outside = g.inter_GBps * (tree && nodes_ <= 2 ? 2 : 1);
    const float most = tree ? k_.nvls_tree_channel[generation_][size_] : std::numeric_limits<float>::max();
    return std::min({inside, outside, most});
  }

  float ring_bus(NcclProtocol p, float bus, float ll_most, collectives::Collective op) const {
    const auto channels = static_cast<float>(graph(NcclAlgorithm::kRing).channels);
    if (p == NcclProtocol::kLl) {
      float share = .5f;
      if (v_ < NcclVersion{2, 22}) share = nodes_ > 1 || !gathers(op) ? .25f : 1 / 3.f;
      return std::min(ll_most, bus * share);
    }
    if (p == NcclProtocol::kSimple) return bus;
    const float share = v_ < NcclVersion{2, 23} && per_node() < 2 ? .7f : .92f;
    return std::min(bus * share, channels * k_.ring_ll128_channel[generation_][size_]);
  }

  float tree_bus(NcclProtocol p, float bus, float ll_most) const {
    const NcclGraph& g = graph(NcclAlgorithm::kTree);
    const auto channels = static_cast<float>(g.channels);
    bus = std::min(bus * .92f, channels * k_.tree_channel[generation_][size_]);
    if (p == NcclProtocol::kLl) bus = std::min(bus / 3.8f, ll_most);
    if (p == NcclProtocol::kLl128)
      bus = std::min(bus * (nodes_ == 1 ? 7 / 9.f : 120 / 128.f), channels * k_.tree_ll128_channel[generation_][size_]);
    return g.pattern == NcclPattern::kTree ? bus * .85f : bus;
  }

  float collnet_direct_bus(float bus) const {
    float factor = per_node() / static_cast<float>(graph(NcclAlgorithm::kCollnetDirect).channels);
    factor -= (factor - 1) / 2;
    return bus / factor * (c_.least_capability >= 90 ? .85f : 1);
  }

  float bandwidth(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const {
    const NcclGraph& g = graph(a);
    const bool amd = cpu_.vendor == CpuVendor::kAmd;
    const float ll_most = k_.ll_most[nodes_ == 1 ? generation_ : amd ? 1 : 0][size_];
    float one = nodes_ <= 2 || is_collnet(a) ? g.intra_GBps : g.inter_GBps;
    if (is_nvls(a)) one = nvls_per_channel(op, a);
    float bus = static_cast<float>(g.channels) * one;
    if (a == NcclAlgorithm::kRing) bus = ring_bus(p, bus, ll_most, op);
    if (a == NcclAlgorithm::kTree) bus = tree_bus(p, bus, ll_most);
    if (a == NcclAlgorithm::kPat) return bus * .75f;
    if (a == NcclAlgorithm::kCollnetDirect) bus = collnet_direct_bus(bus);
    if (is_nvls(a) && v_ < kNvlsByEfficiency) return bus * 5 / 6;
    if (a == NcclAlgorithm::kNvls && gathers(op)) return bus;
    if (a == NcclAlgorithm::kRing || is_nvls(a)) return bus * ranks_ / steps(op);
    return bus * .5f;
  }

  float ring_latency(collectives::Collective op, NcclProtocol p, float inside, float outside) const {
    const std::size_t column = static_cast<std::size_t>(p);
    const NcclGraph& g = graph(NcclAlgorithm::kRing);
    const NcclLatencies& steps_of = nodes_ > 1                                 ? k_.net
                                    : g.intra_type == topology::PathType::kNvl ? k_.nvlink
                                                                               : k_.pcie;
    if (op == collectives::Collective::kBroadcast || op == collectives::Collective::kReduce) {
      if (g.same_channels) return steps_of[index(NcclAlgorithm::kRing)][column];
      const auto row = p == NcclProtocol::kSimple ? NcclAlgorithm::kTree : NcclAlgorithm::kRing;
      return steps(op) * steps_of[index(row)][column];
    }
    float over_net = 0;
    if (nodes_ > 1) {
      const bool amd = cpu_.arch == CpuArch::kX86 && cpu_.vendor == CpuVendor::kAmd;
      const float overhead = c_.settings.net_overhead_us.value_or(amd ? 2.f : 1.f);
      inside = std::max(inside, overhead * (p == NcclProtocol::kSimple ? 3 : 1));
      const auto hops = static_cast<float>(nodes_ - 1);
      over_net = op == collectives::Collective::kAllReduce ? 2 * hops : hops;
      if (op == collectives::Collective::kAllReduce && v_ < NcclVersion{2, 23}) over_net = 2 * (hops + 1);
    }
    return (steps(op) - over_net) * inside + over_net * outside;
  }

  float latency(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const {
    const std::size_t row = index(a), column = static_cast<std::size_t>(p);
    const NcclGraph& g = graph(a);
    const float base = k_.base[row][column];
    const float inside = (g.intra_type == topology::PathType::kNvl ? k_.nvlink : k_.pcie)[row][column];
    const bool alone = per_node() == 1 && v_ >= NcclVersion{2, 23};  // nothing in the node hides the network
    float outside = k_.net[alone ? index(NcclAlgorithm::kTree) : row][column] + g.inter_latency_us;
    if (p == NcclProtocol::kSimple) outside += g.inter_latency_us;  // for the flush
    const auto local = static_cast<float>(c_.ranks / nodes_ - 1);
    switch (a) {
      case NcclAlgorithm::kRing:
        return base + ring_latency(op, p, inside, outside);
      case NcclAlgorithm::kTree:
        return base + 2 * (local * inside + log2_floor(nodes_) * outside);
      case NcclAlgorithm::kCollnetDirect:
        return base + 2 * (std::min(1.f, local) * inside + local * .4f) + outside;
      case NcclAlgorithm::kCollnetChain:
        return base + 2 * local * inside + outside;
      case NcclAlgorithm::kNvls:
        return inside + (nodes_ > 1 ? outside : 0);
      case NcclAlgorithm::kNvlsTree:
        return base + inside + 2 * log2_floor(nodes_) * outside;
      default:
        return base + log2_floor(nodes_) * outside / 3.5f + ranks_ * 2.8f;
    }
  }

  const NcclComm& c_;
  NcclVersion v_;
  NcclConstants k_;
  float ranks_;
  std::uint32_t nodes_;
  std::size_t generation_, size_;
  CpuType cpu_;
};

}  // namespace

const NcclCost& NcclTuning::of(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const {
  return cost[nccl_place(op)][static_cast<std::size_t>(a)][static_cast<std::size_t>(p)];
}

NcclTuning tune_nccl(const NcclComm& comm) {
  if (comm.shapes.front().system.amd_gpus) return tune_rccl(comm);
  NcclTuning out;
  const CostModel model(comm);
  for (std::size_t o = 0; o < kNcclCollectives; ++o)
    for (std::size_t a = 0; a < kNcclAlgorithms; ++a)
      for (std::size_t p = 0; p < kNcclProtocols; ++p)
        if (comm.ranks > 1)
          out.cost[o][a][p] = model.cost(kNcclTuned[o], static_cast<NcclAlgorithm>(a), static_cast<NcclProtocol>(p));
  // Threads per block. Source: src/graph/tuning.cc and src/include/device.h.
  constexpr std::uint32_t kLl128 = 640, kMost = 640;
  constexpr float kPcieGBps = 12;  // below this rate, fewer threads suffice
  const std::uint32_t set = comm.settings.threads, some = set > 0 ? set : 512;
  for (auto& row : out.threads) row = {some, kLl128, kMost};
  const NcclGraph& ring = comm.graphs.ring;
  const bool slow = ring.intra_GBps * static_cast<float>(ring.channels) <= kPcieGBps;
  out.threads[static_cast<std::size_t>(NcclAlgorithm::kRing)][2] = slow && set == 0 ? 256 : some;
  out.threads[static_cast<std::size_t>(NcclAlgorithm::kTree)][2] = some;
  return out;
}

}  // namespace busbar::nccl
