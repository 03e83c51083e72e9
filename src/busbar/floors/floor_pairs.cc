// The bound of an all-to-all by all links together, of machines that no cut describes: meshes and what lost a link.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "busbar/floors/internal/floor_cuts.h"
#include "busbar/floors/internal/pair_ways.h"

namespace busbar::floors {
namespace {

constexpr std::size_t kMostPairVisits = 4'000'000;  ///< of all rounds: some 40 ms
constexpr std::size_t kMostRounds = 200;            ///< of 8 random meshes, 400 rounds found 8 % more on one
constexpr double kMostly = 0.9;

/// The place of each device: its own or, `by_block`, that of its server.
std::vector<std::uint32_t> places(const topology::Topology& t, bool by_block) {
  std::vector<std::uint32_t> out(t.device_count());
  std::iota(out.begin(), out.end(), 0U);
  for (std::uint32_t d = 0; by_block && d < out.size(); ++d)
    if (const topology::BlockId b = t.block_of(static_cast<topology::DeviceId>(d)); b != kNone<topology::BlockId>)
      out[d] = t.blocks()[index(b)].first_device;
  return out;
}

}  // namespace

bool FloorCuts::any_meshed() const {
  const auto gpus = std::any_of(gpus_.begin(), gpus_.end(), [&](topology::DeviceId d) { return meshed(d); });
  return gpus || std::any_of(t_.fabric_switches().begin(), t_.fabric_switches().end(),
                             [&](topology::DeviceId d) { return meshed(d); });
}

void FloorCuts::all_pairs() {
  for (const bool by_block : {false, true}) {
    if (by_block && one_block_) return;
    const std::vector<std::uint32_t> place = places(t_, by_block);
    std::vector<double> members(t_.device_count(), 0.0);
    for (const topology::DeviceId g : gpus_) members[place[index(g)]] += 1;
    PairWays ways(std::move(members));
    std::vector<topology::LinkId> links;
    for (std::uint32_t d = 0; d < t_.device_count(); ++d)
      for (const topology::LinkId l : t_.out_links(static_cast<topology::DeviceId>(d))) {
        const std::uint32_t to = place[index(t_.to(l))];
        if (place[d] == to || t_.failed(l) || !usable(l) || !(rate(l) > 0)) continue;
        ways.join(place[d], to, rate(l));
        links.push_back(l);
      }
    const std::size_t rounds = std::min(kMostRounds, kMostPairVisits / std::max<std::size_t>(1, ways.visits()));
    if (rounds > 0) return take_pairs(ways, rounds, links);
  }
}

/// Offers the bound of `ways`, whose link i is `links[i]`.
void FloorCuts::take_pairs(PairWays& ways, std::size_t rounds, const std::vector<topology::LinkId>& links) {
  double known = 0;
  for (const MachineFloor::Line& line : best_) known = std::max(known, line.ps_per_byte);
  const double ps_per_byte = ways.bound(rounds, known * n_) / n_;
  if (ps_per_byte <= known * (1 + 1e-9)) return;
  MachineFloor::Line& best = best_[static_cast<std::size_t>(CutKind::kLinks)];
  best.ps_per_byte = ps_per_byte;
  std::map<std::string, double> share;
  for (std::size_t l = 0; l < links.size(); ++l) {
    const topology::LinkClass& link = t_.link_class(links[l]);
    share[link.part.empty() ? topology::name_of(link.kind) : link.part] += ways.shares()[l];
  }
  const auto most =
      std::max_element(share.begin(), share.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  best.cut = most->second > kMostly ? fmt::format("all links {} together", most->first)
                                    : fmt::format("all links together, most of them {}", most->first);
}

}  // namespace busbar::floors
