#include "busbar/views/motion_machine.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "busbar/report/style.h"
#include "busbar/topology/tiers.h"

namespace busbar::views {
namespace {

using PartKind = topology::DeviceKind;

constexpr double kGpuHeight = 36, kThin = 24, kEdge = 10, kPad = 8, kFrameName = 22;
constexpr double kOneNodeGap = 96, kNodeGap = 56, kTierGap = 64;
constexpr double kLeastWidth = 340, kLeastLeaf = 48;  // room for "leaf12"

bool is_scale_up_switch(PartKind k) { return k == PartKind::kNvSwitch || k == PartKind::kSwitch; }
bool is_host_part(PartKind k) {
  return k == PartKind::kCpu || k == PartKind::kNuma || k == PartKind::kPcieSwitch || k == PartKind::kRootPort;
}

/// Used devices of a block by their part in the drawing.
struct BlockParts {
  std::vector<topology::DeviceId> gpus, nics, switches, host;
  bool direct = false;  ///< links from GPU to GPU
};

BlockParts parts_of_block(const topology::Topology& t, topology::BlockId id, const std::vector<bool>& used) {
  BlockParts out;
  const topology::Block& block = t.blocks()[index(id)];
  for (std::uint32_t p = 0; p < block.device_count; ++p) {
    const auto d = static_cast<topology::DeviceId>(block.first_device + p);
    if (!used[index(d)]) continue;
    const PartKind k = t.kind(d);
    if (k == PartKind::kGpu) out.gpus.push_back(d);
    if (k == PartKind::kNic) out.nics.push_back(d);
    if (is_scale_up_switch(k)) out.switches.push_back(d);
    if (is_host_part(k)) out.host.push_back(d);
    for (const topology::LinkId l : t.out_links(d))
      out.direct |= k == PartKind::kGpu && t.kind(t.to(l)) == PartKind::kGpu;
  }
  return out;
}

report::Shape node_frame(double x, double y, double w, double h) {
  report::Shape s{report::Shape::Kind::kRect, x, y, w, h, report::colour::kFrame};
  s.radius = 6;
  return s;
}

report::Shape node_name(double x, double y, std::string words) {
  report::Shape s{report::Shape::Kind::kText, x, y, 0, 0, report::colour::kMuted};
  s.text = std::move(words);
  s.anchor = report::Anchor::kStart;
  return s;
}

double middle(const report::MotionBox& b) { return b.x + b.w / 2; }

/// Between two boxes: upright if one is above the other, otherwise from middle to middle.
report::MotionLine straight_line(const report::MotionBox& a, const report::MotionBox& b) {
  const bool down = a.y + a.h <= b.y, up = b.y + b.h <= a.y;
  if (!down && !up) return {middle(a), a.y + a.h / 2, middle(b), b.y + b.h / 2};
  const report::MotionBox& narrow = a.w <= b.w ? a : b;
  const report::MotionBox& wide = a.w <= b.w ? b : a;
  const bool over = wide.x <= middle(narrow) && middle(narrow) <= wide.x + wide.w;
  const double x = over ? middle(narrow) : middle(a), to_x = over ? x : middle(b);
  return {x, down ? a.y + a.h : a.y, to_x, down ? b.y : b.y + b.h};
}

}  // namespace

MotionMachine::MotionMachine(const std::vector<questions::CollectiveCourse>& courses,
                             const topology::Topology& topology)
    : t_(topology) {
  find_used(courses);
  std::vector<topology::BlockId> blocks;
  std::size_t gpus = 0;
  bool nics = false;
  for (std::uint32_t d = 0; d < used_.size(); ++d) {
    const auto device = static_cast<Device>(d);
    if (!used_[d]) continue;
    gpus += t_.kind(device) == PartKind::kGpu ? 1 : 0;
    nics |= t_.kind(device) == PartKind::kNic;
    const topology::BlockId b = t_.block_of(device);
    if (b != kNone<topology::BlockId> && (blocks.empty() || blocks.back() != b)) blocks.push_back(b);
  }
  gpu_width_ = gpus <= 8 ? 34 : gpus <= 16 ? 26 : 18;
  gap_ = gpus <= 16 ? 6 : 2;
  place_fabric_rows();
  const bool frames = blocks.size() > 1;
  if (frames) gpu_y_ = nic_y_ += kPad;
  if (nics) gpu_y_ = nic_y_ + kThin + kNodeGap;
  switch_y_ = gpu_y_ + kGpuHeight + (frames ? kNodeGap : kOneNodeGap);
  x_ = kEdge;
  for (const topology::BlockId b : blocks) place_block(b, frames);
  place_fabric();
  for (std::uint32_t l = 0; l < t_.link_count(); ++l) {
    const auto link = static_cast<topology::LinkId>(l);
    const std::uint32_t a = box_of_[index(t_.from(link))], b = box_of_[index(t_.to(link))];
    if (a != kNone32 && b != kNone32 && a != b) rates_[{a, b}] += t_.payload_rate(link);
  }
}

void MotionMachine::find_used(const std::vector<questions::CollectiveCourse>& courses) {
  used_.assign(t_.device_count(), false);
  box_of_.assign(t_.device_count(), kNone32);
  for (const questions::CollectiveCourse& c : courses) {
    for (const questions::CourseEnds& e : c.ends)
      for (const Device d : {e.from, e.to})
        if (d != kNone<Device>) used_[index(d)] = true;
    for (const engine::MessageLink& l : c.ways.values)
      used_[index(t_.from(l.link))] = used_[index(t_.to(l.link))] = true;
  }
}

std::uint32_t MotionMachine::add_box(report::MotionBox box, const std::vector<Device>& devices) {
  const auto number = static_cast<std::uint32_t>(boxes_.size());
  for (const Device d : devices) box_of_[index(d)] = number;
  bottom_ = std::max(bottom_, box.y + box.h);
  boxes_.push_back(std::move(box));
  return number;
}

void MotionMachine::add_gpu(Device d, double x, double y) {
  const auto all = t_.gpus();
  const auto rank = std::find(all.begin(), all.end(), d) - all.begin();
  add_box({x, y, gpu_width_, kGpuHeight, std::to_string(rank), report::colour::kGpu, t_.name(d), true}, {d});
}

/// GPUs that link straight to each other stand in a circle.
double MotionMachine::place_ring(const std::vector<Device>& gpus, double left) {
  const auto n = static_cast<double>(gpus.size());
  const double radius = std::max(90.0, n * (gpu_width_ + 12) / (2 * std::numbers::pi));
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / n;
    add_gpu(gpus[i], left + radius * (1 + std::sin(turn)), gpu_y_ + radius * (1 - std::cos(turn)));
  }
  return 2 * radius + gpu_width_;
}

