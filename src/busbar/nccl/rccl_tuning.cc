// RCCL's forecast of rings and trees.
#include "busbar/nccl/internal/rccl_tuning.h"

#include <algorithm>
#include <bit>

#include "busbar/nccl/internal/rccl_tables.h"

namespace busbar::nccl {
namespace {

const NcclNodeShape& first(const NcclComm& c) { return c.shapes.front(); }

bool forwards_only(collectives::Collective op) {
  return op == collectives::Collective::kBroadcast || op == collectives::Collective::kReduce;
}

/// Latency and bandwidth of rings and trees.
class RcclModelOfCosts {
 public:
  explicit RcclModelOfCosts(const NcclComm& comm)
      : c_(comm),
        k_(rccl_constants(comm)),
        ranks_(static_cast<float>(comm.ranks)),
        nodes_(comm.node_count()),
        cdna_(first(comm).system.target.starts_with("gfx94") || first(comm).system.target.starts_with("gfx95")) {}

  NcclCost cost(collectives::Collective op, NcclAlgorithm a, NcclProtocol p) const {
    const bool tree = a == NcclAlgorithm::kTree;
    if (!tree && a != NcclAlgorithm::kRing) return {};
    if (tree && op != collectives::Collective::kAllReduce) return {};
    const NcclGraph& g = tree ? c_.graphs.tree : c_.graphs.ring;
    if (g.channels == 0 || (p == NcclProtocol::kLl128 && !ll128(op, g))) return {};
    if (tree && p == NcclProtocol::kSimple && nodes_ == 1 && cdna_) return {};
    return {tree ? tree_latency(p) : ring_latency(op, p), bandwidth(op, g, tree ? k_.tree : k_.ring, p, tree)};
  }

 private:
  static std::size_t at(NcclProtocol p) { return static_cast<std::size_t>(p); }

  bool ll128(collectives::Collective op, const NcclGraph& g) const {
    if (c_.settings.rccl_ll128 || c_.settings.allowed[nccl_place(op)].trusts_ll128) return true;
    const bool known = cdna_ || first(c_).system.target == "gfx90a";
    const auto& match = first(c_).graphs.rccl;
    return known && match && match->ll128 && g.intra_type == topology::PathType::kNvl &&
           g.inter_type <= topology::PathType::kPxb;
  }

  float steps(collectives::Collective op) const {
    if (op == collectives::Collective::kAllReduce) return 2 * (ranks_ - 1);
    return forwards_only(op) ? ranks_ : ranks_ - 1;
  }

  float bandwidth(collectives::Collective op, const NcclGraph& g, const RcclSteps& k, NcclProtocol p, bool tree) const {
    const float one = nodes_ <= 2 ? g.intra_GBps : g.inter_GBps;
    float bus = static_cast<float>(g.channels) * one * (nodes_ <= 2 ? k.few_nodes : k.many_nodes)[at(p)];
    if (nodes_ == 1 && forwards_only(op) && p == NcclProtocol::kLl && cdna_) bus *= 1.65f;
    return tree ? bus * .5f : bus * ranks_ / steps(op);
  }

  float inside(const NcclGraph& g, const RcclSteps& k, NcclProtocol p) const {
    return (g.intra_type == topology::PathType::kNvl ? k.xgmi : kRcclPcie)[at(p)];
  }
  /// With one GPU per node no traffic inside the node hides the network: its rings count as trees.
  float outside(const NcclGraph& g, const RcclSteps& k, NcclProtocol p) const {
    const float step = (c_.ranks == nodes_ ? k_.tree : k).net[at(p)];
    return step + g.inter_latency_us * (p == NcclProtocol::kSimple ? 2 : 1);
  }

  float tree_latency(NcclProtocol p) const {
    const NcclGraph& g = c_.graphs.tree;
    const auto depth = static_cast<float>(std::bit_width(nodes_) - 1);
    const auto local = static_cast<float>(c_.ranks / nodes_ - 1);
    return kRcclBase[at(p)] + 2 * (local * inside(g, k_.tree, p) + depth * outside(g, k_.tree, p));
  }

  float ring_latency(collectives::Collective op, NcclProtocol p) const {
    const NcclGraph& g = c_.graphs.ring;
    if (forwards_only(op)) return kRcclBase[at(p)] + (nodes_ > 1 ? k_.ring.net[at(p)] : inside(g, k_.ring, p));
    if (nodes_ == 1) return kRcclBase[at(p)] + steps(op) * inside(g, k_.ring, p);
    const float overhead = c_.settings.net_overhead_us.value_or(first(c_).system.cpu.vendor == CpuVendor::kAmd ? 2 : 1);
    const float step = std::max(inside(g, k_.ring, p), overhead * (p == NcclProtocol::kSimple ? 3 : 1));
    const float over_net = static_cast<float>(nodes_ - 1) * (op == collectives::Collective::kAllReduce ? 2 : 1);
    return kRcclBase[at(p)] + (steps(op) - over_net) * step + over_net * outside(g, k_.ring, p);
  }

  const NcclComm& c_;
  const RcclConstants& k_;
  float ranks_;
  std::uint32_t nodes_;
  bool cdna_;
};

}  // namespace

const RcclConstants& rccl_constants(const NcclComm& c) {
  const auto& match = first(c).graphs.rccl;
  const int own = rccl_row(first(c).system.target);
  constexpr int kCdna4 = 6;  // gfx950 always uses this row
  return rccl_constants(match && match->tuning >= 0 && own != kCdna4 ? match->tuning : own);
}

NcclTuning tune_rccl(const NcclComm& comm) {
  NcclTuning out;
  if (comm.ranks > 1) {
    const RcclModelOfCosts model(comm);
    for (std::size_t o = 0; o < kNcclCollectives; ++o)
      for (const NcclAlgorithm a : {NcclAlgorithm::kTree, NcclAlgorithm::kRing})
        for (std::size_t p = 0; p < kNcclProtocols; ++p)
          out.cost[o][static_cast<std::size_t>(a)][p] = model.cost(kNcclTuned[o], a, static_cast<NcclProtocol>(p));
  }
  for (auto& row : out.threads) row.fill(comm.settings.threads > 0 ? comm.settings.threads : 256);
  return out;
}

}  // namespace busbar::nccl
