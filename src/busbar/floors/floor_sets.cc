// Cuts between every set of up to 16 ranks and the other ranks.
#include <fmt/core.h>

#include <map>

#include "busbar/floors/internal/floor_cuts.h"

namespace busbar::floors {
namespace {

/// A small undirected graph. Nodes below `ranks` are ranks; the other nodes may be on either side of a cut.
class RankGraph {
 public:
  explicit RankGraph(std::uint32_t ranks) : ranks_(ranks) {}
  std::uint32_t ranks() const { return ranks_; }
  std::uint32_t places() const { return static_cast<std::uint32_t>(near_.size()); }
  void resize(std::uint32_t places) { near_.resize(places); }
  void join(std::uint32_t a, std::uint32_t b, double rate) { near_[a][b] += rate; }

  /// Removes nodes without effect: dead ends. Merges nodes with the same neighbours and adds their rates.
  void simplify() {
    for (bool again = true; again;) {
      again = false;
      for (std::uint32_t p = ranks_; p < places(); ++p)
        if (near_[p].size() == 1) again = true, leave(p);
      for (std::uint32_t p = ranks_; p < places(); ++p)
        for (std::uint32_t q = p + 1; q < places() && !near_[p].empty(); ++q)
          if (same_neighbours(p, q)) {
            for (const auto& [x, rate] : near_[q]) near_[p][x] += rate, near_[x][p] += near_[x][q];
            leave(q);
            again = true;
          }
    }
    for (const auto& row : near_) rows_.emplace_back(row.begin(), row.end());
  }

  /// Rates out of and into the ranks with a bit in `set`. Each other node joins the side with which it shares more
  /// rate.
  std::pair<double, double> cut(std::uint32_t set, std::vector<std::uint8_t>& side) const {
    side.assign(places(), 0);
    for (std::uint32_t r = 0; r < ranks_; ++r) side[r] = set >> r & 1;
    for (int pass = 0; pass < 4; ++pass) {
      bool moved = false;
      for (std::uint32_t p = ranks_; p < places(); ++p) {
        double in = 0, out = 0;
        for (const auto& [x, rate] : rows_[p]) (side[x] ? in : out) += rate;
        const std::uint8_t better = in > out ? 1 : in < out ? 0 : side[p];
        moved |= better != side[p];
        side[p] = better;
      }
      if (!moved) break;
    }
    double out = 0, in = 0;
    for (std::uint32_t p = 0; p < places(); ++p)
      for (const auto& [x, rate] : rows_[p]) {
        if (side[p] && !side[x]) out += rate;
        if (!side[p] && side[x]) in += rate;
      }
    return {out, in};
  }

 private:
  bool same_neighbours(std::uint32_t p, std::uint32_t q) const {
    if (near_[p].size() != near_[q].size() || near_[q].empty()) return false;
    const double ratio = near_[q].begin()->second / near_[p].begin()->second;
    for (auto a = near_[p].begin(), b = near_[q].begin(); a != near_[p].end(); ++a, ++b)
      if (a->first != b->first || b->second != a->second * ratio) return false;
    return true;
  }
  void leave(std::uint32_t p) {
    for (const auto& [x, rate] : near_[p]) near_[x].erase(p);
    near_[p].clear();
  }

  std::uint32_t ranks_;
  std::vector<std::map<std::uint32_t, double>> near_;  ///< rate towards each neighbour
  std::vector<std::vector<std::pair<std::uint32_t, double>>> rows_;
};

}  // namespace

void FloorCuts::sets_of_ranks() {
  constexpr std::uint32_t kMostSwitches = 256;  // a larger fabric counts as one node without a limit
  const bool whole = t_.fabric_switches().size() > kMostSwitches;
  RankGraph graph(n_);
  std::map<topology::DeviceId, std::uint32_t> place;
  for (std::uint32_t m = 0; m < n_; ++m) place.emplace(gpus_[m], m);
  std::uint32_t next = n_;
  for (const std::uint32_t b : used_blocks_)
    for (std::uint32_t p = 0; p < t_.blocks()[b].device_count; ++p)
      if (const auto d = static_cast<topology::DeviceId>(t_.blocks()[b].first_device + p);
          !is_stranger(d) && place.emplace(d, next).second)
        ++next;
  const std::uint32_t hub = next;
  if (!one_block_)
    for (const topology::DeviceId s : t_.fabric_switches()) place.emplace(s, whole ? hub : next++);
  graph.resize(whole ? hub + 1 : next);
  for (const auto& [d, p] : place)
    for (const topology::LinkId l : t_.out_links(d)) {
      const auto far = place.find(t_.to(l));
      if (far != place.end() && far->second != p && usable(l)) graph.join(p, far->second, rate(l));
    }
  graph.simplify();
  std::vector<std::uint8_t> side;
  std::vector<std::uint32_t> inside;
  for (std::uint32_t set = 1; set < 1u << (n_ - 1); ++set) {  // the last rank is always outside
    const auto [out, in] = graph.cut(set, side);
    inside.clear();
    for (std::uint32_t r = 0; r < n_; ++r)
      if (set >> r & 1) inside.push_back(r);
    const Demand d = demand_.across(inside);
    if (!take(d, out, in, CutKind::kRanks, inside)) continue;
    std::string name;
    for (const std::uint32_t r : inside) name += fmt::format("{}{}", name.empty() ? "what leaves ranks " : ", ", r);
    name_it(CutKind::kRanks, name);
  }
}

}  // namespace busbar::floors
