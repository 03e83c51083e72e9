#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <pugixml.hpp>
#include <set>

#include "busbar/report/demo/sample.h"
#include "busbar/report/document.h"
#include "busbar/report/style.h"

namespace busbar::report {
namespace {

using testing::HasSubstr;
using testing::Not;

pugi::xml_document parse(const std::string& text) {
  pugi::xml_document out;
  const auto result = out.load_string(text.c_str(), pugi::parse_full);
  EXPECT_TRUE(result) << result.description() << " at " << text.substr(static_cast<std::size_t>(result.offset), 200);
  return out;
}

Document page_of(BlockElement element) {
  Document out{"title", "busbar x", {}};
  out.blocks.push_back({std::move(element), Audience::kBoth});
  return out;
}

TEST(Html, ASampleReportIsWellFormedAndLoadsNothing) {
  const std::string page = render_html(demo::training_step());
  parse(page);
  for (const char* word : {"http://", "https://", "<img", "<link", "@import", "src="}) {
    EXPECT_THAT(page, Not(HasSubstr(word))) << word;
  }
  for (std::size_t at = page.find("url("); at != std::string::npos; at = page.find("url(", at + 1))
    EXPECT_EQ(page[at + 4], '#') << page.substr(at, 40);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Html, EveryPictureHasARoleATitleAndADescription) {
  const auto doc = parse(render_html(demo::training_step()));
  const auto pictures = doc.select_nodes("//svg[not(@class='tiles')]");
  EXPECT_EQ(pictures.size(), 6u);
  for (const auto& p : pictures) {
    EXPECT_STREQ(p.node().attribute("role").value(), "img");
    EXPECT_STRNE(p.node().child("title").child_value(), "");
    EXPECT_STRNE(p.node().child("desc").child_value(), "");
  }
}

TEST(Html, EveryTableHeadingHasAScopeAndEveryScrollerTakesTheKeyboard) {
  const auto doc = parse(render_html(demo::training_step()));
  EXPECT_GT(doc.select_nodes("//th").size(), 20u);
  EXPECT_EQ(doc.select_nodes("//th[not(@scope)]").size(), 0u);
  EXPECT_GT(doc.select_nodes("//div[contains(@class,'scroll')]").size(), 5u);
  EXPECT_EQ(doc.select_nodes("//div[contains(@class,'scroll')][not(@tabindex='0' and @role='region' and @aria-label)]")
                .size(),
            0u);
}

TEST(Html, NoLineEndsBeforeAUnitOrAfterAHyphenWithinAName) {
  const auto sentence = [](const char* text) {
    const std::string page = render_html(page_of(Highlight{text}));
    const std::size_t from = page.find("<p class=\"highlight\">") + 21;
    return page.substr(from, page.find("</p>\n", from) - from);
  };
  EXPECT_EQ(sentence("took 3.5 ms, 26 % of 1 GiB."), "took 3.5&#160;ms, 26&#160;% of 1&#160;GiB.");
  EXPECT_EQ(sentence("8 GPUs, a b s  -3 x-y"), "8 GPUs, a b s  -3 x-y");
  EXPECT_EQ(sentence("a0->b1 ZeRO-2"), "a0<span class=\"n\">-&gt;</span>b1 ZeRO<span class=\"n\">-2</span>");
  EXPECT_EQ(sentence(""), "");
}

TEST(Html, ContentsLeadToTheHeadings) {
  const auto doc = parse(render_html(demo::training_step()));
  const auto links = doc.select_nodes("//nav//a");
  EXPECT_EQ(links.size(), 4u);
  for (const auto& link : links) {
    const std::string id = std::string(link.node().attribute("href").value()).substr(1);
    EXPECT_EQ(doc.select_nodes(("//h2[@id='" + id + "']").c_str()).size(), 1u);
  }
}

TEST(Html, HostileStringsStayText) {
  const std::string evil = "</title></style><script>alert(1)</script>\" onload='x' &#x3c; \x01\xFF \xE2\x80\xAE";
  Document d{evil, evil, {}};
  const auto add = [&](BlockElement e) { d.blocks.push_back({std::move(e), Audience::kBoth}); };
  add(Heading{evil});
  add(Heading{evil});
  add(Heading{evil});
  add(Paragraph{evil});
  add(Highlight{evil});
  add(Facts{evil, {{evil, evil}}});
  add(Table{evil, {{evil}, {evil, Align::kLeft, 1}}, {{evil, evil, evil}}, evil});
  add(Bars{evil, evil, {{evil, {{evil, 3, 0, evil}}}}, 0, 2, evil, false, evil, evil, true});
  add(Drawing{evil,
              evil,
              10,
              10,
              {{Shape::Kind::kText, 0, 0, 0, 0, 0, -1, 1, evil}, {Shape::Kind::kRect, 0, 0, 1, 1, 0, -1, 1, evil}},
              evil});
  add(TimelineView{evil, evil, 0, 1, {{evil, evil, {{0, 1, 0, evil}}}}, {{evil, 0}}});
  const std::string page = render_html(d);
  const auto doc = parse(page);
  EXPECT_EQ(doc.select_nodes("//script").size(), 1u);  // that saves pictures
  EXPECT_EQ(doc.select_nodes("//*[@onload]").size(), 0u);
  EXPECT_EQ(doc.select_nodes("/html/head/title").size(), 1u);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  const std::string shown = doc.select_node("//h1").node().child_value();
  EXPECT_THAT(shown, HasSubstr("<script>alert(1)</script>\" onload='x' &#x3c;"));
}

TEST(Html, FiguresThatAreNotNumbersDoNotBreakThePicture) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto page = render_html(
      page_of(Bars{"b", "s", {{"x", {{"p", nan, 0}, {"q", -3, 1}, {"r", inf, 2}, {"s", 2, 3}}}}, nan, inf, "m"}));
  parse(page);
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  parse(render_html(page_of(Drawing{"d", "", nan, -1, {{Shape::Kind::kRect, nan, inf, -3, nan}}})));
  parse(render_html(page_of(TimelineView{"t", "", 1, 0, {{"", "", {}}}, {}})));
  parse(render_html(page_of(Bars{"none", "s", {}})));
  parse(render_html(page_of(Table{})));
}

TEST(Html, AFailureIsMarkedAndItsFiguresAreStruck) {
  const auto bad =
      parse(render_html(page_of(Highlight{"Does not fit; if it did, 2 s per step. It is 1 GB.", "2 s per step"})));
  EXPECT_EQ(bad.select_nodes("//p[@class = 'highlight bad'][starts-with(., 'Does not fit; ')]/s").size(), 1u);
  EXPECT_EQ(bad.select_nodes("//s[contains(., 'per step')][not(contains(., 'GB'))]").size(), 1u);
  const auto good = parse(render_html(page_of(Highlight{"2 s per step."})));
  EXPECT_EQ(good.select_nodes("//p[@class = 'highlight']").size(), 1u);
  EXPECT_EQ(good.select_nodes("//s").size(), 0u);
}

TEST(Html, PartsOfABarAreAsWideAsTheirShare) {
  const auto doc = parse(render_html(page_of(Bars{"b", "s", {{"x", {{"p", 1, 0}, {"q", 3, 1}}}}})));
  const auto rects = doc.select_nodes("//svg/rect");
  ASSERT_EQ(rects.size(), 2u);
  EXPECT_STREQ(rects[0].node().attribute("width").value(), "25%");
  EXPECT_STREQ(rects[1].node().attribute("x").value(), "25%");
  EXPECT_STREQ(rects[1].node().attribute("width").value(), "75%");
}

TEST(Html, ABarHasOnlyTheNamesThatFitAndTheTableHasTheRest) {
  const std::string page = render_html(page_of(Bars{"b", "s", {{"x", {{"wide", 99, 0}, {"sliver", 1, 1}}}}}));
  const auto doc = parse(page);
  EXPECT_EQ(doc.select_nodes("//svg/text[contains(., 'wide')]").size(), 1u);
  EXPECT_EQ(doc.select_nodes("//svg/text[contains(., 'sliver')]").size(), 0u);
  EXPECT_EQ(doc.select_nodes("//table//th[contains(., 'sliver')]").size(), 1u);
}

TEST(Html, WhatElseIsSaidOfAPartIsAColumnOfTheTableAndFollowsItsValueInTheLegend) {
  Bars bars{"b", "s", {{"x", {{"p", 3, 0, "-2.50 s"}, {"q", 1, 1}}}}};
  bars.more = "if free";
  bars.note = "These need not add up.";
  const auto table = parse(render_html(page_of(bars)));
  EXPECT_EQ(table.select_nodes("//thead//th[contains(., 'if free')]").size(), 1u);
  EXPECT_EQ(table.select_nodes("//tr[th[contains(., 'p')]]/td[. = '-2.50 s']").size(), 1u);
  EXPECT_EQ(table.select_nodes("//tr[th[contains(., 'q')]]/td[. = '-']").size(), 1u);
  bars.brief = true;
  const auto legend = parse(render_html(page_of(bars)));
  EXPECT_EQ(legend.select_nodes("//li[contains(., 'p 3.00 s, if free -2.50 s')]").size(), 1u);
  EXPECT_EQ(legend.select_nodes("//p[@class = 'note'][. = 'These need not add up.']").size(), 1u);
}

TEST(Html, ALabelIsNextToTheMarkNotUnderIt) {
  const auto doc = parse(render_html(page_of(Bars{"b", "s", {{"x", {{"p", 10, 0}}}}, 10, 4, "ideal"})));
  const auto label = doc.select_node("//svg/text[starts-with(@class, 't0')]").node();
  EXPECT_STREQ(label.attribute("x").value(), "70%");  // the middle of 40 to 100
}

TEST(Html, AHundredThousandSpansStayBelowOneAndAHalfMegabytes) {
  for (const std::size_t rows : {2u, 24u, 100u, 400u}) {
    const std::string page = render_html(page_of(demo::busy_timeline(rows, 100'000)));
    EXPECT_LT(page.size(), 1'500'000u) << rows;
    parse(page);
  }
}

TEST(Html, LongSpansKeepTheirToolTipAndShortOnesSayThatTheyAreGathered) {
  TimelineView view{"t", "", 0, 10, {{"g", "r", {{0, 4, 0, "the long one"}}}}, {}};
  EXPECT_THAT(render_html(page_of(view)), HasSubstr("the long one, 4.00 s from 0 s"));
  EXPECT_THAT(render_html(page_of(view)), Not(HasSubstr("are gathered")));
  for (int i = 0; i < 100; ++i) view.rows[0].spans.push_back({5 + i * 1e-3, 1e-3, 1, ""});
  EXPECT_THAT(render_html(page_of(view)), HasSubstr("are gathered"));
}

TEST(Html, AFoldLastsToTheNextFoldOrHeading) {
  Document d = page_of(Fold{"first"});
  for (BlockElement e : {BlockElement(Paragraph{"a"}), BlockElement(Fold{"second"}), BlockElement(Heading{"after"})})
    d.blocks.push_back({std::move(e), Audience::kBoth});
  const auto doc = parse(render_html(d));
  EXPECT_EQ(doc.select_nodes("//details").size(), 2u);
  EXPECT_EQ(doc.select_nodes("//details/p").size(), 1u);
  EXPECT_EQ(doc.select_nodes("//main/h2").size(), 1u);
}

TEST(Html, OnlyATimelineToExploreBringsAScriptAndItsHash) {
  TimelineView view{"t", "", 0, 10, {{"g", "r", {{0, 4, 0, "first </script>", "", 7}, {4, 2, 1, "second", "", 8, 7}}}},
                    {}};
  EXPECT_EQ(parse(render_html(page_of(view))).select_nodes("//script").size(), 1u);  // that saves pictures
  view.explore = true;
  const std::string page = render_html(page_of(view));
  const auto doc = parse(page);
  EXPECT_EQ(doc.select_nodes("//script").size(), 3u);  // data, and two scripts
  EXPECT_THAT(page, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(doc.select_node("//script[@type='application/json']").node().child_value(),
              HasSubstr("first \\u003c/script\\u003e"));
  EXPECT_EQ(doc.select_nodes("//svg[not(@class='tiles')]").size(), 1u);  // without scripts the picture stays
}

TEST(Html, ShowsBlocksForThePageAndOmitsBlocksForTheTerminal) {
  Document d = page_of(Paragraph{"both"});
  d.blocks.push_back({Paragraph{"page only"}, Audience::kPage});
  d.blocks.push_back({Paragraph{"terminal only"}, Audience::kTerminal});
  EXPECT_THAT(render_html(d), testing::AllOf(HasSubstr("page only"), Not(HasSubstr("terminal only"))));
  EXPECT_THAT(render_text(d, {}), testing::AllOf(Not(HasSubstr("page only")), HasSubstr("terminal only")));
}

TEST(Svg, ADrawingAloneIsAWholeFile) {
  Drawing d{"a <drawing>", "what it shows", 100, 50, {}};
  d.shapes.push_back({Shape::Kind::kCurve, 0, 0, 10, 20, 0, 0.95, 2});
  d.shapes.push_back({Shape::Kind::kPolygon});
  d.shapes.back().points = {{0, 0}, {1, 0}, {1, 1}};
  const std::string svg = render_svg(d);
  const auto doc = parse(svg);
  EXPECT_STREQ(doc.child("svg").attribute("xmlns").value(), "http://www.w3.org/2000/svg");
  EXPECT_STREQ(doc.child("svg").attribute("viewBox").value(), "0 0 100 50");
  EXPECT_STREQ(doc.child("svg").child("title").child_value(), "a <drawing>");
  EXPECT_STREQ(doc.child("svg").child("path").attribute("class").value(), "n h9");
  EXPECT_STREQ(doc.child("svg").child("polygon").attribute("points").value(), "0,0 1,0 1,1");
}

Motion motion_of(const std::string& name) {
  Motion m{"Watch it", "a machine", "note", 100, 50};
  m.boxes = {{0, 0, 20, 20, name, colour::kGpu, "", true}, {60, 0, 20, 20, "b", colour::kGpu, "", true}};
  m.lines = {{20, 10, 60, 10, "a - b", 10, 10}};
  MotionPane pane;
  pane.name = name;
  pane.end_s = 2;
  pane.end = "2 s";
  pane.paths = {{{{20, 10}, {60, 10}}, {{0, 1.0}}, 1}};
  pane.trips = {{0, 0, 1, 2, 10, colour::kTp, 0}};
  pane.formula = {{"T"}};
  m.panes = {pane};
  return m;
}

TEST(Html, AMotionIsAStillPictureWithDataForItsScript) {
  const std::string page = render_html(page_of(motion_of("</script><b>")));
  const pugi::xml_document doc = parse(page);
  EXPECT_THAT(page, HasSubstr("script-src 'sha256-"));
  EXPECT_EQ(doc.select_nodes("//script").size(), 3u);  // data, and two scripts
  EXPECT_EQ(doc.select_nodes("//b").size(), 0u);
  EXPECT_EQ(doc.select_nodes("//svg//*[@data-box]").size(), 2u);
  // 10 over a line of 10 per second in 2 s: half full
  EXPECT_THAT(doc.select_node("//line").node().attribute("class").value(),
              HasSubstr(fmt::format("h{}", heat_step(0.5))));
}

TEST(Html, APageCarriesItsResultAndNothingInItEndsTheScript) {
  Document d = page_of(Paragraph{"x"});
  EXPECT_EQ(parse(render_html(d)).select_nodes("//script").size(), 0u);
  d.data = Json{{"schema", "busbar.x/1"}, {"text", "</script><b>"}};
  const auto doc = parse(render_html(d));
  EXPECT_EQ(doc.select_nodes("//script[@id='result'][@type='application/json']").size(), 1u);
  EXPECT_EQ(doc.select_nodes("//b").size(), 0u);
}

TEST(Html, PartsDifferByHatchesAsWellAsByColour) {
  const auto doc = parse(render_html(page_of(Bars{"b", "s", {{"x", {{"p", 3, colour::kTp}, {"q", 1, colour::kDp}}}}})));
  std::set<std::string> lines;
  for (const int c : {colour::kTp, colour::kDp, colour::kPp, colour::kOptimizer, colour::kCp, colour::kEp})
    lines.insert(doc.select_node(fmt::format("//pattern[@id='q{}']/path[@class='hatch']", c).c_str())
                     .node()
                     .attribute("d")
                     .value());
  EXPECT_EQ(lines.size(), 6u);
  EXPECT_FALSE(lines.contains(""));
}

TEST(Html, HatchesOfATimelineAreOnePathForEachColour) {
  const int tp = colour::kTp;
  const TimelineView view{
      "t", "", 0, 10, {{"g", "r", {{0, 4, tp, "a"}, {5, 1, tp, "b"}}}, {"g", "s", {{2, 4, tp, "c"}}}}, {}};
  const auto doc = parse(render_html(page_of(view)));
  EXPECT_EQ(doc.select_nodes(fmt::format("//path[@class='over{}']", colour::kTp).c_str()).size(), 1u);
  EXPECT_GT(doc.select_nodes(fmt::format("//rect[@class='c{}']", colour::kTp).c_str()).size(), 1u);
}

TEST(Html, AMotionWithoutPanesIsLeftOut) {
  Document d;
  d.add(Motion{});
  EXPECT_TRUE(d.blocks.empty());
}

}  // namespace
}  // namespace busbar::report
