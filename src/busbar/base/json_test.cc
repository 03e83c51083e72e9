#include "busbar/base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace busbar {
namespace {

std::string printed(double value) { return Json(value).dump(); }

TEST(Json, MembersKeepTheirOrder) {
  Json j{{"z", 1}, {"a", {{"y", nullptr}, {"b", true}}}};
  j["m"] = Json::array({-2, 0.5, "x"});
  j["z"] = 18446744073709551615ull;
  EXPECT_EQ(j.dump(), R"({"z":18446744073709551615,"a":{"y":null,"b":true},"m":[-2,0.5,"x"]})");
}

TEST(Json, IndentedEachValueHasALineAndEmptyOnesHaveNone) {
  Json j{{"list", Json::array({1, Json::array({2})})}, {"none", Json::array()}, {"nothing", Json::object()}};
  EXPECT_EQ(j.dump(2), "{\n  \"list\": [\n    1,\n    [\n      2\n    ]\n  ],\n  \"none\": [],\n  \"nothing\": {}\n}");
  EXPECT_EQ(Json(7).dump(2), "7");
}

TEST(Json, NumbersAreWrittenOutBetweenTheirExponents) {
  const std::pair<double, const char*> cases[] = {{0.0, "0.0"},
                                                  {-0.0, "-0.0"},
                                                  {100.0, "100.0"},
                                                  {-1.25, "-1.25"},
                                                  {0.1, "0.1"},
                                                  {0.0001, "0.0001"},
                                                  {0.00001, "1e-05"},
                                                  {123456789012345.0, "123456789012345.0"},
                                                  {1e15, "1e+15"},
                                                  {12345678901234.5, "12345678901234.5"},
                                                  {-1.5e-300, "-1.5e-300"},
                                                  {std::numeric_limits<double>::infinity(), "null"},
                                                  {std::nan(""), "null"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(printed(value), text);
}

TEST(Json, ADoubleReadsBackAndNoShorterDecimalDoes) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const double value = i % 2 == 0 ? std::bit_cast<double>(random()) : static_cast<double>(random() % 1'000'000) / 1e3;
    if (!std::isfinite(value) || value == 0) continue;
    const std::string text = printed(value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    EXPECT_EQ(back, value) << text;
    std::string digits;
    for (const char c : text.substr(0, text.find('e')))
      if (c >= '0' && c <= '9') digits += c;
    const std::size_t first = digits.find_first_not_of('0'), last = digits.find_last_not_of('0');
    const int count = static_cast<int>(last - first) + 1;
    if (count == 1) continue;
    char shorter[64];
    std::snprintf(shorter, sizeof shorter, "%.*e", count - 2, value);
    EXPECT_NE(std::strtod(shorter, nullptr), value) << text << " " << shorter;
  }
}

TEST(Json, TextsAreEscapedAndBadBytesReplaced) {
  const std::string bad = "\xef\xbf\xbd";  // U+FFFD
  const std::pair<std::string, std::string> cases[] = {
      {"a\"b\\c/d", R"(a\"b\\c/d)"},
      {"\b\f\n\r\t", R"(\b\f\n\r\t)"},
      {std::string("\x01\x1f\0", 3) + "\x7f", "\\u0001\\u001f\\u0000\\u007f"},
      {"user\xe2\x80\xaegpj", "user\\u202egpj"},  // a terminal would show the rest reversed
      {"\xc2\x9b[0m", "\\u009b[0m"},
      {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
      {"\xe2\x82"
       "x",
       bad + "x"},                                  // a truncated beginning counts once
      {"\xe0\x80", bad + bad},                      // an overlong form
      {"\xed\xa0\x80", bad + bad + bad},            // a surrogate
      {"\xf4\x90\x80\x80", bad + bad + bad + bad},  // beyond U+10FFFF
      {"\xf0\x9f\x98", bad},
      {"\xff\xc3", bad + bad}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(Json(text).dump(), "\"" + expected + "\"");
    Json j;
    j[text] = 1;
    EXPECT_EQ(j.dump(), "{\"" + expected + "\":1}");
  }
}

TEST(Json, VectorsAndMapsBecomeArraysAndObjects) {
  const std::vector<std::vector<std::string>> cells{{"a", "b"}, {}};
  const std::map<std::string, unsigned> counts{{"x", 2u}, {"y", 3u}};
  EXPECT_EQ(Json(cells).dump(), R"([["a","b"],[]])");
  EXPECT_EQ(Json(counts).dump(), R"({"x":2,"y":3})");
  EXPECT_EQ(Json(std::vector<int>()).dump(), "[]");
}

TEST(Json, CopiesAreApartFromTheirOriginals) {
  Json a{{"list", Json::array({1})}, {"text", "t"}};
  Json b = a, c;
  b["list"].push_back(2);
  b["text"] = nullptr;
  c = b;
  c["list"].back() = {{"deep", 3}};
  const Json d = std::move(c);
  EXPECT_EQ(a.dump(), R"({"list":[1],"text":"t"})");
  EXPECT_EQ(b.dump(), R"({"list":[1,2],"text":null})");
  EXPECT_EQ(d.dump(), R"({"list":[1,{"deep":3}],"text":null})");
  EXPECT_TRUE(c.is_null());  // NOLINT: what a move leaves is promised
  b = b["list"];             // a part of `b` itself
  EXPECT_EQ(b.dump(), "[1,2]");
}

TEST(Json, NullBecomesAnArrayOrAnObject) {
  Json list, object;
  EXPECT_TRUE(list.empty());
  list.push_back(1);
  object["a"]["b"] = 2;
  EXPECT_EQ(list.dump() + object.dump(), R"([1]{"a":{"b":2}})");
}

TEST(Json, OfEqualKeysTheLastValueStaysAtThePlaceOfTheFirst) {
  EXPECT_EQ(Json::object({{"b", 1}, {"a", 2}, {"b", 3}, {"c", 4}, {"b", 5}, {"c", 6}}).dump(),
            R"({"b":5,"a":2,"c":6})");
  std::vector<Json::Member> many;
  for (int i = 0; i < 100; ++i) many.push_back({i % 3 == 0 ? "x" : "y", i});
  EXPECT_EQ(Json::object(std::move(many)).dump(), R"({"x":99,"y":98})");
}

TEST(Json, AMissingPartIsEmpty) {
  const Json text = "x", list = Json::array({1});
  EXPECT_TRUE(text["key"].is_null() && list["key"].is_null() && !list.contains("key"));
  EXPECT_TRUE(text.values().empty() && list.members().empty() && text.empty());
  EXPECT_EQ(list.size(), 1u);
}

TEST(Json, NumbersKnowWhetherTheyAreNatural) {
  EXPECT_EQ(Json(UINT64_MAX).natural(), UINT64_MAX);
  EXPECT_FALSE(Json(-1).is_natural() || Json(1.0).is_natural() || Json("1").is_natural());
  EXPECT_EQ(Json(-1).number(), -1.0);
}

TEST(Json, MembersAreFoundReplacedAndErased) {
  Json j{{"a", 1}, {"b", 2.5}, {"c", "text"}};
  EXPECT_EQ(std::as_const(j)["b"].number(), 2.5);
  EXPECT_EQ(j["c"].text(), "text");
  EXPECT_TRUE(std::as_const(j)["d"].is_null());
  EXPECT_FALSE(j.contains("d"));
  j.update({{"b", 3}, {"d", false}});
  j.erase("a");
  EXPECT_EQ(j.dump(), R"({"b":3,"c":"text","d":false})");
  EXPECT_EQ(j.size(), 3u);
}

}  // namespace
}  // namespace busbar
