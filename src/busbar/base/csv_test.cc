#include "busbar/base/csv.h"

#include <gtest/gtest.h>

namespace busbar {
namespace {

std::string refusal(std::string_view text) {
  const auto table = CsvTable::parse(text, "t.csv");
  return table.ok() ? "" : table.error().text();
}

TEST(Csv, QuotedCellsHoldCommasQuotesAndLineBreaks) {
  const auto t = CsvTable::parse("a,b\r\n\"x, \"\"y\"\"\",2\r\n\"two\nlines\",3\n", "t.csv");
  ASSERT_TRUE(t.ok()) << t.error().text();
  ASSERT_EQ(t->rows(), 2u);
  EXPECT_EQ(t->cell(0, "a"), "x, \"y\"");
  EXPECT_EQ(t->cell(0, "b"), "2");
  EXPECT_EQ(t->cell(1, "a"), "two\nlines");
  EXPECT_EQ(t->where(1, "b").line, 3);
}

TEST(Csv, ACellUnderAColumnThatIsNotThereIsEmpty) {
  const auto t = CsvTable::parse("a\n1\n", "t.csv");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->cell(0, "b"), "");
  EXPECT_EQ(t->column("b"), CsvTable::kAbsent);
}

TEST(Csv, NumbersAreReadWhereTheyStandAndTextIsRefusedThere) {
  const auto t = CsvTable::parse("a,b\n1.5,\nx,nan\n", "t.csv");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(*t->number(0, "a"), 1.5);
  EXPECT_FALSE(t->number(0, "b")->has_value());
  EXPECT_EQ(t->number(1, "a").error().text(), "t.csv:3: a: 'x' is no number");
  EXPECT_FALSE(t->number(1, "b").ok());
}

TEST(Csv, BrokenTablesAreRefusedWithTheirLine) {
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("a,a\n").find("t.csv:1: the column 'a' is there twice"), std::string::npos);
  EXPECT_NE(refusal("a,\n").find("column 2 has no name"), std::string::npos);
  EXPECT_NE(refusal("a,b\n1,2\n1\n").find("t.csv:3: 1 cells, the header has 2"), std::string::npos);
  EXPECT_NE(refusal("a,b\n1,\"2\n").find("t.csv:2: a quoted cell does not end"), std::string::npos);
}

TEST(Csv, AFileWithoutALastLineBreakIsWhole) {
  const auto t = CsvTable::parse(
      "\xef\xbb\xbf"
      "a,b\n1,2",
      "t.csv");
  ASSERT_TRUE(t.ok());
  EXPECT_EQ(t->rows(), 1u);
  EXPECT_EQ(t->columns()[0], "a");
}

}  // namespace
}  // namespace busbar
