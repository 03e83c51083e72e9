#include "busbar/questions/gpu_hour.h"

#include "busbar/cost/cost_options.h"
#include "busbar/spec/catalog.h"

namespace busbar::questions {

const Record& record_of(const GpuHour*) {
  using G = GpuHour;
  static const Record record(
      "gpu_hour", {{"rented_usd", &G::rented_usd, "USD", "of one GPU for an hour; null: not known"},
                   {"bought_low_usd", &G::bought_low_usd, "USD",
                    "purchase and electricity, every price at its low end, without storage and the networks of storage "
                    "and management; null: no price is known"},
                   {"bought_high_usd", &G::bought_high_usd, "USD", "every price at its high end"},
                   {"bought_complete", &G::bought_complete, "", "false: a part has no price, and it costs more"},
                   {"years", &G::years, "years", "over which the purchase is spread"}});
  return record;
}

GpuHour gpu_hour(const spec::Cluster& cluster, const std::string& catalog) {
  const cost::CostTerms terms = cost::CostOptions{}.terms;
  GpuHour out;
  out.years = terms.years;
  if (cluster.usd_per_gpu_hour > 0) out.rented_usd = cluster.usd_per_gpu_hour;
  const Result<spec::PriceList> prices = spec::PriceList::open(spec::Catalog(catalog), {});
  if (!prices.ok()) return out;
  const Result<cost::Bill> bill = cost::bill_of(cluster, *prices);
  if (!bill.ok()) return out;
  const cost::BillSums sums = cost::sums_of(*bill);
  if (sums.all.high <= 0) return out;
  out.bought_complete = sums.complete();
  const spec::PriceRange range = cost::running_cost(*bill, sums, terms).usd_per_gpu_hour;
  out.bought_low_usd = range.low;
  out.bought_high_usd = range.high;
  return out;
}

}  // namespace busbar::questions
