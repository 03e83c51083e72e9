#include "busbar/views/tier_motion.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/report/style.h"
#include "busbar/views/collective_motion.h"

namespace busbar::views {
namespace {

using questions::MachineTier;
using questions::TierCourse;
using questions::TierKind;
using questions::TierStage;

constexpr double kDrawingWidth = 720, kTierHeight = 30, kTierSpace = 38, kTierMargin = 12;
constexpr int kPulses = 48;         // of a way over the whole time: a stream, not a flood
constexpr int kMostSegments = 200;  // shorter stages than one of these join

/// From top to bottom: the network with its highest tier first, then the server down to its switches.
int height_order(const MachineTier& t) {
  const int by_kind = 100 * static_cast<int>(t.kind);
  return t.kind == TierKind::kFabric ? by_kind - t.level : by_kind + t.level;
}

int tier_colour(const MachineTier& t) {
  switch (t.kind) {
    case TierKind::kFabric:
      return t.level == 1 ? report::colour::kLeaf : report::colour::kSpine;
    case TierKind::kNics:
      return report::colour::kNic;
    case TierKind::kHost:
      return report::colour::kCpu;
    case TierKind::kGpus:
      return report::colour::kGpu;
    case TierKind::kScaleUp:
      break;
  }
  return report::colour::kSwitch;
}

/// The tiers of all courses as boxes, one above the other, and a line for each two that exchange anything.
class TierDrawing {
 public:
  explicit TierDrawing(const std::vector<TierCourse>& courses) {
    for (const TierCourse& c : courses)
      for (const MachineTier& t : c.tiers) {
        MachineTier& known = tiers_.try_emplace(height_order(t), t).first->second;
        known.devices = std::max(known.devices, t.devices);
      }
    for (const auto& [order, tier] : tiers_) {
      box_of_[order] = static_cast<std::uint32_t>(boxes_.size());
      boxes_.push_back({kTierMargin, kTierMargin + static_cast<double>(boxes_.size()) * (kTierHeight + kTierSpace),
                        kDrawingWidth - 2 * kTierMargin, kTierHeight, questions::words_of(tier), tier_colour(tier), "",
                        tier.kind == TierKind::kGpus});
    }
    place_lines(courses);
  }

  /// One per way of the course.
  std::vector<report::MotionPath> paths_of(const TierCourse& c) {
    std::vector<report::MotionPath> out;
    for (const questions::TierWay& way : c.ways) {
      const auto [a, b] = ends_of(c, way);
      const std::uint32_t number = line_of_.at(std::minmax(a, b));
      report::MotionLine& line = lines_[number];
      double& rate = a <= b ? line.rate : line.rate_back;
      rate = std::max(rate, way.rate);
      report::MotionPath path;
      path.points = {{line.x, line.y}, {line.to_x, line.to_y}};
      if (a > b) std::reverse(path.points.begin(), path.points.end());
      path.lines.emplace_back(2 * number + (a > b ? 1 : 0), 1.0);
      if (boxes_[b].fills) path.to = b;
      out.push_back(std::move(path));
    }
    return out;
  }

  void write(report::Motion& out) const {
    out.width = kDrawingWidth;
    out.height = boxes_.back().y + kTierHeight + 2 * kTierMargin;
    out.boxes = boxes_;
    out.lines = lines_;
  }

 private:
  using Ends = std::pair<std::uint32_t, std::uint32_t>;

  Ends ends_of(const TierCourse& c, const questions::TierWay& way) const {
    return {box_of_.at(height_order(c.tiers[way.from])), box_of_.at(height_order(c.tiers[way.to]))};
  }

  void place_lines(const std::vector<TierCourse>& courses) {
    std::set<Ends> ends;
    for (const TierCourse& c : courses)
      for (const questions::TierWay& way : c.ways) {
        const auto [a, b] = ends_of(c, way);
        ends.insert(std::minmax(a, b));
      }
    const double each = (kDrawingWidth - 2 * kTierMargin) / static_cast<double>(ends.size() + 1);
    double x = kTierMargin;
    for (const auto& [a, b] : ends) {
      x += each;
      line_of_[{a, b}] = static_cast<std::uint32_t>(lines_.size());
      report::MotionLine line{x, boxes_[a].y + kTierHeight, x, boxes_[b].y, boxes_[a].label + " - " + boxes_[b].label};
      if (a == b)  // GPUs that are linked to each other
        line = {x - each / 3, boxes_[a].y + kTierHeight + kTierMargin / 2, x + each / 3,
                boxes_[a].y + kTierHeight + kTierMargin / 2, "links between GPUs"};
      lines_.push_back(std::move(line));
    }
  }

