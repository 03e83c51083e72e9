#include "busbar/solve/kept_fluids.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "busbar/base/id.h"
#include "busbar/base/random.h"

namespace busbar {
namespace {

// Rates of a few of the fluids over the kept links are those that the solver finds over all links.
TEST(KeptRates, OfAnyOpenFluidsAreThoseOverAllLinks) {
  KeptRates kept;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    RandomStream random(seed, "kept fluids");
    const std::uint64_t links = 1 + random.below(60), fluids = 1 + random.below(seed % 10 == 0 ? 300 : 40);
    std::vector<double> capacity, caps;
    for (std::uint64_t l = 0; l < links; ++l) capacity.push_back(1 + 99 * random.uniform());
    std::vector<std::vector<std::uint32_t>> on(fluids);
    std::vector<std::vector<double>> weight(fluids);
    MaxMinSolver all;
    for (std::uint64_t f = 0; f < fluids; ++f) {
      for (std::uint32_t l = 0; l < links; ++l)
        if (random.below(4) == 0)
          on[f].push_back(l), weight[f].push_back(0.25 * static_cast<double>(1 + random.below(8)));
      caps.push_back(on[f].empty() || random.below(3) == 0 ? 1 + 20 * random.uniform() : INFINITY);
      all.add_fluid(on[f], weight[f], caps[f]);
    }
    all.reduce(capacity);
    std::vector<std::uint32_t> every(fluids), number(all.row_capacities().size(), kNone32);
    std::iota(every.begin(), every.end(), 0u);
    const KeptFluids few(all, every, caps, number);
    for (int time = 0; time < 4; ++time) {
      MaxMinSolver truth;
      std::vector<std::uint8_t> open;
      for (std::uint64_t f = 0; f < fluids; ++f) {
        open.push_back(time == 0 || random.below(3) > 0);
        if (open[f] != 0) truth.add_fluid(on[f], weight[f], caps[f]);
      }
      truth.solve(capacity);
      const auto found = kept.of(few, open);
      ASSERT_EQ(found.size(), truth.rates().size());
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_NEAR(found[i] / truth.rates()[i], 1, 1e-12) << "seed " << seed << " at " << time;
    }
  }
}

}  // namespace
}  // namespace busbar
