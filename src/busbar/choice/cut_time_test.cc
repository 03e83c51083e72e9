#include "busbar/choice/cut_time.h"

#include <gtest/gtest.h>

#include "busbar/choice/fastest.h"
#include "busbar/collectives/builders.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/random_machine.h"

namespace busbar::choice {
namespace {

collectives::ScheduleSpec spec_over(collectives::Collective op, std::uint32_t ranks, std::uint32_t per_group) {
  collectives::ScheduleSpec spec;
  spec.op = op;
  spec.ranks = ranks;
  spec.ranks_per_group = per_group;
  return spec;
}

// Two servers of eight GPUs with a NIC of 50 GB/s each: half of a rank's traffic in an all-gather stays inside.
TEST(CutTime, IsTheTimeOfTheCablesBetweenServers) {
  const topology::Topology t = lowering::pods_of_eight(2).seal();
  const routing::Router router(t, topology::RoutingPolicy::kSpray);
  const routing::Placement placement(router, t.gpus());
  program::CollectiveCall call = lowering::test_call(16, "direct", 16'000'000, 0);
  call.op = collectives::Collective::kAllGather;
  CutTime cut(t, placement);
  const collectives::Schedule s = collectives::build_schedule("direct", call.op, 16, 8, 0).value();
  double cables = 0;  // bytes/s
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    const auto link = static_cast<topology::LinkId>(l);
    if (t.block_of(t.from(link)) == topology::BlockId{0} && t.block_of(t.to(link)) != topology::BlockId{0})
      cables += t.payload_rate(link);
  }
  EXPECT_NEAR(cut.least_ps(call, s), 8 * 8 * 1e6 / cables * 1e12, 1);
}

TEST(CutTime, IsNeverAboveAnEnginesTime) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, "machines for cut times");
    const topology::Topology t = lowering::random_machine(random);
    const routing::Router router(t, seed % 2 == 0 ? topology::RoutingPolicy::kSpray : topology::RoutingPolicy::kStatic);
    const routing::Placement placement(router, t.gpus());
    const auto n = static_cast<std::uint32_t>(t.gpus().size());
    const auto engine = engine::make_analytic_engine(router, placement, {});
    CutTime cut(t, placement);
    for (int op = 0; op <= static_cast<int>(collectives::Collective::kSendRecv); ++op) {
      program::CollectiveCall call = lowering::test_call(n, "", 1 << 24, 0);
      call.op = static_cast<collectives::Collective>(op);
      call.chunks = random.below(2) == 0 ? 0 : 4;
      const std::uint32_t per_domain = lowering::ranks_per_domain(call, t, placement);
      const collectives::ScheduleSpec spec = spec_over(call.op, n, per_domain);
      std::vector<std::string> names = collectives::algorithms_for(spec, true);
      for (std::string& form : collectives::nested_forms(spec, true)) names.push_back(std::move(form));
      for (const std::string& name : names) {
        call.algorithm = name;
        const Result<program::CallId> id = engine->prepare(call);
        if (!id.ok()) continue;
        const collectives::Schedule s = lowering::build_for_call(call, t, placement, per_domain, 0).value();
        EXPECT_LE(cut.least_ps(call, s), static_cast<double>(engine->time_alone(*id).in_ps()) * (1 + 1e-9))
            << name << " " << collectives::name_of(call.op) << " on machine " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace busbar::choice
