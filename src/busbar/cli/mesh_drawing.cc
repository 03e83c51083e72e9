#include "busbar/cli/mesh_drawing.h"

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

namespace busbar {
namespace {

using Kind = Shape::Kind;

constexpr std::size_t kMostInRing = 24, kMostInRows = 256;
constexpr double kWidth = 1056, kBoxWidth = 72, kBoxHeight = 32;

struct Bond {
  std::uint32_t lanes = 0;
  double rate = 0, heat = -1;
  LinkId link{};
};
using Bonds = std::map<std::pair<std::uint32_t, std::uint32_t>, Bond>;  ///< by numbers within the block's GPUs

std::vector<DeviceId> gpus_of(const Topology& t, BlockId id) {
  const Block& block = t.blocks()[index(id)];
  std::vector<DeviceId> out;
  for (std::uint32_t p = 0; p < block.device_count; ++p)
    if (const auto d = static_cast<DeviceId>(block.first_device + p); t.kind(d) == DeviceKind::kGpu) out.push_back(d);
  return out;
}

Bonds bonds_of(const Topology& t, const std::vector<DeviceId>& gpus, std::span<const double> utilisation) {
  std::map<DeviceId, std::uint32_t> number;
  for (std::uint32_t i = 0; i < gpus.size(); ++i) number[gpus[i]] = i;
  Bonds out;
  for (std::uint32_t i = 0; i < gpus.size(); ++i) {
    for (const LinkId l : t.out_links(gpus[i])) {
      const auto other = number.find(t.to(l));
      if (other == number.end() || other->second <= i) continue;
      Bond& b = out[{i, other->second}];
      b.lanes += t.link_class(l).lanes;
      b.rate += static_cast<double>(per_second(t.link_class(l).floor_rate()));
      if (!utilisation.empty()) b.heat = std::max({b.heat, utilisation[index(l)], utilisation[index(reverse(l))]});
      b.link = l;
    }
  }
  return out;
}

struct Point {
  double x = 0, y = 0;
};

std::vector<Point> ring(std::size_t n, double& height) {
  const double radius = std::max(150.0, static_cast<double>(n) * (kBoxHeight + 14) / (2 * std::numbers::pi));
  const double wide = std::min(radius * 1.5, (kWidth - kBoxWidth) / 2 - 8);
  height = 2 * radius + kBoxHeight + 24;
  std::vector<Point> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    out.push_back({kWidth / 2 + wide * std::sin(a), height / 2 - radius * std::cos(a)});
  }
  return out;
}

/// The smallest step above `inner`, and a multiple of it, by which at least half of the `n` numbers are joined: how far
/// apart neighbours of the next dimension of a torus are. `n` where there is none.
std::size_t next_extent(const Bonds& bonds, std::size_t n, std::size_t inner) {
  std::map<std::size_t, std::size_t> pairs;
  for (const auto& [ends, bond] : bonds) ++pairs[ends.second - ends.first];
  for (const auto& [step, count] : pairs)
    if (step > inner && step % inner == 0 && 2 * count >= n) return step;
  return n;
}

/// Rows of a torus's first dimension; of three dimensions the planes side by side.
std::vector<Point> rows(const Bonds& bonds, std::size_t n, double& height) {
  constexpr double kBetween = 0.6;  // of a step, between planes
  std::size_t columns = next_extent(bonds, n, 1);
  if (columns == n || bonds.size() > 4 * n)
    columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(n))));
  const std::size_t plane = next_extent(bonds, n, columns), planes = (n + plane - 1) / plane;
  const auto beside = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(planes))));
  const double wide = static_cast<double>(columns) + kBetween;
  const double step = (kWidth - 40) / (wide * static_cast<double>(beside) - kBetween);
  const double down = std::min(step, std::max(0.55 * step, kBoxHeight * 1.6 * std::min(1.0, step / kBoxWidth)));
  const double tall = static_cast<double>((plane + columns - 1) / columns) + kBetween;
  std::vector<Point> out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t p = i / plane, in = i % plane;
    const double x = static_cast<double>(p % beside) * wide + static_cast<double>(in % columns) + 0.5;
    const double y = static_cast<double>(p / beside) * tall + static_cast<double>(in / columns) + 0.5;
    out.push_back({20 + step * x, 20 + down * y});
  }
  height = out.empty() ? 0 : out.back().y + down;
  return out;
}

constexpr int kLaneColours[] = {colour::kOther, colour::kTp, colour::kCompute, colour::kDp, colour::kPp};

/// Which colour and thickness stand for which number of lanes.
std::map<std::uint32_t, std::size_t> ranks_of(const Bonds& bonds) {
  std::set<std::uint32_t> lanes;
  for (const auto& [ends, b] : bonds) lanes.insert(b.lanes);
  std::map<std::uint32_t, std::size_t> out;
  for (const std::uint32_t n : lanes) out.emplace(n, out.size());
  return out;
}

