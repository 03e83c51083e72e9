#include "busbar/views/mesh_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"

namespace busbar::views {
namespace {

using Kind = report::Shape::Kind;

constexpr std::size_t kMostInRing = 24, kMostInRows = 256;
constexpr double kBoxWidth = 72, kBoxHeight = 32;
constexpr double kStub = 14;  // of a link that goes around a torus, outside its box
constexpr double kLeastLetter = 11;

struct BoxLine {
  std::uint32_t lanes = 0;
  double rate = 0, heat = -1;
  topology::LinkId link{};
};
using BoxLines = std::map<std::pair<std::uint32_t, std::uint32_t>, BoxLine>;  ///< by numbers of two boxes

/// The boxes and lines of a picture.
struct BoxGraph {
  struct Box {
    std::string label, tip;
    int colour;
  };
  std::vector<Box> boxes;
  BoxLines lines;
  const char *lane, *lanes;  ///< the unit of a line, singular and plural
};

std::vector<topology::DeviceId> gpus_of(const topology::Topology& t, topology::BlockId id) {
  const topology::Block& block = t.blocks()[index(id)];
  std::vector<topology::DeviceId> out;
  for (std::uint32_t p = 0; p < block.device_count; ++p)
    if (const auto d = static_cast<topology::DeviceId>(block.first_device + p); t.kind(d) == topology::DeviceKind::kGpu)
      out.push_back(d);
  return out;
}

/// Links between devices of different boxes; `box_of[i]` is the box of `devices[i]`.
BoxLines lines_of(const topology::Topology& t, const std::vector<topology::DeviceId>& devices,
                  const std::vector<std::uint32_t>& box_of, std::span<const double> shades) {
  std::map<topology::DeviceId, std::uint32_t> number;
  for (std::uint32_t i = 0; i < devices.size(); ++i) number[devices[i]] = box_of[i];
  BoxLines out;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    for (const topology::LinkId l : t.out_links(devices[i])) {
      const auto other = number.find(t.to(l));
      if (other == number.end() || other->second <= box_of[i]) continue;
      BoxLine& b = out[{box_of[i], other->second}];
      b.lanes += t.link_class(l).lanes;
      b.rate += static_cast<double>(per_second(t.link_class(l).floor_rate()));
      if (!shades.empty()) b.heat = std::max({b.heat, shades[index(l)], shades[index(topology::reverse(l))]});
      b.link = l;
    }
  }
  return out;
}

/// A box per device.
BoxGraph boxes_of(const topology::Topology& t, const std::vector<topology::DeviceId>& devices,
                  std::span<const double> shades) {
  BoxGraph out;
  std::vector<std::uint32_t> each;
  const bool gpus = !devices.empty() && t.kind(devices[0]) == topology::DeviceKind::kGpu;
  for (const topology::DeviceId d : devices) {
    const std::string name = t.name(d);
    out.boxes.push_back({name.substr(name.find('.') + 1), name + " " + t.device_class(d).part,
                         gpus ? report::colour::kGpu : report::colour::kLeaf});
    each.push_back(static_cast<std::uint32_t>(each.size()));
  }
  out.lines = lines_of(t, devices, each, shades);
  out.lane = gpus ? "lane" : "cable";
  out.lanes = gpus ? "lanes" : "cables";
  return out;
}

/// The size of equal groups among `switches` in which every switch is linked to every other. The number of switches if
/// there is no such size.
std::uint32_t group_size(const topology::Topology& t, const std::vector<topology::DeviceId>& switches,
                         const BoxLines& lines) {
  const auto n = static_cast<std::uint32_t>(switches.size());
  std::uint32_t size = 1;
  for (bool joined = true; size < n; ++size) {
    for (std::uint32_t i = 0; i < size && joined; ++i) joined = lines.contains({i, size});
    if (!joined) break;
  }
  constexpr std::uint32_t kLeast = 3;  // two neighbours of a torus are not a group
  if (size < kLeast || n % size != 0) return n;
  for (std::uint32_t i = 0; i < n; ++i)
    for (std::uint32_t j = i + 1; j < n && j / size == i / size; ++j)
      if (!lines.contains({i, j}) && !t.out_links(switches[i]).empty()) return n;
  return size;
}

std::vector<report::Point> ring(std::size_t n, double& height) {
  const double radius = std::max(150.0, static_cast<double>(n) * (kBoxHeight + 20) / (2 * std::numbers::pi));
  const double wide = std::min(radius * 1.5, (report::kDrawingWidth - kBoxWidth) / 2 - 8);
  height = 2 * radius + kBoxHeight + 24;
  std::vector<report::Point> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    out.push_back({report::kDrawingWidth / 2 + wide * std::sin(a), height / 2 - radius * std::cos(a)});
  }
  return out;
}

