// The cuts of a machine floor. Private to floors.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "busbar/floors/floor.h"
#include "busbar/floors/floor_tiers.h"
#include "busbar/floors/internal/floor_demand.h"

namespace busbar::floors {

class PairWays;

/// The cuts of one group of ranks.
class FloorCuts {
 public:
  FloorCuts(const routing::Router& router, const routing::Placement& placement, const program::CollectiveCall& call,
            std::uint32_t group, FloorTiers& tiers);
  /// The largest bound of each kind.
  std::vector<MachineFloor::Line> bounds(FloorRates rates);

 private:
  bool usable(topology::LinkId l) const;
  /// At payload rates: whether it is a GPU that is no member and that no payload of the call passes.
  bool is_stranger(topology::DeviceId d) const {
    return rates_ == FloorRates::kPayload && !stranger_.empty() && stranger_[index(d)] != 0;
  }
  /// A send_recv of more than two ranks: each must reach only the next.
  bool to_next() const { return call_.op == collectives::Collective::kSendRecv && n_ > 2; }
  /// Two members, from and to, where the second needs data of the first: the m-th such pair, m from 1 to n - 1.
  std::pair<std::uint32_t, std::uint32_t> pair(std::uint32_t m) const;
  double rate(topology::LinkId l) const { return floor_rate(t_, l, rates_); }
  struct NicPair {
    topology::DeviceId from{}, to{};
  };
  std::optional<double> bundled_latency_ps(std::uint32_t a, std::uint32_t b, NicPair nics,
                                           std::vector<routing::LinkShare>& path) const;
  double route_latency_ps(std::uint32_t a, std::uint32_t b, std::vector<routing::LinkShare>& path);
  void find_reach();
  void find_strangers();
  void find_latencies();
  /// The least latency of two ranks on different sides.
  double nearest_ps(const std::vector<std::uint32_t>& inside, bool between_domains) const;
  bool all_pairs_scale_up();
  bool fabric_reduces() const;
  bool can_reduce() const;
  /// Offers a cut whose links carry `out` and `in` bytes per ps. True if it is the largest of its kind so far.
  bool take(const Demand& d, double out, double in, CutKind kind, const std::vector<std::uint32_t>& inside);
  void name_it(CutKind kind, std::string name) { best_[static_cast<std::size_t>(kind)].cut = std::move(name); }
  /// Offers the bound of an all-reduce for `parts` parts that hold all ranks and send `out` together.
  void take_all_of(std::uint32_t parts, double out, CutKind kind, const char* name);
  /// Offers a set of devices of one block.
  void take_devices(const std::vector<topology::DeviceId>& devices, CutKind kind, const std::string& name);
  void endpoints();
  void memories();
  void inside_blocks();
  void numa_nodes(const topology::Block& block, const std::string& node);
  void pcie_switches(const topology::Block& block);
  struct CableRates {
    double out = 0, in = 0;
    bool inside_is_narrower = false;  ///< than its cables
  };
  CableRates cables_of(topology::DeviceId d);
  void blocks();
  void tiers();
  void sets_of_ranks();
  void halves();
  /// Whether a GPU or a switch of the fabric has a link to another of its kind.
  bool meshed(topology::DeviceId d) const;
  bool any_meshed() const;
  void all_pairs();
  void take_pairs(PairWays& ways, std::size_t rounds, const std::vector<topology::LinkId>& links);
  void take_half(topology::LinkId link, const std::vector<std::uint32_t>& from_start,
                 const std::vector<std::uint32_t>& from_end);

  const routing::Router& router_;
  const routing::Placement& placement_;
  const topology::Topology& t_;
  const program::CollectiveCall& call_;
  FloorTiers& tiers_;
  FloorDemand demand_;
  std::uint32_t n_;
  std::vector<topology::DeviceId> gpus_;
  std::vector<std::uint32_t> ranks_;          ///< placed ranks of the members
  std::vector<std::uint32_t> used_blocks_;    ///< ascending
  std::vector<std::uint32_t> members_begin_;  ///< per entry of used_blocks_, into members_; one extra at the end
  std::vector<std::uint32_t> members_;        ///< by block
  FloorRates rates_ = FloorRates::kWire;
  std::vector<std::uint8_t> side_;      ///< per device: 1 while its cut is being measured
  std::vector<std::uint8_t> stranger_;  ///< per device: 1 for GPUs on no way between members; empty: not known
  bool one_block_ = true, scale_up_ = true;
  bool cabled_ = false;          ///< some domains are joined by a cable, which no cut by leaves contains
  std::vector<double> pair_ps_;  ///< up to 64 ranks: least latency over any ranks, at from x n + to
  double near_ps_ = 0, near_domains_ps_ = 0, far_ps_ = 0;
  std::array<MachineFloor::Line, static_cast<std::size_t>(CutKind::kFarthest) + 1> best_;
};

}  // namespace busbar::floors