Shape line(Point a, Point b, int tone, double heat, double thickness, std::string tip) {
  Shape s{Kind::kLine, a.x, a.y, b.x - a.x, b.y - a.y, tone, heat, thickness};
  s.text = std::move(tip);
  return s;
}

void add_legend(const Bonds& bonds, const std::map<std::uint32_t, std::size_t>& ranks, double y, Drawing& d) {
  std::map<std::uint32_t, std::pair<std::size_t, double>> seen;  // lanes -> pairs, rate
  for (const auto& [ends, b] : bonds) {
    auto& [pairs, rate] = seen[b.lanes];
    ++pairs;
    rate = std::max(rate, b.rate);
  }
  double x = 24;
  for (const auto& [lanes, found] : seen) {
    const std::size_t rank = ranks.at(lanes);
    d.shapes.push_back(line({x, y}, {x + 34, y}, kLaneColours[rank % std::size(kLaneColours)], -1,
                            1.5 + 2.0 * static_cast<double>(rank), ""));
    Shape text{Kind::kText, x + 42, y};
    text.text = fmt::format("{} {} in {} pairs: {} per direction", lanes, lanes == 1 ? "lane" : "lanes", found.first,
                            format_rate(found.second));
    text.colour = colour::kInk;
    text.anchor = Anchor::kStart;
    x += 70 + 6.6 * static_cast<double>(text.text.size());
    d.shapes.push_back(std::move(text));
  }
}

void add_box(const Topology& t, DeviceId gpu, Point at, double scale, Drawing& d) {
  const double w = kBoxWidth * scale, h = kBoxHeight * scale;
  Shape box{Kind::kRect, at.x - w / 2, at.y - h / 2, w, h, colour::kGpu};
  box.radius = 5 * scale;
  const std::string name = t.name(gpu);
  box.text = name + " " + t.device_class(gpu).part;
  d.shapes.push_back(box);
  Shape text{Kind::kText, at.x, at.y};
  text.text = name.substr(name.find('.') + 1);
  text.colour = colour::kInk;
  text.size = std::max(5.0, 13 * scale);
  d.shapes.push_back(text);
}

}  // namespace

bool can_draw_mesh(const Topology& t, BlockId id) {
  const Block& block = t.blocks()[index(id)];
  if (gpus_of(t, id).size() > kMostInRows) return false;
  for (std::uint32_t l = block.first_link; l < block.first_link + block.link_count; l += 2) {
    const auto link = static_cast<LinkId>(l);
    if (t.kind(t.from(link)) == DeviceKind::kGpu && t.kind(t.to(link)) == DeviceKind::kGpu) return true;
  }
  return false;
}

Drawing draw_mesh(const Topology& t, BlockId id, std::span<const double> utilisation) {
  const std::vector<DeviceId> gpus = gpus_of(t, id);
  const Bonds bonds = bonds_of(t, gpus, utilisation);
  const auto ranks = ranks_of(bonds);
  Drawing d;
  d.title = fmt::format("Direct links between the GPUs of node{}", index(id));
  d.description = "GPUs in a ring, a line for each pair that is joined without a switch.";
  d.width = kWidth;
  const bool in_ring = gpus.size() <= kMostInRing;
  double height = 0;
  const std::vector<Point> at = in_ring ? ring(gpus.size(), height) : rows(bonds, gpus.size(), height);
  const double step = in_ring || at.size() < 2 ? kWidth : (at[1].x - at[0].x) * 1.5;
  std::size_t left_out = 0;
  for (const auto& [ends, b] : bonds) {
    const Point p = at[ends.first], q = at[ends.second];
    if (std::hypot(p.x - q.x, p.y - q.y) > step) {
      ++left_out;
      continue;
    }
    const std::size_t rank = ranks.at(b.lanes);
    d.shapes.push_back(line(p, q, kLaneColours[rank % std::size(kLaneColours)], b.heat,
                            1.5 + 2.0 * static_cast<double>(rank),
                            fmt::format("{} to {}: {} lanes, {} per direction", t.name(gpus[ends.first]),
                                        t.name(gpus[ends.second]), b.lanes, format_rate(b.rate))));
  }
  const double scale = in_ring ? 1 : std::min(1.0, (at[1].x - at[0].x) / (kBoxWidth * 1.3));
  for (std::size_t i = 0; i < gpus.size(); ++i) add_box(t, gpus[i], at[i], scale, d);
  add_legend(bonds, ranks, height + 14, d);
  d.height = height + 34;
  if (left_out > 0) d.note = fmt::format("{} longer links, such as those of other dimensions, are left out.", left_out);
  return d;
}

Drawing stack(Drawing upper, Drawing lower) {
  constexpr double kGap = 20;
  const double shift = upper.height + kGap;
  Drawing out = std::move(lower);
  for (Shape& s : out.shapes) {
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

}  // namespace busbar