/// The smallest step above `inner`, a multiple of `inner`, by which at least half of the `n` numbers are linked: the
/// distance of neighbours in the next dimension of a torus. `n` if there is none.
std::size_t next_extent(const BoxLines& lines, std::size_t n, std::size_t inner) {
  std::map<std::size_t, std::size_t> pairs;
  for (const auto& [ends, line] : lines) ++pairs[ends.second - ends.first];
  for (const auto& [step, count] : pairs)
    if (step > inner && step % inner == 0 && 2 * count >= n) return step;
  return n;
}

/// Rows along the first dimension of a torus; with three dimensions, planes next to each other.
std::vector<report::Point> rows(const BoxLines& lines, std::size_t n, double& height) {
  constexpr double kBetween = 0.6;  // of a step, between planes
  std::size_t columns = next_extent(lines, n, 1);
  if (columns == n || lines.size() > 4 * n)
    columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n))));
  const std::size_t plane = next_extent(lines, n, columns), planes = (n + plane - 1) / plane;
  const auto beside = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(planes))));
  const double wide = static_cast<double>(columns) + kBetween;
  const double step = (report::kDrawingWidth - 40) / (wide * static_cast<double>(beside) - kBetween);
  const double down = std::min(step, std::max(0.55 * step, kBoxHeight * 1.6 * std::min(1.0, step / kBoxWidth)));
  const double tall = static_cast<double>((plane + columns - 1) / columns) + kBetween;
  std::vector<report::Point> out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t p = i / plane, in = i % plane;
    const double x = static_cast<double>(p % beside) * wide + static_cast<double>(in % columns) + 0.5;
    const double y = static_cast<double>(p / beside) * tall + static_cast<double>(in / columns) + 0.5;
    out.push_back({20 + step * x, 20 + down * y});
  }
  height = out.empty() ? 0 : out.back().y + down;
  return out;
}

constexpr std::size_t kMostWidths = 4;  ///< lines of more lanes are not thicker
constexpr int kLaneColours[] = {report::colour::kOther, report::colour::kTp, report::colour::kCompute,
                                report::colour::kDp, report::colour::kPp};

/// The colour and thickness for each number of lanes.
std::map<std::uint32_t, std::size_t> ranks_of(const BoxLines& lines) {
  std::set<std::uint32_t> lanes;
  for (const auto& [ends, b] : lines) lanes.insert(b.lanes);
  std::map<std::uint32_t, std::size_t> out;
  for (const std::uint32_t n : lanes) out.emplace(n, out.size());
  return out;
}

report::Shape line(report::Point a, report::Point b, int tone, double heat, double thickness, std::string tip) {
  report::Shape s{Kind::kLine, a.x, a.y, b.x - a.x, b.y - a.y, tone, heat, thickness};
  s.text = std::move(tip);
  return s;
}