double MotionMachine::place_row(const std::vector<Device>& gpus, double left) {
  double x = left;
  for (const Device d : gpus) {
    add_gpu(d, x, gpu_y_);
    x += gpu_width_ + gap_;
  }
  return x - gap_ - left;
}

void MotionMachine::place_block(topology::BlockId id, bool framed) {
  const BlockParts parts = parts_of_block(t_, id, used_);
  const double left = x_ + (framed ? kPad : 0);
  const bool ring = parts.direct && parts.switches.empty();
  const double width = ring ? place_ring(parts.gpus, left) : place_row(parts.gpus, left);
  const double each = width / static_cast<double>(std::max<std::size_t>(1, parts.nics.size()));
  for (std::size_t i = 0; i < parts.nics.size(); ++i) {
    const double w = std::min(each - 2, gpu_width_);
    add_box({left + each * (static_cast<double>(i) + 0.5) - w / 2, nic_y_, w, kThin,
             w >= 26 ? fmt::format("n{}", i) : "", report::colour::kNic, t_.name(parts.nics[i])},
            {parts.nics[i]});
  }
  if (!parts.switches.empty())
    add_box({left, switch_y_, width, kThin, switch_words(parts.switches), report::colour::kSwitch}, parts.switches);
  else if (!ring && !parts.host.empty())
    add_box({left, switch_y_, width, kThin, width > 90 ? "PCIe and CPU" : "PCIe", report::colour::kCpu}, parts.host);
  if (framed) {
    frames_.push_back(node_frame(x_, nic_y_ - kPad, width + 2 * kPad, bottom_ + kFrameName - nic_y_ + kPad));
    frames_.push_back(node_name(left, bottom_ + kFrameName / 2 + 1, fmt::format("node{}", index(id))));
  }
  x_ = left + width + (framed ? 2 * kPad + 6 : 0);
}

std::string MotionMachine::switch_words(const std::vector<Device>& switches) const {
  const std::string name = t_.kind(switches[0]) == PartKind::kNvSwitch ? "NVSwitch" : "switch";
  return switches.size() == 1 ? name : fmt::format("{} {}es", switches.size(), name);
}

void MotionMachine::place_fabric_rows() {
  const std::vector<std::uint8_t> tiers =
      t_.fabric_switches().empty() ? std::vector<std::uint8_t>() : topology::switch_tiers(t_);
  for (const Device d : t_.fabric_switches())
    if (used_[index(d)]) fabric_[tiers[index(d)]].push_back(d);
  gpu_y_ = nic_y_ = kEdge + static_cast<double>(fabric_.size()) * (kThin + kTierGap);
}

