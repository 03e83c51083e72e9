#include "busbar/formats/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace busbar::formats {
namespace {

using testing::HasSubstr;

std::string refusal_of_json(const std::string& text) { return parse_json(text, "f").error().text(); }

TEST(JsonText, PrintedTextReadsBackEqual) {
  for (const char* text :
       {R"({"z":[1,-2,0.5,1e+300,18446744073709551615],"a":{"b":{},"c":[[],{"d":null}]},"t":true,"s":"\u0001\"é"})",
        "[]", "7", "\"x\"", "null"})
    EXPECT_EQ(parse_json(text, "f").value().dump(), text);
}

TEST(JsonText, OfEqualKeysTheLastValueCounts) {
  EXPECT_EQ(parse_json(R"({"a":1,"b":2,"a":3})", "f").value().dump(), R"({"a":3,"b":2})");
  std::string many = "{\"k\":0";
  for (int i = 0; i < 200'000; ++i) many += ",\"" + std::to_string(i % 150'000) + "\":1";
  EXPECT_EQ(parse_json(many + "}", "f").value().size(), 150'001u);  // and quickly
}

TEST(JsonText, ErrorsNameTheirPlace) {
  EXPECT_THAT(refusal_of_json("{\"a\":\n [1,}"), HasSubstr("f:2:5: not JSON: syntax error"));
  EXPECT_THAT(refusal_of_json(""), HasSubstr("f:1:1: not JSON"));
  EXPECT_THAT(refusal_of_json("[1, 1e999]"), HasSubstr("not JSON: number overflow"));
  EXPECT_THAT(refusal_of_json(std::string(100'000, '[')), HasSubstr("f: nested deeper than 256 levels"));
  EXPECT_TRUE(parse_json(std::string(256, '[') + std::string(256, ']'), "f").ok());
  std::istringstream in("[1, 2");
  JsonBuilder builder;
  EXPECT_THAT(read_json(in, "f", builder).error().text(), HasSubstr("f: byte 6: not JSON"));
}

/// Leaves out values two levels below "rows".
class WithoutRows : public JsonBuilder {
 public:
  std::vector<std::string> seen;

 private:
  bool keep(Json& value, std::size_t depth, const std::string& top) override {
    if (depth != 2 || top != "rows") return true;
    seen.push_back(value.dump());
    return false;
  }
};

TEST(JsonText, PartsAreTakenAsTheyEnd) {
  std::istringstream in(R"({"a":{"rows":[1]},"rows":[{"x":[1]},2,{"y":{"z":3}}],"b":[[4]]})");
  WithoutRows builder;
  ASSERT_TRUE(read_json(in, "f", builder).ok());
  EXPECT_EQ(builder.seen, (std::vector<std::string>{R"({"x":[1]})", R"({"y":{"z":3}})"}));
  EXPECT_EQ(builder.take().dump(), R"({"a":{"rows":[1]},"rows":[2],"b":[[4]]})");
}

}  // namespace
}  // namespace busbar::formats
