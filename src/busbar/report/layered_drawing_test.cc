#include "busbar/report/layered_drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "busbar/report/demo/sample.h"

namespace busbar::report {
namespace {

using Kind = Shape::Kind;

bool is_box(const Shape& s) { return s.kind == Kind::kRect && s.h > 30 && s.colour != colour::kFrame; }

std::vector<Shape> boxes(const Drawing& d) {
  std::vector<Shape> out;
  std::copy_if(d.shapes.begin(), d.shapes.end(), std::back_inserter(out), is_box);
  return out;
}

bool overlap(const Shape& a, const Shape& b) {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

long count(const Drawing& d, Kind kind) {
  return std::count_if(d.shapes.begin(), d.shapes.end(), [&](const Shape& s) { return s.kind == kind; });
}

std::vector<Drawing> samples() {
  return {lay_out(demo::server()), lay_out(demo::fabric(2, 32, 8, 16)), lay_out(demo::fabric(16, 32, 8, 64)),
          lay_out(demo::fabric(1, 4, 2, 2)), lay_out(demo::fabric(64, 32, 8, 128))};
}

TEST(LayeredDrawing, NoTwoBoxesOverlapAndAllLieInThePicture) {
  for (const Drawing& d : samples()) {
    const auto all = boxes(d);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_GE(all[i].x, 0);
      EXPECT_LE(all[i].x + all[i].w, d.width);
      EXPECT_LE(all[i].y + all[i].h, d.height);
      for (std::size_t j = i + 1; j < all.size(); ++j) ASSERT_FALSE(overlap(all[i], all[j])) << i << " " << j;
    }
  }
}

TEST(LayeredDrawing, NoTwoTextsOverlap) {
  for (const Drawing& d : samples()) {
    std::vector<Shape> texts;
    for (const Shape& s : d.shapes) {
      if (s.kind != Kind::kText || s.text.empty()) continue;
      const double w = 0.55 * s.size * static_cast<double>(s.text.size());
      const double x = s.anchor == Anchor::kStart ? s.x : s.anchor == Anchor::kEnd ? s.x - w : s.x - w / 2;
      texts.push_back({Kind::kRect, x, s.y - s.size / 2, w, s.size});
      texts.back().text = s.text;
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
      for (std::size_t j = i + 1; j < texts.size(); ++j) {
        ASSERT_FALSE(overlap(texts[i], texts[j])) << texts[i].text << " / " << texts[j].text;
      }
    }
  }
}

TEST(LayeredDrawing, EdgesLieBeneathTheBoxes) {
  for (const Drawing& d : samples()) {
    const auto first_box = std::find_if(d.shapes.begin(), d.shapes.end(), is_box);
    const auto edge = [](const Shape& s) {
      return s.kind == Kind::kLine || s.kind == Kind::kCurve || s.kind == Kind::kPolygon;
    };
    EXPECT_TRUE(std::none_of(first_box, d.shapes.end(), edge));
  }
}

TEST(LayeredDrawing, AServerShowsEveryBoxAndEveryCable) {
  const Drawing d = lay_out(demo::server());
  EXPECT_EQ(boxes(d).size(), 4u + 8 + 8 + 8 + 2);
  // 32 NVLink, 8 GPU-switch, 8 switch-NIC, 1 between sockets. Each of the 8 lines to the sockets passes one layer: 2
  // curves, 1 line
  EXPECT_EQ(count(d, Kind::kLine), 32 + 8 + 8 + 1 + 8);
  EXPECT_EQ(count(d, Kind::kCurve), 16);
}

TEST(LayeredDrawing, LinesThatPassALayerKeepClearOfItsBoxes) {
  const Drawing d = lay_out(demo::server());
  for (const Shape& s : d.shapes) {
    if (s.kind != Kind::kLine || s.w != 0) continue;
    const auto hit = [&](const Shape& b) { return s.x > b.x && s.x < b.x + b.w && s.y < b.y && s.y + s.h > b.y + b.h; };
    for (const Shape& b : boxes(d)) EXPECT_FALSE(hit(b)) << b.text;
  }
}

TEST(LayeredDrawing, NodesAreNearTheirNeighbours) {
  LayeredDrawing in;
  in.layers = {{"top", {{"a"}, {"b"}, {"c"}}, {}}, {"bottom", {{"of c"}, {"of a"}, {"of b"}, {"alone"}}, {}}};
  in.edges = {{{0, 2}, {1, 0}}, {{0, 0}, {1, 1}}, {{0, 1}, {1, 2}}};
  std::vector<std::pair<double, std::string>> row;
  for (const Shape& s : boxes(lay_out(in))) {
    if (s.y > 30) row.emplace_back(s.x, s.text);
  }
  std::sort(row.begin(), row.end());
  ASSERT_EQ(row.size(), 4u);
  EXPECT_EQ(row[0].second, "of a");
  EXPECT_EQ(row[1].second, "of b");
  EXPECT_EQ(row[2].second, "of c");  // 5/6, before 7/8, the given place of the single node
}

TEST(LayeredDrawing, ABandCountsTheLinksThatItsLinesStandFor) {
  LayeredDrawing in = demo::fabric(2, 32, 8, 16);
  for (LayeredEdge& e : in.edges) e.links = 16;
  std::vector<std::string> texts;
  for (const Shape& s : lay_out(in).shapes)
    if (s.kind == Kind::kText) texts.push_back(s.text);
  EXPECT_THAT(texts, testing::Contains("2048 links, mean 40 %, busiest 95 %"));
}

TEST(LayeredDrawing, AFabricDrawsBandsWithTheirCountAndTheHotLinkOnItsOwn) {
  const Drawing d = lay_out(demo::fabric(2, 32, 8, 16));
  EXPECT_EQ(boxes(d).size(), 16u + 16 + 64);
  EXPECT_EQ(count(d, Kind::kPolygon), 4);
  EXPECT_EQ(count(d, Kind::kLine), 1);
  std::vector<std::string> texts;
  for (const Shape& s : d.shapes) {
    if (s.kind == Kind::kText) texts.push_back(s.text);
  }
  EXPECT_THAT(texts, testing::Contains("128 links, mean 40 %, busiest 95 %"));
  EXPECT_THAT(texts, testing::Contains("256 links, mean 32 %, busiest 32 %"));
}

TEST(LayeredDrawing, AGroupThatCannotBeDrawnBecomesABoxWithItsCount) {
  const Drawing d = lay_out(demo::fabric(16, 32, 8, 64));
  EXPECT_EQ(boxes(d).size(), 64u + 16 + 16);
  const auto is32 = [](const Shape& s) { return s.kind == Kind::kText && s.text == "32"; };
  EXPECT_EQ(std::count_if(d.shapes.begin(), d.shapes.end(), is32), 16);
}

TEST(LayeredDrawing, EdgesToNowhereAreLeftOutAndNothingGivesNothing) {
  LayeredDrawing in = demo::fabric(1, 4, 2, 2);
  const std::size_t shapes = lay_out(in).shapes.size();
  in.edges.push_back({{0, 99}, {1, 0}});
  in.edges.push_back({{7, 0}, {1, 0}});
  EXPECT_EQ(lay_out(in).shapes.size(), shapes);
  EXPECT_TRUE(lay_out({}).shapes.empty());
}

}  // namespace
}  // namespace busbar::report
