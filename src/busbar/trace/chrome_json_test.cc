#include "busbar/trace/chrome_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace busbar {
namespace {

TEST(ChromeJson, KeepsEveryPicosecondAndEscapesNames) {
  Timeline t;
  t.tracks = {{"stage \"0\"", "compute\n"}};
  t.strings = {"for\\ward", "compute", "leaf3"};
  t.spans = {{TrackId{0}, 0, 1, SimTime::at(Duration::ps(12'000'345)), Duration::ps(7), kNoSpan, 2}};
  const auto json = nlohmann::json::parse(chrome_json(t));
  const auto& events = json.at("traceEvents");
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at("args").at("name"), "stage \"0\"");
  EXPECT_EQ(events[1].at("args").at("name"), "compute\n");
  EXPECT_EQ(events[2].at("name"), "for\\ward");
  EXPECT_EQ(events[2].at("args").at("bound_by"), "leaf3");
  EXPECT_NEAR(events[2].at("ts").get<double>(), 12.000345, 1e-9);
  EXPECT_THAT(chrome_json(t), testing::HasSubstr("\"ts\":12.000345,\"dur\":0.000007"));
}

TEST(ChromeJson, AnEmptyTimelineIsStillADocument) {
  EXPECT_TRUE(nlohmann::json::parse(chrome_json({})).at("traceEvents").empty());
}

}  // namespace
}  // namespace busbar
