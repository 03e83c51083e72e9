#include "busbar/cost/money.h"

#include <gtest/gtest.h>

namespace busbar::cost {
namespace {

TEST(Money, HasTwoDigitsAndSeparatesThousands) {
  EXPECT_EQ(format_money(36250), "$36,000");
  EXPECT_EQ(format_money(9446), "$9,400");
  EXPECT_EQ(format_money(996), "$1,000");
  EXPECT_EQ(format_money(1234567), "$1,200,000");
  EXPECT_EQ(format_money(362), "$360");
  EXPECT_EQ(format_money(4.04), "$4.0");
  EXPECT_EQ(format_money(0.0123), "$0.012");
  EXPECT_EQ(format_money(-300), "-$300");
}

}  // namespace
}  // namespace busbar::cost
