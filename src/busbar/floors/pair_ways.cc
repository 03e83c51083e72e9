#include "busbar/floors/internal/pair_ways.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

namespace busbar::floors {
namespace {

/// How much longer the most loaded link becomes: fast at first, then finer.
double growth(std::size_t round) { return std::max(0.1, 2.0 / (1.0 + 0.1 * static_cast<double>(round))); }

}  // namespace

std::uint32_t PairWays::join(std::uint32_t from, std::uint32_t to, double rate) {
  out_[from].push_back(static_cast<std::uint32_t>(links_.size()));
  links_.push_back({from, to, rate});
  return static_cast<std::uint32_t>(links_.size() - 1);
}

std::size_t PairWays::visits() const {
  const auto starts = std::count_if(members_.begin(), members_.end(), [](double m) { return m > 0; });
  return static_cast<std::size_t>(starts) * (links_.size() + members_.size());
}

/// Shortest ways from `start`. Of equal ones the place of the lower number is reached first.
void PairWays::find_ways(std::uint32_t start) {
  using Reach = std::pair<double, std::uint32_t>;
  distance_.assign(members_.size(), INFINITY);
  order_.clear();
  std::priority_queue<Reach, std::vector<Reach>, std::greater<>> next;
  distance_[start] = 0;
  next.emplace(0, start);
  while (!next.empty()) {
    const auto [at, place] = next.top();
    next.pop();
    if (at > distance_[place]) continue;
    order_.push_back(place);
    for (const std::uint32_t l : out_[place]) {
      const std::uint32_t to = links_[l].to;
      if (at + length_[l] >= distance_[to]) continue;
      distance_[to] = at + length_[l];
      way_[to] = l;
      next.emplace(distance_[to], to);
    }
  }
}

/// Loads the ways from `start` with its parts. Returns the sum of parts x distance.
double PairWays::load_ways(std::uint32_t start) {
  find_ways(start);
  double sum = 0;
  for (std::size_t p = 0; p < members_.size(); ++p) {
    below_[p] = members_[start] * members_[p];
    if (below_[p] > 0) sum += below_[p] * distance_[p];
  }
  for (std::size_t i = order_.size(); i-- > 1;) {
    const std::uint32_t place = order_[i];
    load_[way_[place]] += below_[place];
    below_[links_[way_[place]].from] += below_[place];
  }
  return sum;
}

/// The bound of the lengths as they are.
double PairWays::round() {
  std::fill(load_.begin(), load_.end(), 0.0);
  double used = 0, carried = 0;
  for (std::size_t p = 0; p < members_.size(); ++p)
    if (members_[p] > 0) used += load_ways(static_cast<std::uint32_t>(p));
  for (std::size_t l = 0; l < links_.size(); ++l) carried += links_[l].rate * length_[l];
  return used / carried;
}

double PairWays::bound(std::size_t rounds, double enough) {
  const std::size_t places = members_.size();
  length_.clear();
  for (const Link& l : links_) length_.push_back(1 / l.rate);
  load_.resize(links_.size());
  loads_.assign(links_.size(), 0.0);
  below_.resize(places);
  way_.resize(places);
  double best = 0;
  for (std::size_t r = 0; r < rounds; ++r) {
    const double found = round();
    if (!(found < INFINITY)) return 0;
    if (found > best) {
      best = found;
      shares_.clear();
      for (std::size_t l = 0; l < links_.size(); ++l) shares_.push_back(links_[l].rate * length_[l]);
    }
    double longest = 0, mean_longest = 0;  // the mean of all rounds is a flow: no bound is above its time
    for (std::size_t l = 0; l < links_.size(); ++l) {
      loads_[l] += load_[l];
      longest = std::max(longest, load_[l] / links_[l].rate);
      mean_longest = std::max(mean_longest, loads_[l] / links_[l].rate / static_cast<double>(r + 1));
    }
    if (mean_longest <= std::max(enough, 1.01 * best)) break;
    double sum = 0;  // kept near 1, so that lengths stay in range
    for (std::size_t l = 0; l < links_.size(); ++l) {
      length_[l] *= 1 + growth(r) * load_[l] / links_[l].rate / longest;
      sum += length_[l] * links_[l].rate;
    }
    for (double& length : length_) length /= sum;
  }
  const double sum = std::accumulate(shares_.begin(), shares_.end(), 0.0);
  for (double& share : shares_) share /= sum;
  return best * (1 - 1e-9);  // sums of rounded distances
}

}  // namespace busbar::floors
