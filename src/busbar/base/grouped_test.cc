#include "busbar/base/grouped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace busbar {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Grouped, RowsKeepTheOrderOfTheirValues) {
  const Csr<char> rows = grouped<char>(3, [](auto&& add) {
    add(2, 'a');
    add(0, 'b');
    add(2, 'c');
  });
  EXPECT_THAT(rows.row(0), ElementsAre('b'));
  EXPECT_THAT(rows.row(1), IsEmpty());
  EXPECT_THAT(rows.row(2), ElementsAre('a', 'c'));
}

TEST(Grouped, InvertedTwiceSortsTheRows) {
  Csr<std::uint32_t> rows;
  rows.values = {2, 0, 1, 2};
  rows.begin = {0, 2, 2, 4};  // 0: 2 0; 1: nothing; 2: 1 2
  const Csr<std::uint32_t> back = inverted(rows);
  EXPECT_THAT(back.row(0), ElementsAre(0));
  EXPECT_THAT(back.row(1), ElementsAre(2));
  EXPECT_THAT(back.row(2), ElementsAre(0, 2));
  EXPECT_THAT(inverted(back).row(0), ElementsAre(0, 2));
}

}  // namespace
}  // namespace busbar
