#include "busbar/engine/flow/contest.h"

#include <algorithm>

#include "busbar/engine/adaptive.h"

namespace busbar {
namespace {

template <typename F>
void for_each_open(std::span<const Competitor> competitors, F f) {
  for (std::size_t c = 0; c < competitors.size(); ++c)
    for (std::uint32_t i = 0; i < competitors[c].stage->fluids.size(); ++i)
      if (competitors[c].open.empty() || competitors[c].open[i] != 0) f(c, *competitors[c].stage, i);
}

}  // namespace

void Contest::ask(std::span<const Competitor> competitors) {
  constexpr double kRoom = 1e12;  // bytes per ps
  roomy_.begin();
  const auto rate = [this](LinkId l) { return between_switches(topology_, l) ? kRoom : rate_(l); };
  for_each_open(competitors, [&](std::size_t, const Stage& s, std::uint32_t f) { roomy_.add(s, f, rate); });
  const auto rates = roomy_.solve();
  demand_.assign(rates.begin(), rates.end());
}

ContestOutcome Contest::outcome(std::span<const Competitor> competitors) {
  ContestOutcome out;
  solver_.begin();
  for_each_open(competitors, [&](std::size_t, const Stage& s, std::uint32_t f) { solver_.add(s, f, rate_); });
  const auto rates = solver_.solve();
  out.rates.assign(rates.begin(), rates.end());
  out.load.assign(topology_.link_count(), 0.0);
  std::vector<double> slowest(competitors.size(), 0.0);
  std::size_t next = 0;
  for_each_open(competitors, [&](std::size_t c, const Stage& s, std::uint32_t f) {
    const double demand = demand_[next];
    slowest[c] = std::max(slowest[c], demand / out.rates[next++]);
    for (std::uint32_t i = s.fluids[f].begin; i < s.fluids[f].end; ++i)
      if (index(s.link[i]) < topology_.link_count())
        out.load[index(s.link[i])] += s.weight[i] * demand / rate_(s.link[i]);
  });
  for (const double s : slowest) out.cost += s;
  return out;
}

}  // namespace busbar
