// The recursive part of the graph search: one speed, one set of allowed path types.
#pragma once

#include "busbar/nccl/graph.h"

namespace busbar::nccl {

/// The step budget of a search; NCCL calls the counts of recursion steps "timeouts" (src/graph/search.cc).
inline constexpr int kNcclPerfect = -1;  ///< returned if no better graph can exist

class GraphSearch {
 public:
  GraphSearch(const NcclSystem& system, NcclGraph& best, NcclVersion version);
  /// Searches with the types, speeds and limits of `trial` and improves `best`. Returns the steps left of `steps`.
  int run(const NcclGraph& trial, int steps);

  /// Which GPU is tried first: by the path to the network device, then by the path from the GPU before it. Whole GB/s.
  struct GpuScore {
    std::uint32_t gpu = 0;
    int net_GBps = 0, net_pcie_GBps = 0, net_hops = 0, GBps = 0, hops = 0;
    std::uint32_t offset = 0;  ///< distance in number from the GPU before it
  };

 private:
  enum class Order : std::uint8_t { kFree, kPci, kReplay };
  enum class End : std::uint8_t { kGpu, kNet, kNvs };
  struct Leg {
    const NcclPath* path;
    const NcclPath* back;
    bool intra;
    bool from_gpu;
    std::uint32_t start;
  };
  static constexpr std::uint32_t kNoNet = UINT32_MAX;  ///< simpler than an optional, which calls would have to pack
  /// GPUs to try, in order. On the stack, because each step of the recursion has one.
  struct NextGpus {
    std::uint32_t count = 0;
    std::uint16_t gpu[kMostNcclGpus];
    void push(std::uint32_t g) { gpu[count++] = static_cast<std::uint16_t>(g); }
  };
  /// One entry of a ranking. GPUs with equally good paths from the previous GPU have the same `way`.
  struct Ranked {
    std::uint8_t gpu, way;
    bool allowed;  ///< whether the trial allows its path type
  };
  struct Ranking {
    bool made = false;
    std::uint64_t pcie_key = 0;
    std::vector<Ranked> best_first;
  };
  /// Where a chain turns back: to the network or to its first GPU; -1: nowhere.
  struct Turns {
    int net = -1, first = -1;
  };

  Leg leg(End from, std::uint32_t a, End to, std::uint32_t b) const;
  bool take(const Leg& leg, float times);
  void give(const Leg& leg, float times);
  std::size_t walk(const Leg& leg, std::size_t most, float bandwidth);
  void try_gpu(std::uint32_t step, Turns turns, Order order, int& steps, std::uint32_t net, std::uint32_t gpu);
  void at_gpu(std::uint32_t gpu, std::uint32_t step, Turns turns, Order order, int& steps);
  void back_to_net(std::uint32_t gpu, std::uint32_t step, Turns turns, Order order, int& steps);
  void complete(int& steps);
  void next_channel(int& steps);
  void from_nets(Turns turns, int& steps);
  void from_net(std::uint32_t net, Turns turns, int& steps);
  void from_gpus(Turns turns, int& steps);
  bool heads_from_net(std::uint32_t net, Turns turns, int& steps);
  void through_switch(std::uint32_t head, int& steps);
  void all_to_head(std::uint32_t head, int& steps);
  bool better() const;
  bool net_allowed(std::uint32_t start, std::uint32_t net, std::uint32_t step) const;
  std::uint32_t replayed(std::int32_t step) const;
  void next_gpus(std::uint32_t gpu, int sort_net, NextGpus& next);
  void neighbours(std::uint32_t gpu, NextGpus& next) const;
  void sorted_gpus(std::uint32_t gpu, int sort_net, NextGpus& next);
  const Ranking& ranking(std::uint32_t gpu, bool for_net);
  std::vector<std::uint32_t> usable_nets(int gpu) const;
  void reserve_net(std::uint32_t net, float gigabytes_per_s);
  std::vector<std::uint32_t> nets_on_port_of(std::uint32_t net) const;
  float pcie_GBps_of(std::uint32_t gpu) const;
  std::int32_t share_taken_back(const NcclLink& link) const;
  std::vector<std::uint32_t> preferred_nets(std::uint32_t gpu) const;
  bool is_tree() const;
  bool allowed(const Leg& leg) const;

  /// How switches change the order: before 2.19 not at all; then neighbours come first; since 2.23 only neighbours.
  enum class Neighbours : std::uint8_t { kNone, kFirst, kOnly };

  const NcclSystem& s_;
  Neighbours neighbours_;
  bool replays_always_;  ///< the order of the last channel is tried before others (before 2.23)
  NcclGraph& best_;
  NcclGraph now_;
  std::vector<std::int32_t> left_;        ///< per link: free bandwidth, in 1e-3 GB/s
  std::vector<std::uint64_t> pcie_;       ///< per link: its fingerprint if it is PCIe, else 0
  std::vector<std::int32_t> takes_back_;  ///< per link, see share_taken_back
  std::vector<float> net_left_;           ///< per network device
  std::vector<std::uint64_t> used_;       ///< per GPU: bit per channel
  std::uint64_t pcie_key_ = 0;            ///< fingerprint of the reservations on PCIe: equal reservations, equal key
  topology::PathType ranked_type_ = topology::PathType::kLoc;  ///< the path type for which the rankings were made
  bool ranked_tree_ = false;                                   ///< and the pattern
  std::vector<GpuScore> scores_;                               ///< work space of ranking()
  std::vector<Ranking> rankings_;                              ///< per GPU and network device (or none)
  std::vector<std::vector<std::uint32_t>> same_port_;  ///< per network device: all devices of its port, and itself
  std::vector<std::vector<std::uint32_t>> near_gpus_;  ///< per network device
  std::vector<std::vector<std::uint32_t>> near_nets_;  ///< per GPU: the NICs it prefers, in the order of channels
  topology::PathType nets_type_ = topology::PathType::kLoc;  ///< the path type for which nets_of_ was made
  std::vector<std::vector<std::uint32_t>> nets_of_;          ///< usable_nets(-1), then usable_nets() of every GPU
};

}  // namespace busbar::nccl
