#include "busbar/choice/internal/rank_order.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "busbar/base/random.h"

namespace busbar::choice {
namespace {

/// Equal busy times, up to rounding errors, have equal marks.
std::uint64_t mark_of(double ps_per_byte) {
  constexpr double kSteps = 1e5;  // per factor e
  return mix64(static_cast<std::uint64_t>(std::llround(std::log(ps_per_byte) * kSteps)));
}

/// Colours ranks by the colours of the links on their routes, and links by those of the ranks whose routes cross them.
class Refinement {
 public:
  Refinement(const RankRoutes& routes, std::optional<std::uint32_t> root)
      : routes_(routes), rank_(routes.ranks(), 1), link_(routes.links(), 1) {
    if (root) rank_[*root] = 2;
  }

  std::vector<std::uint32_t> order() {
    for (std::uint64_t own = 3;; ++own) {
      refine();
      const auto next = one_of_smallest_class();
      if (!next) break;
      rank_[*next] = mix64(own);
    }
    std::vector<std::uint32_t> out(rank_.size());
    std::iota(out.begin(), out.end(), 0u);
    std::sort(out.begin(), out.end(), [&](std::uint32_t a, std::uint32_t b) { return rank_[a] < rank_[b]; });
    return out;
  }

 private:
  std::map<std::uint64_t, int> classes() const {
    std::map<std::uint64_t, int> out;
    for (const std::uint64_t c : rank_) ++out[c];
    return out;
  }

  /// Until nothing tells two ranks of one colour apart.
  void refine() {
    for (std::size_t before = 0, now = classes().size(); now != before; before = now, now = classes().size()) {
      std::vector<std::uint64_t> links(link_.size(), 0), ranks(rank_.size(), 0);
      for (std::uint32_t a = 0; a < rank_.size(); ++a)
        for (std::uint32_t b = 0; b < rank_.size(); ++b) {
          std::uint64_t route = mix64(a == b);
          for (const RankRoutes::Part& p : routes_.route(a, b)) {
            const std::uint64_t mark = mark_of(p.ps_per_byte);
            route += mix64(mark ^ link_[p.link]);
            links[p.link] += mix64(mark ^ mix64(rank_[a] + mix64(rank_[b])));
          }
          ranks[a] += mix64(mix64(route) + mix64(rank_[b]));
          ranks[b] += mix64(mix64(route + 1) + mix64(rank_[a]));
        }
      for (std::size_t r = 0; r < ranks.size(); ++r) rank_[r] = mix64(ranks[r] ^ mix64(rank_[r]));
      for (std::size_t l = 0; l < links.size(); ++l) link_[l] = mix64(links[l] ^ mix64(link_[l]));
    }
  }

  /// Of classes with several ranks; of equally small ones, of the least colour.
  std::optional<std::size_t> one_of_smallest_class() const {
    std::uint64_t best = 0;
    int least = 0;
    for (const auto& [colour, count] : classes())
      if (count > 1 && (least == 0 || count < least)) best = colour, least = count;
    if (least == 0) return std::nullopt;
    return static_cast<std::size_t>(std::find(rank_.begin(), rank_.end(), best) - rank_.begin());
  }

  const RankRoutes& routes_;
  std::vector<std::uint64_t> rank_, link_;  ///< colours
};

}  // namespace

std::vector<std::uint32_t> order_by_routes(const RankRoutes& routes, std::optional<std::uint32_t> root) {
  return Refinement(routes, root).order();
}

}  // namespace busbar::choice
