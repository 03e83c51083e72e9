#include "busbar/cost/run_cost.h"

#include <limits>

namespace busbar::cost {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kMonthsPerYear = 12;

}  // namespace

MachineRate machine_rate(const Bill& bill, const RunningCost& running, const CostTerms& terms) {
  MachineRate out;
  const double gpus_per_s = static_cast<double>(bill.gpus) / kSecondsPerHour;
  out.usd_per_s = {running.usd_per_gpu_hour.low * gpus_per_s, running.usd_per_gpu_hour.high * gpus_per_s};
  out.kwh_per_s = running.kwh_per_year / kHoursPerYear / kSecondsPerHour;
  out.energy_usd_per_s = out.kwh_per_s * terms.usd_per_kwh;
  return out;
}

WorkCost cost_of(const MachineRate& rate, double seconds) {
  return {seconds,
          {rate.usd_per_s.low * seconds, rate.usd_per_s.high * seconds},
          rate.energy_usd_per_s * seconds,
          rate.kwh_per_s * seconds};
}

WorkCost cost_of_tokens(const MachineRate& rate, double tokens, double tokens_per_s) {
  return cost_of(rate, tokens / tokens_per_s);
}

double payback_months(double usd, double percent, double usd_per_hour) {
  const double saved_per_month = percent / 100 * usd_per_hour * kHoursPerYear / kMonthsPerYear;
  return saved_per_month > 0 ? usd / saved_per_month : std::numeric_limits<double>::infinity();
}

}  // namespace busbar::cost
