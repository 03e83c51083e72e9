#include "busbar/base/check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace busbar {
namespace {

TEST(CheckDeathTest, SaysPlaceConditionAndContextAndAborts) {
  const int places = 3;
  EXPECT_DEATH(BUSBAR_CHECK(places == 4) << "rank " << std::uint16_t{7} << " of " << std::string("node0") << ": " << -2
                                         << ", " << UINT64_MAX << ", " << 0.5,
               "check_test.cc:[0-9]+: check failed: places == 4 rank 7 of node0: -2, 18446744073709551615, 0.5");
}

TEST(CheckDeathTest, ThrowsWhatItWouldPrintOnceALibraryAsks) {
  const auto ends_after_throwing = [] {
    let_checks_throw();
    try {
      BUSBAR_CHECK(1 == 2) << "rank " << 7;
    } catch (const std::logic_error& e) {
      std::fprintf(stderr, "thrown: %s", e.what());
    }
    std::_Exit(3);
  };
  EXPECT_EXIT(ends_after_throwing(), testing::ExitedWithCode(3),
              "^thrown: .*check_test.cc:[0-9]+: check failed: 1 == 2 rank 7$");
}

TEST(Check, EvaluatesItsContextOnlyWhereItFails) {
  int asked = 0;
  const auto context = [&] { return ++asked; };
  BUSBAR_CHECK(true) << context();
  EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace busbar
