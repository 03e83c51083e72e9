#include "busbar/accuracy/internal/nuisance_fit.h"

#include <algorithm>
#include <cmath>

namespace busbar::accuracy {
namespace {

/// What the square of the value counts.
double prior(const Nuisance& n) { return n.width > 0 ? 1 / (n.width * n.width) : 0; }

}  // namespace

double least_squares(std::span<const double> error, std::span<const double> noise,
                     std::span<const Nuisance> nuisances) {
  constexpr int kRounds = 60;
  std::vector<double> left(error.begin(), error.end());
  std::vector<double> value(nuisances.size(), 0);
  for (int round = 0; round < kRounds; ++round) {
    double moved = 0;
    for (std::size_t k = 0; k < nuisances.size(); ++k) {
      const Nuisance& n = nuisances[k];
      double along = 0, square = prior(n);
      for (std::size_t i = 0; i < left.size(); ++i) {
        const double slope = n.slope[i] / noise[i];
        along += slope * (left[i] + value[k] * n.slope[i]) / noise[i];
        square += slope * slope;
      }
      if (square <= 0) continue;
      const double next = std::clamp(along / square, n.low, n.high);
      for (std::size_t i = 0; i < left.size(); ++i) left[i] -= (next - value[k]) * n.slope[i];
      moved = std::max(moved, std::abs(next - value[k]));
      value[k] = next;
    }
    if (moved < 1e-6) break;
  }
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] / noise[i] * (left[i] / noise[i]);
  for (std::size_t k = 0; k < nuisances.size(); ++k) sum += prior(nuisances[k]) * value[k] * value[k];
  return sum;
}

}  // namespace busbar::accuracy
