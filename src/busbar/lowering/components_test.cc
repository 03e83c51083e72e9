#include "busbar/lowering/components.h"

#include <gtest/gtest.h>

#include "busbar/lowering/test_stage.h"

namespace busbar::lowering {
namespace {

/// Two pairs of fluids. Alone every fluid is as fast as its own link; together each pair fills the link it shares.
TEST(Components, AreEqualOnlyOnLinksOfEqualRates) {
  for (const double other : {60.0, 80.0}) {
    HandMadeStage s;
    for (const std::uint32_t pair : {0u, 1u})
      for (const std::uint32_t f : {0u, 1u}) s.add(100, 2, {2 * pair + f, 4 + pair});
    const std::vector<double> rates{50, 50, 50, 50, 60, other};
    ComponentSplitter splitter({});
    splitter.resize({static_cast<std::uint32_t>(rates.size())});
    splitter.split(s.stage, [&](routing::CapacityId c) { return rates[c.number()]; });
    ASSERT_EQ(s.stage.components.size(), 2u);
    EXPECT_EQ(s.stage.kinds, other == 60 ? 1u : 2u);
  }
}

}  // namespace
}  // namespace busbar::lowering
