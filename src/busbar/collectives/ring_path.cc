#include "busbar/collectives/ring_path.h"

#include <algorithm>
#include <bit>

#include "busbar/base/check.h"

namespace busbar::collectives {
namespace {

/// Relative slack of the comparison of a bound with the best path, because of rounding in prefix sums. If latency
/// dominates, every bound equals the best path up to rounding. Far below the picosecond to which results are rounded.
constexpr double kSlack = 1e-12;

}  // namespace

double RingPath::longest(std::uint64_t rounds) {
  passes_ = 0;
  window_ = {};
  if (rounds == 0) return 0.0;
  const std::size_t n = edges_.size();
  BUSBAR_DCHECK(n >= 2 && n + rounds < UINT32_MAX);
  collect_transfers();
  if (transfers_.size() == 1) {
    const auto [low, high] = std::minmax_element(
        edges_.begin(), edges_.end(), [](const SendCost& a, const SendCost& b) { return a.latency_ps < b.latency_ps; });
    if (low->latency_ps == high->latency_ps) {
      window_ = {0, low->latency_ps < 0 ? 1 : rounds};
      return static_cast<double>(rounds) * low->transfer_ps + static_cast<double>(window_.length) * low->latency_ps;
    }
  }
  sum_prefixes(rounds);
  double best = best_path(rounds, transfers_.back(), true);
  window_ = best_;
  if (transfers_.size() == 1) return best;
  const auto ruled_out = [&](double m) { return best_path(rounds, m, false) <= best * (1.0 + kSlack); };
  const auto last = transfers_.end() - 1;
  if (ruled_out(*(last - 1))) return best;  // nearly always: the slowest edge is on the longest path
  auto first = std::partition_point(transfers_.begin(), last - 1, ruled_out);
  std::uint32_t looked_at = 0;
  for (auto m = last; m != first;) {
    const double other = best_path(rounds, *--m, true);
    if (other > best) best = other, window_ = best_;
    if (std::has_single_bit(++looked_at)) first = std::partition_point(first, m, ruled_out);  // best may have grown
  }
  return best;
}

void RingPath::collect_transfers() {
  transfers_.clear();
  const double first = edges_.front().transfer_ps;
  transfers_.push_back(first);
  for (const SendCost& e : edges_)
    if (e.transfer_ps != first && e.transfer_ps != transfers_.back()) transfers_.push_back(e.transfer_ps);
  std::sort(transfers_.begin(), transfers_.end());
  transfers_.erase(std::unique(transfers_.begin(), transfers_.end()), transfers_.end());
}

void RingPath::sum_prefixes(std::uint64_t rounds) {
  const std::size_t n = edges_.size();
  const std::size_t length = n + rounds;
  prefix_.resize(length + 1);
  queue_.resize(length);
  double sum = 0.0;
  prefix_[0] = 0.0;
  std::size_t e = 0;
  for (std::size_t i = 0; i < length; ++i) {
    sum += edges_[e].latency_ps + edges_[e].transfer_ps;
    prefix_[i + 1] = sum;
    if (++e == n) e = 0;
  }
}

// HOT: collectives_test prints its time for 65,536 edges. A window is (a, b]: its sum is value(b) - value(a).
double RingPath::best_path(std::uint64_t rounds, double m, bool pinned) {
  ++passes_;
  const auto value = [&](std::uint32_t i) { return prefix_[i] - static_cast<double>(i) * m; };
  const std::uint32_t n = static_cast<std::uint32_t>(edges_.size());
  const std::uint32_t r = static_cast<std::uint32_t>(rounds);
  std::uint32_t head = 0, tail = 0;  // queue_[head, tail): candidate starts, value ascending from head
  std::uint32_t next = 1;            // first start not offered yet; windows that end after r start at 1 or later
  std::uint32_t edge = 1 % n;        // the edge that ends at b
  double best = 0.0;
  bool any = false;
  for (std::uint32_t b = 2; b <= n + r; ++b) {
    if (!pinned || edges_[edge].transfer_ps == m)
      for (; next < b; ++next) {
        const double v = value(next);
        while (tail > head && value(queue_[tail - 1]) >= v) --tail;
        queue_[tail++] = next;
      }
    if (++edge == n) edge = 0;
    if (b <= r) continue;
    while (head < tail && queue_[head] + r < b) ++head;
    if (head == tail) continue;
    const double sum = value(b) - value(queue_[head]);
    if (!any || sum > best) best = sum, best_ = {queue_[head], b - queue_[head]};
    any = true;
  }
  return static_cast<double>(rounds) * m + best;
}

}  // namespace busbar::collectives
