#include "busbar/accuracy/internal/constant_fit.h"

#include <algorithm>
#include <cmath>

namespace busbar::accuracy {
namespace {

constexpr double kFarthest = 0.4;  // errors beyond it have causes that no constant mends
constexpr double kSteps[] = {0.1, 0.03, 0.01, 0.003};
constexpr double kLeastFall = 1e-9;

double cost(const std::vector<const FitRow*>& rows, const std::vector<double>& constants) {
  double sum = 0;
  for (const FitRow* r : rows) sum += std::min(std::abs(r->error(constants)), kFarthest);
  return sum / static_cast<double>(rows.size());
}

}  // namespace

double FitRow::error(const std::vector<double>& constants) const {
  const double software = constants[framework] / time, clock = held / constants[generation];
  return ratio * (1 + clock_share * software * (clock - 1) + software_share * (software - 1)) - 1;
}

std::vector<double> fit_constants(const std::vector<const FitRow*>& rows, std::vector<double> start,
                                  const std::vector<std::size_t>& free) {
  if (rows.empty()) return start;
  std::vector<double> best = std::move(start);
  double least = cost(rows, best);
  for (const double step : kSteps)
    for (bool falls = true; falls;) {
      falls = false;
      for (const std::size_t i : free)
        for (const double move : {1 + step, 1 - step}) {
          const double before = best[i];
          best[i] = before * move;
          const double c = cost(rows, best);
          if (c < least - kLeastFall)
            least = c, falls = true;
          else
            best[i] = before;
        }
    }
  return best;
}

}  // namespace busbar::accuracy
