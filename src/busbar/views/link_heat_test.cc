#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "busbar/spec/cluster.h"
#include "busbar/views/link_courses_drawing.h"
#include "busbar/views/topology_drawing.h"

namespace busbar::views {
namespace {

using report::Drawing;
using report::Shape;

std::vector<std::string> words_with(const Drawing& d, const std::string& end) {
  std::vector<std::string> out;
  for (const Shape& s : d.shapes)
    if (s.kind == Shape::Kind::kText && s.text.ends_with(end)) out.push_back(s.text);
  return out;
}

topology::LinkId link_from(const topology::Topology& t, topology::DeviceKind kind, topology::LinkKind of) {
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (t.kind(t.from(topology::LinkId{l})) == kind && t.link_class(topology::LinkId{l}).kind == of)
      return topology::LinkId{l};
  ADD_FAILURE();
  return {};
}

trace::LinkLoad load(topology::LinkId link, std::vector<double> course) {
  trace::LinkLoad l;
  l.link = index(link);
  for (const double x : course) l.utilisation += x / static_cast<double>(course.size());
  l.course = std::move(course);
  return l;
}

TEST(LinkCourses, TheBusiestLinkOfEachSortIsARowOnOneScale) {
  const spec::Cluster c = spec::load_cluster("dgx-h100:2").value();
  const topology::Topology& t = c.topology;
  const topology::LinkId nic = link_from(t, topology::DeviceKind::kNic, topology::LinkKind::kInfiniband);
  const topology::LinkId nvlink = link_from(t, topology::DeviceKind::kGpu, topology::LinkKind::kNvlink);
  const topology::LinkId idle = link_from(t, topology::DeviceKind::kGpu, topology::LinkKind::kPcie);
  trace::Timeline timeline;
  timeline.length = Duration::us(4'000'000);
  timeline.links = {load(nic, {0.125, 0.125, 0.25, 0.25}), load(topology::reverse(nic), {0.1, 0, 0, 0}),
                    load(nvlink, {0.5, 0, 0, 0.5}), load(idle, {0, 0, 0, 0})};
  const Drawing d = draw_link_courses(t, timeline);
  EXPECT_EQ(words_with(d, " %"), (std::vector<std::string>{"25 %", "19 %", "0 %", "50 %"}));  // means, then the scale
  std::vector<double> heats;
  for (const Shape& s : d.shapes)
    if (s.kind == Shape::Kind::kRect && !s.text.empty()) heats.push_back(s.heat);
  EXPECT_EQ(heats, (std::vector<double>{1, 0, 1, 0.25, 0.5}));
}

TEST(LinkCourses, NothingIsDrawnWhereNothingIsSent) {
  EXPECT_TRUE(draw_link_courses(spec::load_cluster("dgx-h100").value().topology, {}).shapes.empty());
}

TEST(LinkHeat, PicturesOfOneMachineHaveOneScaleAndShowTheBusiestServer) {
  const spec::Cluster c = spec::load_cluster("dgx-h100:4").value();
  const topology::Topology& t = c.topology;
  LinkHeat heat{std::vector<double>(t.link_count(), 0.0), "over the step"};
  for (std::uint32_t l = 0; l < t.link_count(); ++l) {
    const topology::LinkId link{l};
    if (topology::is_fabric(t.link_class(link).kind)) heat.load[l] = 0.01;
    if (t.block_of(t.from(link)) == topology::BlockId{2} && t.link_class(link).kind == topology::LinkKind::kNvlink)
      heat.load[l] = 0.5;
  }
  const std::vector<Drawing> pictures = draw_loads(t, heat);
  ASSERT_EQ(pictures.size(), 2u);
  for (const Drawing& d : pictures) EXPECT_EQ(words_with(d, " %").back(), "50 %");
  EXPECT_EQ(pictures[1].title.find("Inside node2"), 0u) << pictures[1].title;
}

}  // namespace
}  // namespace busbar::views