void add_legend(const BoxGraph& graph, const std::map<std::uint32_t, std::size_t>& ranks, double y,
                report::Drawing& d) {
  std::map<std::uint32_t, std::pair<std::size_t, double>> seen;  // lanes -> pairs, rate
  for (const auto& [ends, b] : graph.lines) {
    auto& [pairs, rate] = seen[b.lanes];
    ++pairs;
    rate = std::max(rate, b.rate);
  }
  double x = 24;
  for (const auto& [lanes, found] : seen) {
    const std::size_t rank = ranks.at(lanes);
    d.shapes.push_back(line({x, y}, {x + 34, y}, kLaneColours[rank % std::size(kLaneColours)], -1,
                            1.5 + 2.0 * static_cast<double>(std::min<std::size_t>(rank, kMostWidths)), ""));
    report::Shape text{Kind::kText, x + 42, y};
    text.text = fmt::format("{} {} in {} pairs: {} per direction", lanes, lanes == 1 ? graph.lane : graph.lanes,
                            found.first, format_rate(found.second));
    text.colour = report::colour::kInk;
    text.anchor = report::Anchor::kStart;
    x += 70 + 6.6 * static_cast<double>(text.text.size());
    d.shapes.push_back(std::move(text));
  }
}

void add_box(const BoxGraph::Box& what, report::Point at, double scale, report::Drawing& d) {
  const double w = kBoxWidth * scale, h = kBoxHeight * scale;
  report::Shape box{Kind::kRect, at.x - w / 2, at.y - h / 2, w, h, what.colour};
  box.radius = 5 * scale;
  box.text = what.tip;
  d.shapes.push_back(box);
  report::Shape text{Kind::kText, at.x, at.y};
  text.text = what.label;
  text.colour = report::colour::kInk;
  text.size = std::max(kLeastLetter, 13 * scale);
  if (static_cast<double>(text.text.size()) * 0.62 * text.size > w)  // only the number
    text.text.erase(0, std::min(text.text.find_first_of("0123456789"), text.text.size() - 1));
  d.shapes.push_back(text);
}

/// In a ring if there are at most `most_in_ring` boxes, otherwise in rows.
report::Drawing draw_boxes(const BoxGraph& graph, std::string title, std::size_t most_in_ring) {
  const auto ranks = ranks_of(graph.lines);
  const std::size_t n = graph.boxes.size();
  const bool in_ring = n <= most_in_ring;
  report::Drawing d;
  d.title = std::move(title);
  d.description =
      fmt::format("{} boxes in {}, with a line for each pair with a direct link.", n, in_ring ? "a ring" : "rows");
  d.width = report::kDrawingWidth;
  double height = 0;
  const std::vector<report::Point> at = in_ring ? ring(n, height) : rows(graph.lines, n, height);
  const double step = in_ring || at.size() < 2 ? report::kDrawingWidth : (at[1].x - at[0].x) * 1.5;
  const double scale = in_ring || at.size() < 2 ? 1 : std::min(1.0, (at[1].x - at[0].x) / (kBoxWidth * 1.3));
  std::size_t left_out = 0, wrapped = 0;
  for (const auto& [ends, b] : graph.lines) {
    const report::Point p = at[ends.first], q = at[ends.second];
    const double length = std::sqrt((p.x - q.x) * (p.x - q.x) + (p.y - q.y) * (p.y - q.y));
    const bool straight = std::min(std::fabs(p.x - q.x), std::fabs(p.y - q.y)) < 1e-6;
    if (length > step && !straight) {
      ++left_out;
      continue;
    }
    const std::size_t rank = ranks.at(b.lanes);
    const double thickness = 1.5 + 2.0 * static_cast<double>(std::min<std::size_t>(rank, kMostWidths));
    const int tone = kLaneColours[rank % std::size(kLaneColours)];
    const std::string tip =
        fmt::format("{} to {}: {} {}, {} per direction", graph.boxes[ends.first].tip, graph.boxes[ends.second].tip,
                    b.lanes, b.lanes == 1 ? graph.lane : graph.lanes, format_rate(b.rate));
    if (length <= step) {
      d.shapes.push_back(line(p, q, tone, b.heat, thickness, tip));
      continue;
    }
    ++wrapped;  // around the row or column: its two ends
    const bool along = std::fabs(p.y - q.y) < 1e-6;
    const double part = ((along ? kBoxWidth : kBoxHeight) / 2 + kStub) * scale / length;
    const report::Point out{(p.x - q.x) * part, (p.y - q.y) * part};
    for (const auto& [from, to] :
         {std::pair(p, report::Point{p.x + out.x, p.y + out.y}), {q, report::Point{q.x - out.x, q.y - out.y}}}) {
      d.shapes.push_back(line(from, to, tone, b.heat, thickness, tip));
      d.shapes.back().dashed = true;
    }
  }
  for (std::size_t i = 0; i < n; ++i) add_box(graph.boxes[i], at[i], scale, d);
  add_legend(graph, ranks, height + 14, d);
  d.height = height + 34;
  if (wrapped > 0) d.note = fmt::format("Dashed ends: {} links that go around to the other end. ", wrapped);
  if (left_out > 0) d.note += fmt::format("{} longer links, for example of other dimensions, are not drawn.", left_out);
  return d;
}

}  // namespace

