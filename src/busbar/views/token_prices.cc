#include "busbar/views/token_prices.h"

#include <fmt/core.h>

#include "busbar/cost/cost_options.h"
#include "busbar/cost/run_cost.h"
#include "busbar/questions/compare_run.h"
#include "busbar/spec/catalog.h"

namespace busbar::views {
namespace {

constexpr double kMillion = 1e6;

/// Of the whole machine, if all of its parts have prices.
std::string bought_words(const step::TrainRun& run) {
  const Result<spec::PriceList> prices =
      spec::PriceList::open(spec::Catalog(run.scenario.cluster_overrides.catalog), {});
  if (!prices.ok()) return "";
  const cost::CostTerms terms = cost::CostOptions{}.terms;
  const Result<questions::MachineCost> machine = questions::machine_cost(run.cluster(), *prices, terms);
  if (!machine.ok() || !machine->sums.complete()) return "";
  const cost::WorkCost c =
      cost::cost_of_tokens(machine->rate, kMillion, run.metrics.tokens_per_s_per_gpu * run.layout.ranks());
  return fmt::format("${:.2f} to ${:.2f} bought: purchase over {:g} years and electricity", c.usd.low, c.usd.high,
                     terms.years);
}

}  // namespace

std::string token_prices(const step::TrainRun& run) {
  if (run.layout.ranks() != run.cluster().topology.gpus().size()) return "";
  const double rent = run.cost.usd_per_million_tokens;
  const std::string bought = bought_words(run);
  std::string out =
      rent > 0 ? fmt::format("${:.2f} rented, at ${:.2f} per GPU-hour", rent, run.cluster().usd_per_gpu_hour) : "";
  if (!bought.empty()) out += (out.empty() ? "" : ", and ") + bought;
  return out.empty() ? out : "A million tokens cost " + out + ".";
}

}  // namespace busbar::views
