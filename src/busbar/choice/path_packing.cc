#include "busbar/choice/internal/path_packing.h"

#include <algorithm>
#include <cmath>

#include "busbar/choice/internal/link_prices.h"

namespace busbar::choice {
namespace {

constexpr std::uint32_t kMostSends = 3;

class PathPacker {
 public:
  PathPacker(const RankRoutes& routes, collectives::Collective op, std::uint32_t root)
      : routes_(routes), n_(routes.ranks()), prices_(routes), price_(std::size_t{n_} * n_) {
    for (std::uint32_t a = 0; a < n_; ++a)
      for (std::uint32_t b = 0; b < n_; ++b)
        if (a != b &&
            (op == collectives::Collective::kAllToAll || (op == collectives::Collective::kGather ? b : a) == root))
          pairs_.emplace_back(a, b);
  }

  std::vector<PathPacking> all() {
    std::vector<PathPacking> out;
    for (const std::uint32_t each : {1u, 2u, 4u}) {
      while (units_.size() < each * pairs_.size()) {
        prices_.rescale();
        const auto& [a, b] = pairs_[units_.size() % pairs_.size()];
        units_.push_back(cheapest(a, b));
        load(units_.back(), 1);
      }
      for (int sweep = 0; sweep < 4 && improve(); ++sweep) {
      }
      for (const auto& u : units_)
        for (std::size_t i = 1; i < u.size(); ++i)
          if (!routes_.joined(u[i - 1], u[i])) return out;
      const double busiest = prices_.busiest() / each;
      if (out.empty() || busiest < out.back().busiest_ps_per_unit * (1 - 1e-3)) out.push_back({result(), busiest});
    }
    return out;
  }

 private:
  using Way = std::vector<std::uint32_t>;

  void load(const Way& way, double sign) {
    for (std::size_t i = 1; i < way.size(); ++i) prices_.add(way[i - 1], way[i], sign);
  }

  /// The cheapest path of up to kMostSends sends. Prices are positive, so no path meets a rank twice.
  Way cheapest(std::uint32_t from, std::uint32_t to) {
    for (std::uint32_t a = 0; a < n_; ++a)
      for (std::uint32_t b = 0; b < n_; ++b)
        if (a != b) price_[std::size_t{a} * n_ + b] = prices_.price(a, b, 1);
    std::vector<std::vector<double>> cost(kMostSends + 1, std::vector<double>(n_, INFINITY));
    std::vector<Way> before(kMostSends + 1, Way(n_, from));
    cost[0][from] = 0;
    std::uint32_t best = 1;
    for (std::uint32_t s = 1; s <= kMostSends; ++s) {
      for (std::uint32_t a = 0; a < n_; ++a) {
        if (cost[s - 1][a] == INFINITY) continue;
        for (std::uint32_t b = 0; b < n_; ++b)
          if (const double c = cost[s - 1][a] + price_[std::size_t{a} * n_ + b]; a != b && c < cost[s][b])
            cost[s][b] = c, before[s][b] = a;
      }
      if (cost[s][to] < cost[best][to]) best = s;
    }
    Way way{to};
    for (std::uint32_t s = best; s > 0; --s) way.push_back(before[s][way.back()]);
    std::reverse(way.begin(), way.end());
    return way;
  }

  bool improve() {
    return replace_each(
        prices_, units_, [this](const Way& u, double sign) { load(u, sign); },
        [this](const Way& u) { return cheapest(u.front(), u.back()); });
  }

  std::vector<collectives::RankPath> result() const {
    std::vector<collectives::RankPath> out;
    for (const Way& u : units_)
      add_or_weigh(out, collectives::RankPath{u, 1}, [&](const collectives::RankPath& p) { return p.ranks == u; });
    return out;
  }

  const RankRoutes& routes_;
  std::uint32_t n_;
  LinkPrices prices_;
  std::vector<double> price_;  ///< from x ranks + to
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs_;
  std::vector<Way> units_;  ///< unit i joins pair i mod pairs
};

}  // namespace

std::vector<PathPacking> pack_paths(const RankRoutes& routes, collectives::Collective op, std::uint32_t root) {
  if ((op != collectives::Collective::kGather && op != collectives::Collective::kScatter &&
       op != collectives::Collective::kAllToAll) ||
      routes.ranks() < 2)
    return {};
  return PathPacker(routes, op, root).all();
}

}  // namespace busbar::choice