void MotionMachine::place_fabric() {
  const double width = std::max(x_, kLeastWidth) - 2 * kEdge;
  double y = nic_y_ - (frames_.empty() ? 0 : kPad);
  for (const auto& [tier, switches] : fabric_) {
    y -= kThin + kTierGap;
    const int colour = tier == 1 ? report::colour::kLeaf : report::colour::kSpine;
    const double each = width / static_cast<double>(switches.size());
    if (tier > 1 || each < kLeastLeaf) {
      add_box(
          {kEdge, y, width, kThin, fmt::format("{} {} switches", switches.size(), topology::tier_name(tier)), colour},
          switches);
      continue;
    }
    for (std::size_t i = 0; i < switches.size(); ++i)
      add_box({kEdge + each * static_cast<double>(i) + 3, y, each - 6, kThin, t_.name(switches[i]), colour},
              {switches[i]});
  }
}

/// Its line, drawn once for both directions; the first of them is that of `a`.
std::uint32_t MotionMachine::direction(std::uint32_t a, std::uint32_t b) {
  if (const auto found = line_of_.find({a, b}); found != line_of_.end()) return found->second;
  const auto line = static_cast<std::uint32_t>(lines_.size());
  lines_.push_back(straight_line(boxes_[a], boxes_[b]));
  const auto name = [&](std::uint32_t i) { return boxes_[i].tip.empty() ? boxes_[i].label : boxes_[i].tip; };
  lines_.back().tip = name(a) + " - " + name(b);
  line_of_[{a, b}] = 2 * line;
  line_of_[{b, a}] = 2 * line + 1;
  return 2 * line;
}

report::MotionPath MotionMachine::path(const questions::CourseEnds& ends, std::span<const engine::MessageLink> links) {
  struct Step {
    std::uint32_t a, b;
    double share;
  };
  std::vector<Step> steps;
  report::MotionPath out;
  std::uint32_t from = kNone32;
  double rate = INFINITY;
  for (const engine::MessageLink& l : links) {
    const std::uint32_t a = box_of_[index(t_.from(l.link))], b = box_of_[index(t_.to(l.link))];
    if (a != kNone32) from = a, rate = INFINITY;
    rate = std::min(rate, t_.payload_rate(l.link));
    if (b == kNone32 || b == from || from == kNone32) continue;
    if (a == kNone32) rates_[{from, b}] = std::max(rates_[{from, b}], rate);
    const auto same = std::find_if(steps.begin(), steps.end(), [&](const Step& s) { return s.a == from && s.b == b; });
    if (same == steps.end())
      steps.push_back({from, b, l.share});
    else
      same->share += l.share;
  }
  for (const Step& s : steps) out.lines.emplace_back(direction(s.a, s.b), s.share);
  const std::uint32_t first = ends.from != kNone<Device> ? box_of_[index(ends.from)] : steps.empty() ? 0 : steps[0].a;
  std::uint32_t at = first;
  for (const Step& s : steps) {  // of ways that part, the first
    if (s.a != at) continue;
    const report::MotionLine& l = lines_[direction(s.a, s.b) / 2];
    const bool back = direction(s.a, s.b) % 2 == 1;
    out.points.push_back(back ? report::Point{l.to_x, l.to_y} : report::Point{l.x, l.y});
    out.points.push_back(back ? report::Point{l.x, l.y} : report::Point{l.to_x, l.to_y});
    at = s.b;
  }
  if (out.points.empty()) out.points.assign(2, {middle(boxes_[first]), boxes_[first].y});
  if (ends.to != kNone<Device>) out.to = box_of_[index(ends.to)];
  return out;
}

void MotionMachine::write(report::Motion& out) const {
  out.width = std::max(x_ + kEdge, kLeastWidth);
  out.height = bottom_ + kEdge + (frames_.empty() ? 0 : kFrameName);
  out.boxes = boxes_;
  out.frames = frames_;
  out.lines = lines_;
  const auto rate = [&](std::uint32_t a, std::uint32_t b) {
    const auto found = rates_.find({a, b});
    return found == rates_.end() ? 0.0 : found->second;
  };
  for (const auto& [ends, direction] : line_of_)
    (direction % 2 == 0 ? out.lines[direction / 2].rate : out.lines[direction / 2].rate_back) =
        rate(ends.first, ends.second);
}

}  // namespace busbar::views
