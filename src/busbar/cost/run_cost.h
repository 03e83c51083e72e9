// Money and energy of work on a machine: per step, per token, per run, and the months until an upgrade has paid.
#pragma once

#include "busbar/cost/bill.h"

namespace busbar::cost {

/// What the whole machine costs and draws per second: purchase over its years, and electricity.
struct MachineRate {
  spec::PriceRange usd_per_s;
  double energy_usd_per_s = 0;
  double kwh_per_s = 0;
};
MachineRate machine_rate(const Bill& bill, const RunningCost& running, const CostTerms& terms);

/// The cost of `seconds` of the machine.
struct WorkCost {
  double seconds = 0;
  spec::PriceRange usd;
  double energy_usd = 0, kwh = 0;
  double days() const { return seconds / 86400; }
};
WorkCost cost_of(const MachineRate& rate, double seconds);
/// Of `tokens` at `tokens_per_s`; preconditions: both > 0.
WorkCost cost_of_tokens(const MachineRate& rate, double tokens, double tokens_per_s);

/// Months of 730.5 hours until what is saved equals `usd`; infinite if nothing is saved.
/// `percent`: of the machine's time that the upgrade saves; its time is worth `usd_per_hour`.
double payback_months(double usd, double percent, double usd_per_hour);

}  // namespace busbar::cost
