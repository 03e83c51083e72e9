#include "busbar/views/csv_rows.h"

#include <gtest/gtest.h>

#include "busbar/base/csv.h"
#include "busbar/base/json.h"

namespace busbar::views {
namespace {

TEST(CsvRows, RowsOfTheListWithObjectsAsDottedColumns) {
  Json data{{"schema", "x/1"}, {"cluster", "c"}};
  data["results"] = Json::array({{{"size_bytes", 8}, {"bound_by", {{"link", "a->b"}, {"kind", nullptr}}}},
                                 {{"size_bytes", 16}, {"time_us", 0.125}, {"bound_by", {{"link", "c"}}}}});
  EXPECT_EQ(csv_of(data), "size_bytes,bound_by.link,bound_by.kind,time_us\n8,a->b,,\n16,c,,0.125\n");
}

TEST(CsvRows, WithoutAListThereIsOneLine) {
  const Json data{{"schema", "x/1"},
                  {"step_time_s", 1.5},
                  {"fits", true},
                  {"calls", Json::array({{{"a", 1}}})},
                  {"band_percent", Json::array({-8, 10})},
                  {"run", {{"wall_s", 3}}}};
  EXPECT_EQ(csv_of(data), "step_time_s,fits,band_percent\n1.5,true,-8 10\n");
}

TEST(CsvRows, LinesInsideRowsRepeatTheColumnsOfTheirRow) {
  const Json figures = Json::array({{{"path", "x"}, {"value", 1}}, {{"path", "y"}, {"value", 2}}});
  const Json data{{"entries", Json::array({{{"folder", "nodes"}, {"name", "a"}, {"figures", figures}}})}};
  EXPECT_EQ(csv_of(data), "folder,name,path,value\nnodes,a,x,1\nnodes,a,y,2\n");
}

TEST(CsvRows, OurOwnReaderGetsBackEveryCell) {
  const std::string nasty = "a \"quoted\", cell\nwith a line break";
  Json data;
  data["rows"] = Json::array({{{"text", nasty}, {"n", 1e-9}}, {{"text", ""}, {"n", 0.1}}});
  const auto table = CsvTable::parse(csv_of(data), "csv");
  ASSERT_TRUE(table.ok()) << table.error().text();
  ASSERT_EQ(table->rows(), 2u);
  EXPECT_EQ(table->cell(0, "text"), nasty);
  EXPECT_EQ(*table->number(0, "n").value(), 1e-9);
  EXPECT_EQ(*table->number(1, "n").value(), 0.1);
}

TEST(CsvRows, OfADiagnosisAreItsFindings) {
  Json data{{"ok", Json::array({"a-rule"})}, {"unknown", Json::array()}};
  data["findings"] = Json::array({{{"rule", "gdr-off"}, {"severity", "warn"}}});
  EXPECT_EQ(csv_of(data), "rule,severity\ngdr-off,warn\n");
}

TEST(CsvRows, AnEmptyListIsAnEmptyTable) { EXPECT_EQ(csv_of({{"rows", Json::array()}, {"file", "f"}}), "\n"); }

}  // namespace
}  // namespace busbar::views
