#include "busbar/views/money_flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/cost/money.h"
#include "busbar/questions/bound_by.h"
#include "busbar/report/style.h"
#include "busbar/views/step_parts.h"

namespace busbar::views {
namespace {

constexpr double kFlowTop = 24, kFullHeight = 260, kBoxGap = 22, kStopWidth = 14;
constexpr double kColumns[] = {190, 560, 900};  // left edges of the boxes
constexpr double kLeast = 0.003;                // of all that waits: thinner bands are left out

/// A box of one column, and how much of it the bands have taken.
struct FlowBox {
  std::string name;
  int colour = report::colour::kOther;
  double s = 0;  ///< waiting time in a step
  double y = 0, left = 0, entered = 0;
};

struct Band {
  std::size_t from = 0, to = 0;  ///< boxes of the first and the second column
  double s = 0;
};

std::string bound_link(const lowering::Bound& b, const topology::Topology& t) {
  if (b.link == kNone<topology::LinkId>) return "other ranks";
  return fmt::format("{} ({}), {}", questions::brand_of(t.link_class(b.link)), questions::part_of(t, b.link),
                     b.kind == lowering::BoundKind::kBandwidth ? "bandwidth" : "latency");
}

class FlowPicture {
 public:
  explicit FlowPicture(const step::TrainRun& run) : run_(run) {
    for (const step::CallUse& u : run.step.calls) {
      if (u.exposed <= Duration()) continue;
      const std::string key = std::string("exposed_") + program::name_of(u.cls);
      const double s = u.exposed.in_s();
      add(box_of(purposes_, std::string(words_of_part(key)), colour_of(key), s),
          box_of(links_, bound_link(u.bound, run.cluster().topology), report::colour::kNic, s), s);
      all_s_ += s;
    }
  }

  report::Drawing draw() {
    report::Drawing d;
    if (all_s_ <= 0) return d;
    const bool priced = run_.cost.usd_per_day > 0;
    d.title =
        priced ? "What waiting costs a day, by purpose and by link" : "What GPUs wait for, by purpose and by link";
    d.description =
        "Bands from purposes of communication to the links that bound it; the table of communication has the calls.";
    d.note = "Exposed communication of the critical stage; a band is as wide as what it costs.";
    d.width = report::kDrawingWidth;
    d.height = kFlowTop + kFullHeight + kBoxGap * static_cast<double>(std::max(purposes_.size(), links_.size()));
    place(purposes_);
    place(links_);
    FlowBox whole{words(all_s_), report::colour::kFloor, all_s_, 0};
    whole.y = kFlowTop + (d.height - kFlowTop - height(all_s_)) / 2;
    for (const Band& b : bands_) draw_band(purposes_[b.from], links_[b.to], 0, b.s, purposes_[b.from].colour, d);
    for (FlowBox& l : links_) l.left = 0;
    for (FlowBox& l : links_) draw_band(l, whole, 1, l.s, report::colour::kOther, d);
    for (const FlowBox& p : purposes_) draw_box(p, 0, p.name + ", " + words(p.s), d);
    for (const FlowBox& l : links_) draw_box(l, 1, l.name + ", " + words(l.s), d);
    draw_box(whole, 2, words(all_s_) + (priced ? " a day" : " a step"), d);
    return d;
  }

 private:
  static int colour_of(const std::string& key) {
    for (const StepPart& p : step_parts())
      if (key == p.key) return p.colour;
    return report::colour::kOther;
  }

  static std::size_t box_of(std::vector<FlowBox>& boxes, const std::string& name, int colour, double s) {
    auto at = std::find_if(boxes.begin(), boxes.end(), [&](const FlowBox& b) { return b.name == name; });
    if (at == boxes.end()) at = boxes.insert(boxes.end(), FlowBox{name, colour});
    at->s += s;
    return static_cast<std::size_t>(at - boxes.begin());
  }

  void add(std::size_t from, std::size_t to, double s) {
    const auto at =
        std::find_if(bands_.begin(), bands_.end(), [&](const Band& b) { return b.from == from && b.to == to; });
    if (at == bands_.end())
      bands_.push_back({from, to, s});
    else
      at->s += s;
  }

  double height(double s) const { return kFullHeight * s / all_s_; }
  std::string words(double s) const {
    const double usd = run_.cost.usd_per_day * s / run_.step.step_time.in_s();
    return usd > 0 ? cost::format_money(usd) : format_duration(s);
  }

  void place(std::vector<FlowBox>& boxes) const {
    double y = kFlowTop;
    for (FlowBox& b : boxes) {
      b.y = y;
      y += height(b.s) + kBoxGap;
    }
  }

  void draw_band(FlowBox& from, FlowBox& to, int column, double s, int colour, report::Drawing& d) const {
    const double x0 = kColumns[column] + kStopWidth, x1 = kColumns[column + 1], h = height(s);
    const double y0 = from.y + std::exchange(from.left, from.left + h),
                 y1 = to.y + std::exchange(to.entered, to.entered + h);
    if (s < kLeast * all_s_) return;
    report::Shape band{report::Shape::Kind::kPolygon};
    band.colour = colour;
    band.opacity = 0.45;
    band.text = fmt::format("{} to {}: {}", from.name, to.name, words(s));
    constexpr int kPieces = 20;
    for (int side = 0; side < 2; ++side)
      for (int i = 0; i <= kPieces; ++i) {
        const double part = static_cast<double>(side == 0 ? i : kPieces - i) / kPieces;
        const double smooth = part * part * (3 - 2 * part);
        band.points.emplace_back(x0 + (x1 - x0) * part, y0 + (y1 - y0) * smooth + (side == 0 ? 0 : h));
      }
    d.shapes.push_back(std::move(band));
  }

  void draw_box(const FlowBox& b, int column, const std::string& text, report::Drawing& d) const {
    report::Shape box{report::Shape::Kind::kRect, kColumns[column], b.y, kStopWidth, std::max(1.0, height(b.s))};
    box.colour = b.colour;
    box.text = text;
    d.shapes.push_back(std::move(box));
    report::Shape label{report::Shape::Kind::kText};
    label.x = column == 0 ? kColumns[0] - 8 : column == 1 ? kColumns[1] : kColumns[2] + kStopWidth + 8;
    label.y = column == 1 ? b.y - 9 : b.y + height(b.s) / 2;  // bands cross the middle
    label.anchor = column == 0 ? report::Anchor::kEnd : report::Anchor::kStart;
    label.colour = report::colour::kInk;
    label.text = text;
    d.shapes.push_back(std::move(label));
  }

  const step::TrainRun& run_;
  std::vector<FlowBox> purposes_, links_;
  std::vector<Band> bands_;
  double all_s_ = 0;
};

}  // namespace

report::Drawing draw_money_flow(const step::TrainRun& run) { return FlowPicture(run).draw(); }

}  // namespace busbar::views
