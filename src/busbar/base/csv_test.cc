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
  EXPECT_EQ(t->number(1, "a").error().text(), "t.csv:3: a: 'x' is not a number");
  EXPECT_FALSE(t->number(1, "b").ok());
}

TEST(Csv, BrokenTablesAreRefusedWithTheirLine) {
  EXPECT_NE(refusal("").find("empty"), std::string::npos);
  EXPECT_NE(refusal("a,a\n").find("t.csv:1: the column 'a' occurs twice"), std::string::npos);
  EXPECT_NE(refusal("a,\n").find("column 2 has no name"), std::string::npos);
  EXPECT_NE(refusal("a,b\n1,2\n1\n").find("t.csv:3: 1 cells, the header has 2"), std::string::npos);
  EXPECT_NE(refusal("a,b\n1,\"2\n").find("t.csv:2: a quoted cell does not end"), std::string::npos);
}

TEST(Csv, BlanksAroundCellsRemarksAndEmptyLinesDoNotCount) {
  const auto t = CsvTable::parse("# source: a lab\n a ,\tb\r\n\n  # more\n 1 , \" x \" \n\"#2\",\"\"\n", "t.csv");
  ASSERT_TRUE(t.ok()) << t.error().text();
  ASSERT_EQ(t->rows(), 2u);
  EXPECT_EQ(t->columns()[1], "b");
  EXPECT_EQ(t->cell(0, "a"), "1");
  EXPECT_EQ(t->cell(0, "b"), " x ");  // quotes keep blanks
  EXPECT_EQ(t->cell(1, "a"), "#2");   // and do not begin a comment
  EXPECT_EQ(t->where(0, "a").line, 5);
  EXPECT_EQ(t->where(1, "a").line, 6);
}

TEST(Csv, RecordsComeOneByOneWithTheirLines) {
  CsvReader reader("a,b\n\"1\n2\",3\n4\n", "t.csv");
  std::vector<std::string> cells{"left", "from", "before"};
  ASSERT_TRUE(*reader.next(cells));
  EXPECT_EQ(cells, (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(*reader.next(cells));
  EXPECT_EQ(cells, (std::vector<std::string>{"1\n2", "3"}));
  EXPECT_EQ(reader.line(), 2);
  ASSERT_TRUE(*reader.next(cells));
  EXPECT_EQ(cells, (std::vector<std::string>{"4"}));
  EXPECT_EQ(reader.line(), 4);
  EXPECT_FALSE(*reader.next(cells));
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
