#include "busbar/cost/run_cost.h"

#include <gtest/gtest.h>

#include <cmath>

namespace busbar::cost {
namespace {

// 1,000 GPUs that draw 1 MW in the building, 0.10 $/kWh: 100 $ of electricity an hour.
TEST(RunCost, AnHourOfTheMachineCostsAnHourOfAllItsGpus) {
  Bill bill;
  bill.gpus = 1000;
  RunningCost running;
  running.usd_per_gpu_hour = {2, 3};
  running.kwh_per_year = 1000 * kHoursPerYear;
  CostTerms terms;
  terms.usd_per_kwh = 0.1;
  const WorkCost hour = cost_of(machine_rate(bill, running, terms), 3600);
  EXPECT_NEAR(hour.usd.low, 2000, 1e-9);
  EXPECT_NEAR(hour.usd.high, 3000, 1e-9);
  EXPECT_NEAR(hour.kwh, 1000, 1e-9);
  EXPECT_NEAR(hour.energy_usd, 100, 1e-9);
}

TEST(RunCost, TokensTakeTheirTimeAtTheRate) {
  const MachineRate rate{{1, 1}, 0, 0};
  const WorkCost run = cost_of_tokens(rate, 15e12, 15e12 / (86400 * 10));
  EXPECT_NEAR(run.days(), 10, 1e-9);
  EXPECT_NEAR(run.usd.low, 864000, 1e-3);
}

// 5 % of 16,384 GPUs at 2.95 $/h is 2,417 $ an hour, 1.77 M$ a month: 10 M$ are back after 5.7 months.
TEST(RunCost, AnUpgradePaysByWhatItSaves) {
  const double months = payback_months(10e6, 5, 16384 * 2.95);
  EXPECT_NEAR(months, 10e6 / (0.05 * 16384 * 2.95 * 730.5), 1e-9);
  EXPECT_NEAR(months, 5.66, 0.01);
  EXPECT_TRUE(std::isinf(payback_months(10e6, 0, 48000)));
}

}  // namespace
}  // namespace busbar::cost