bool can_draw_mesh(const topology::Topology& t, topology::BlockId id) {
  const topology::Block& block = t.blocks()[index(id)];
  if (gpus_of(t, id).size() > kMostInRows) return false;
  for (std::uint32_t l = block.first_link; l < block.first_link + block.link_count; l += 2) {
    const auto link = static_cast<topology::LinkId>(l);
    if (t.kind(t.from(link)) == topology::DeviceKind::kGpu && t.kind(t.to(link)) == topology::DeviceKind::kGpu)
      return true;
  }
  return false;
}

report::Drawing draw_mesh(const topology::Topology& t, topology::BlockId id, std::span<const double> shades) {
  return draw_boxes(boxes_of(t, gpus_of(t, id), shades),
                    fmt::format("Direct links between the GPUs of node{}", index(id)), kMostInRing);
}

report::Drawing draw_switches(const topology::Topology& t, const std::vector<topology::DeviceId>& switches,
                              std::span<const double> shades) {
  constexpr std::size_t kMostInGroup = 40;
  const BoxGraph all = boxes_of(t, switches, shades);
  if (all.lines.empty()) return {};
  const std::uint32_t size = group_size(t, switches, all.lines);
  const auto groups = static_cast<std::uint32_t>(switches.size() / size);
  if (groups == 1 || switches.size() <= kMostInRing) {
    if (switches.size() > kMostInRows) return {};
    const bool mesh = groups == 1 && all.lines.size() * 2 == switches.size() * (switches.size() - 1);
    return draw_boxes(all, "Cables between switches", mesh ? kMostInGroup : kMostInRing);
  }
  if (groups > kMostInRing || size > kMostInGroup) return {};
  BoxGraph between;
  std::vector<std::uint32_t> group_of;
  for (std::uint32_t i = 0; i < switches.size(); ++i) group_of.push_back(i / size);
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::string first = t.name(switches[g * size]), last = t.name(switches[g * size + size - 1]);
    between.boxes.push_back({fmt::format("group {}", g), fmt::format("{} to {}", first, last), report::colour::kLeaf});
  }
  between.lines = lines_of(t, switches, group_of, shades);
  between.lane = "cable";
  between.lanes = "cables";
  const std::vector<topology::DeviceId> first(switches.begin(), switches.begin() + size);
  report::Drawing inside = draw_boxes(boxes_of(t, first, shades), "", kMostInGroup);
  inside.title = fmt::format("Cables between {} groups of {} switches, and inside group 0", groups, size);
  return stack(draw_boxes(between, "", kMostInRing), std::move(inside));
}

report::Drawing stack(report::Drawing upper, report::Drawing lower) {
  constexpr double kGap = 20;
  const double shift = upper.height + kGap;
  report::Drawing out = std::move(lower);
  for (report::Shape& s : out.shapes) {
    s.y += shift;
    for (auto& [x, y] : s.points) y += shift;
  }
  out.shapes.insert(out.shapes.begin(), std::make_move_iterator(upper.shapes.begin()),
                    std::make_move_iterator(upper.shapes.end()));
  out.width = std::max(out.width, upper.width);
  out.height += shift;
  if (!upper.note.empty()) out.note = out.note.empty() ? upper.note : upper.note + " " + out.note;
  return out;
}

}  // namespace busbar::views