  std::map<int, MachineTier> tiers_;
  std::map<int, std::uint32_t> box_of_;
  std::vector<report::MotionBox> boxes_;
  std::vector<report::MotionLine> lines_;
  std::map<Ends, std::uint32_t> line_of_;
};

/// Stages that are too short to be seen join the ones before them.
std::vector<TierStage> joined_stages(const TierCourse& c) {
  const double least_s = c.row.time.in_s() / kMostSegments;
  std::vector<TierStage> out;
  for (const TierStage& s : c.stages) {
    if (out.empty() || out.back().end_s - out.back().begin_s >= least_s) {
      out.push_back(s);
      continue;
    }
    out.back().end_s = s.end_s;
    for (std::size_t w = 0; w < s.bytes.size(); ++w) out.back().bytes[w] += s.bytes[w];
  }
  return out;
}

std::vector<report::MotionTrip> pulses_of(const TierCourse& c) {
  std::vector<report::MotionTrip> out;
  for (const TierStage& s : joined_stages(c)) {
    const double all_s = s.end_s - s.begin_s;
    const int pulses = std::max(1, static_cast<int>(std::lround(kPulses * all_s / c.row.time.in_s())));
    for (int p = 0; p < pulses; ++p)
      for (std::uint32_t w = 0; w < s.bytes.size(); ++w) {
        if (s.bytes[w] <= 0) continue;
        const double start_s = s.begin_s + all_s * p / pulses, done_s = s.begin_s + all_s * (p + 1) / pulses;
        out.push_back({w, start_s, done_s, done_s, s.bytes[w] / pulses, report::colour::kCompute, -1});
      }
  }
  return out;
}

/// The formula names the launch and the phases, in order of their first stage.
void add_phases(const TierCourse& c, report::MotionPane& out) {
  std::map<std::string, int> term;
  out.formula = {{"launch", 0}};
  out.terms = {"launch"};
  out.parts = {{0, 0, c.launch_s}};
  for (const TierStage& s : joined_stages(c)) {
    const auto [it, fresh] = term.try_emplace(s.phase, static_cast<int>(out.terms.size()));
    if (fresh) {
      out.formula.push_back({" + "});
      out.formula.push_back({s.phase, it->second});
      out.terms.push_back(s.phase);
    }
    if (out.parts.back().term == it->second)
      out.parts.back().end_s = s.end_s;
    else
      out.parts.push_back({it->second, s.begin_s, s.end_s});
  }
}

report::MotionPane tier_pane(const TierCourse& c, TierDrawing& drawing) {
  report::MotionPane out = named_pane(c.row);
  out.paths = drawing.paths_of(c);
  out.trips = pulses_of(c);
  add_phases(c, out);
  out.note = fmt::format("Fullest over the whole time: {}.", c.busiest);
  return out;
}

}  // namespace

report::Motion draw_tier_courses(const std::vector<TierCourse>& courses) {
  report::Motion out;
  if (courses.empty()) return out;
  const predict::Prediction& first = courses[0].row;
  TierDrawing drawing(courses);
  out.title = fmt::format("Watch it by tier: {} of {} over {} GPUs", collectives::name_of(first.call.op),
                          format_binary_size(count(first.size())), first.call.groups.size());
  out.description = "The tiers of the machine, and the mean load of all links between two of them.";
  for (const TierCourse& c : courses) out.panes.push_back(tier_pane(c, drawing));
  drawing.write(out);
  out.legend = {{"bytes between two tiers", report::colour::kCompute}};
  out.note =
      "A dot is a 48th of the time's traffic between two tiers, all devices together. The bar under the GPUs shows how "
      "much has arrived. The term that lights up is the phase of the schedule.";
  return out;
}

}  // namespace busbar::views
