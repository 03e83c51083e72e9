#include "busbar/step/batch_range.h"

#include <numeric>

namespace busbar::step {
namespace {

using BatchFigure = std::function<Result<double>(std::uint32_t)>;

struct BatchBand {
  double low, high;
  /// -1 below, 0 inside, 1 above.
  int side(double value) const { return value < low ? -1 : value > high ? 1 : 0; }
};

/// The last batch inside the band on the way from `inside` to `outside`, which may be smaller or larger.
Result<std::uint32_t> edge(std::uint32_t inside, std::uint32_t outside, const BatchBand& band,
                           const BatchFigure& figure) {
  while (inside + 1 < outside || outside + 1 < inside) {
    const std::uint32_t middle = std::midpoint(inside, outside);
    BUSBAR_ASSIGN(const double value, figure(middle));
    (band.side(value) == 0 ? inside : outside) = middle;
  }
  return inside;
}

/// A batch inside the band, between two batches on different sides of it; 0: the figure jumps over the band.
Result<std::uint32_t> between(std::uint32_t a, int side_of_a, std::uint32_t b, const BatchBand& band,
                              const BatchFigure& figure) {
  while (a + 1 < b) {
    const std::uint32_t middle = std::midpoint(a, b);
    BUSBAR_ASSIGN(const double value, figure(middle));
    const int side = band.side(value);
    if (side == 0) return middle;
    (side == side_of_a ? a : b) = middle;
  }
  return 0;
}

}  // namespace

Result<BatchRange> find_batch_range(const std::vector<std::uint32_t>& samples, double low, double high,
                                    const BatchFigure& figure) {
  const BatchBand band{low, high};
  std::vector<int> sides;
  for (const std::uint32_t s : samples) {
    BUSBAR_ASSIGN(const double value, figure(s));
    sides.push_back(band.side(value));
  }
  const std::size_t n = samples.size();
  std::size_t from = 0;
  while (from < n && sides[from] != 0) ++from;
  BatchRange r;
  if (from < n) {
    std::size_t to = from;
    while (to + 1 < n && sides[to + 1] == 0) ++to;
    r = {samples[from], samples[to], from == 0, to + 1 == n};
    if (from > 0) {
      BUSBAR_ASSIGN(r.first, edge(r.first, samples[from - 1], band, figure));
    }
    if (to + 1 < n) {
      BUSBAR_ASSIGN(r.last, edge(r.last, samples[to + 1], band, figure));
    }
    return r;
  }
  for (std::size_t i = 1; i < n; ++i) {
    if (sides[i] == sides[i - 1]) continue;
    BUSBAR_ASSIGN(const std::uint32_t inside, between(samples[i - 1], sides[i - 1], samples[i], band, figure));
    if (inside == 0) continue;
    BUSBAR_ASSIGN(r.first, edge(inside, samples[i - 1], band, figure));
    BUSBAR_ASSIGN(r.last, edge(inside, samples[i], band, figure));
    return r;
  }
  return r;
}

}  // namespace busbar::step
