// What a machine costs: its parts, its power, training on it, and when an upgrade has paid for itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/cost/cost_options.h"
#include "busbar/questions/context.h"
#include "busbar/questions/token_cost.h"
#include "busbar/spec/scenario.h"

namespace busbar::questions {

struct CostRequest {
  cost::CostOptions cost;
  std::string upgrade;  ///< its price; empty: there is none
  double saves = 0;     ///< percent of the machine's time
  std::string tokens;
  spec::ScenarioFlags flags;  ///< of a step; without a model: none
  std::string from;           ///< file of a job in the words of another program
  std::string cluster;
  spec::Overrides machine;
  bool explain = false;
};
const Record& record_of(const CostRequest*);

/// A line of the bill.
struct CostPart {
  std::string group, part;
  std::optional<std::string> tier;
  std::uint64_t count = 0;
  std::optional<double> each_low_usd, each_high_usd, usd;
  std::optional<std::string> price_in;
  std::optional<double> each_power_w, power_w;
  std::optional<std::string> power_in;
  std::optional<double> length_m;
  std::optional<std::string> source, confidence;
};
const Record& record_of(const CostPart*);

/// What an upgrade saves, at the price of renting the machine's GPUs and at what they cost their owner.
struct CostPayback {
  double usd = 0, saves_percent = 0;
  std::optional<double> months_at_rent, months_at_own_cost;
  // For views only:
  double rented_usd_per_hour = 0, owned_usd_per_hour = 0;  ///< of the whole machine; 0: not known
};
const Record& record_of(const CostPayback*);

struct CostResult {
  std::uint64_t gpus = 0;
  double capex_usd = 0, capex_low_usd = 0, capex_high_usd = 0;
  std::optional<double> capex_per_gpu_usd;
  double network_usd = 0;
  std::optional<double> network_share;
  bool complete = true;
  std::vector<std::string> unpriced;
  std::optional<double> power_w, network_power_w;
  std::vector<std::string> unpowered;
  double facility_power_w = 0, energy_kwh_per_year = 0, energy_usd_per_year = 0;
  double usd_per_gpu_hour = 0, usd_per_gpu_hour_low = 0, usd_per_gpu_hour_high = 0;
  std::optional<double> rent_usd_per_gpu_hour, rent_usd_per_year;
  double usd_per_kwh = 0, pue = 0, years = 0;
  std::vector<CostPart> parts;
  std::string inputs_hash;
  std::optional<TokenCost> training;
  std::optional<CostPayback> payback;
  // For views only:
  std::string cluster, rent_source;
  cost::Bill bill;
  cost::BillSums sums;
  std::optional<CompareRow> step;  ///< empty: no model was named
  double tokens = 0;               ///< of a whole run; 0: none is asked for
};
const Record& record_of(const CostResult*);
Result<CostResult> answer(const CostRequest& request, const Context& context = {});

}  // namespace busbar::questions
