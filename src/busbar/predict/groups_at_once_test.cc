// Groups of one call that a library runs in different ways.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "busbar/predict/predictor.h"

namespace busbar::predict {
namespace {

/// Which half of the GPUs is group 0, as bits.
collectives::GroupFamily halves(std::uint32_t ranks, std::uint32_t first) {
  collectives::GroupFamily out;
  out.listed_groups = 2;
  for (std::uint32_t g = 0; g < 2; ++g)
    for (std::uint32_t r = 0; r < ranks; ++r)
      if ((first >> r & 1) == (g == 0 ? 1u : 0u)) out.listed.push_back(r);
  return out;
}

collectives::GroupFamily one_of(const collectives::GroupFamily& groups, std::uint32_t g) {
  collectives::GroupFamily out;
  out.listed_groups = 1;
  for (std::uint32_t m = 0; m < groups.size(); ++m) out.listed.push_back(groups.actor(g, m));
  return out;
}

/// Whether the calls alone cross a capacity in common.
bool meet(const lowering::LoweredCall& a, const lowering::LoweredCall& b) {
  const auto on = [](const lowering::LoweredCall& call, routing::CapacityId c) {
    return std::any_of(call.stages.begin(), call.stages.end(),
                       [&](const lowering::Stage& s) { return std::find(s.on.begin(), s.on.end(), c) != s.on.end(); });
  };
  return std::any_of(a.stages.begin(), a.stages.end(), [&](const lowering::Stage& s) {
    return std::any_of(s.on.begin(), s.on.end(), [&](routing::CapacityId c) { return on(b, c); });
  });
}

/// Subsets of half of the ranks, every `step`-th of them.
std::vector<std::uint32_t> some_halves(std::uint32_t ranks, std::uint32_t step) {
  std::vector<std::uint32_t> out;
  std::uint32_t seen = 0;
  for (std::uint32_t bits = 1; bits < 1u << ranks; bits += 2)  // rank 0 is in the first group
    if (static_cast<std::uint32_t>(std::popcount(bits)) * 2 == ranks && seen++ % step == 0) out.push_back(bits);
  return out;
}

struct Seen {
  std::uint32_t pairs = 0, apart = 0, parts = 0;
};

/// Times halves of the machine at once and one by one.
void check_halves(const std::string& node, const std::string& kind, std::uint32_t step, Seen& seen) {
  PredictPolicy policy;
  policy.engine = kind;
  auto m = Predictor::make(spec::load_cluster(node).value(), {}, policy).value();
  const auto engine = m->open_engine();
  for (const std::uint32_t bits : some_halves(m->ranks(), step))
    for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllGather})
      for (const std::uint64_t size : {64ull << 10, 256ull << 20}) {
        program::CollectiveCall both = call_over(op, Bytes{size}, m->ranks() / 2), a = both, b = both;
        both.groups = halves(m->ranks(), bits);
        a.groups = one_of(both.groups, 0);
        b.groups = one_of(both.groups, 1);
        const auto one = m->prepare(a), other = m->prepare(b), two = m->prepare(both);
        ASSERT_EQ(one.ok() && other.ok(), two.ok()) << node;
        if (!two.ok()) continue;
        const program::CallId x = engine->prepare(*one).value(), y = engine->prepare(*other).value();
        const program::CallId z = engine->prepare(*two).value();
        const Duration slower = std::max(engine->time_alone(x), engine->time_alone(y));
        SCOPED_TRACE(node + " " + kind + " " + collectives::name_of(op) + " " + std::to_string(size) + " " +
                     std::to_string(bits));
        // Of the chunks of equal trees fewer are followed one by one where there are twice as many sends.
        const double tolerance = two->parts.empty() && two->chunks > 1 ? 5e-3 : 1e-9;
        const double ratio = engine->time_alone(z).in_s() / slower.in_s();
        ASSERT_GE(ratio, 1 - tolerance);
        ++seen.pairs;
        seen.parts += !two->parts.empty();
        if (meet(*engine->lowered(x), *engine->lowered(y))) continue;
        ASSERT_LE(ratio, 1 + tolerance);
        ++seen.apart;
      }
}

TEST(GroupsAtOnce, TakeNoLessThanEachAloneAndNoMoreThanTheSlowerIfTheyShareNothing) {
  constexpr std::size_t kMost = 16;
  for (const char* kind : {"flow", "analytic"}) {
    Seen seen;
    for (const std::string& node : spec::Catalog().names("nodes")) {
      const auto loaded = spec::load_cluster(node);
      if (!loaded.ok()) continue;
      const std::size_t gpus = loaded->topology.gpus().size();
      if (gpus < 4 || gpus > kMost || gpus % 2 != 0) continue;
      check_halves(node, kind, gpus <= 6 ? 1 : gpus <= 8 ? 5 : 1001, seen);
    }
    EXPECT_GT(seen.pairs, 1000u) << kind;
    EXPECT_GT(seen.apart, 100u) << kind;
    EXPECT_GT(seen.parts, 50u) << kind;
  }
}

}  // namespace
}  // namespace busbar::predict
