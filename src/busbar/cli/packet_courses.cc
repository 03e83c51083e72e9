#include "busbar/cli/packet_courses.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/report/chart.h"
#include "busbar/report/style.h"

namespace busbar {
namespace {

constexpr std::size_t kCurves = 4;  // of one picture
constexpr int kCourseColours[] = {colour::kCompute, colour::kTp, colour::kDp, colour::kPp};
constexpr Duration kUsualInterval = Duration::us(10);

/// The numbers of the largest members, largest first; ties by number.
std::vector<std::size_t> largest(const std::vector<double>& of) {
  std::vector<std::size_t> order(of.size());
  for (std::size_t i = 0; i < of.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return of[a] > of[b]; });
  order.resize(std::min(order.size(), kCurves));
  std::erase_if(order, [&](std::size_t i) { return !(of[i] > 0); });
  return order;
}

/// Parallel cables have one name: "spine0->leaf0 (2)" is the second of them here.
void number_equal_names(std::vector<ChartSeries>& series) {
  std::map<std::string, int> all, seen;
  for (const ChartSeries& s : series) ++all[s.name];
  for (ChartSeries& s : series)
    if (const std::string name = s.name; all[name] > 1) s.name += fmt::format(" ({})", ++seen[name]);
}

Drawing course_chart(const char* title, const char* unit, std::vector<ChartSeries> series) {
  Chart c;
  c.title = title;
  c.description = "Curves over the time of the run.";
  c.x = {"time", AxisUnit::kSeconds};
  c.y = {unit};
  number_equal_names(series);
  for (std::size_t i = 0; i < series.size(); ++i) series[i].colour = kCourseColours[i % kCurves];
  c.series = std::move(series);
  return draw_chart(c);
}

}  // namespace

void PacketCourses::watch(PacketOptions& options) {
  if (options.series.every <= Duration()) options.series.every = kUsualInterval;
  options.series.look = [this, before = options.series.look](SimTime now, auto links, auto flows) {
    if (before) before(now, links, flows);
    take(now, links, flows);
  };
}

void PacketCourses::take(SimTime now, std::span<const PacketLinkSample> links,
                         std::span<const PacketFlowSample> flows) {
  if (seen_++ % every_ != 0) return;
  if (samples_.size() >= kMostSamples || entries_ > kMostEntries) thin();
  links_.resize(links.size());
  sent_.resize(links.size());
  Sample sample;
  sample.s = now.since_start().in_s();
  sample.length_s = sample.s - last_s_;
  last_s_ = sample.s;
  for (std::size_t l = 0; l < links.size(); ++l) {
    links_[l] = links[l].link;
    sample.sent.push_back(links[l].sent_bytes - sent_[l]);
    sample.queue.push_back(links[l].queue_bytes);
    sent_[l] = links[l].sent_bytes;
  }
  for (const PacketFlowSample& f : flows) sample.windows.emplace_back(f.flow, f.window_bytes);
  std::sort(sample.windows.begin(), sample.windows.end());
  entries_ += 2 * links.size() + flows.size();
  samples_.push_back(std::move(sample));
}

/// Joins samples in pairs: the sum of what was sent, the state of the second.
void PacketCourses::thin() {
  std::vector<Sample> kept;
  entries_ = 0;
  for (std::size_t i = 0; i + 1 < samples_.size(); i += 2) {
    Sample& a = samples_[i];
    Sample& b = samples_[i + 1];
    for (std::size_t l = 0; l < a.sent.size(); ++l) {
      b.sent[l] += a.sent[l];
      b.queue[l] = std::max(a.queue[l], b.queue[l]);
    }
    b.length_s += a.length_s;
    entries_ += 2 * b.sent.size() + b.windows.size();
    kept.push_back(std::move(b));
  }
  samples_ = std::move(kept);
  every_ *= 2;
}

std::vector<Drawing> PacketCourses::draw(const Topology& topology, std::span<const std::uint32_t> flows,
                                         const std::function<std::string(std::uint32_t)>& name_of) const {
  std::vector<double> queue(links_.size()), sent(links_.size());
  for (const Sample& s : samples_) {
    for (std::size_t l = 0; l < s.queue.size(); ++l) {
      queue[l] = std::max(queue[l], static_cast<double>(s.queue[l]));
      sent[l] += static_cast<double>(s.sent[l]);
    }
  }
  std::vector<ChartSeries> queues, rates, windows;
  for (const std::size_t l : largest(queue)) {
    ChartSeries one{topology.name(links_[l]), 0, {}, true, false};
    for (const Sample& s : samples_) one.points.push_back({s.s, static_cast<double>(s.queue[l]) / 1e3});
    queues.push_back(std::move(one));
  }
  for (const std::size_t l : largest(sent)) {
    ChartSeries one{topology.name(links_[l]), 0, {}, true, false};
    for (const Sample& s : samples_)
      if (s.length_s > 0) one.points.push_back({s.s, static_cast<double>(s.sent[l]) / s.length_s / 1e9});
    rates.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < std::min(flows.size(), kCurves); ++i) {
    ChartSeries one{"flow " + name_of(flows[i]), 0, {}, true, false};
    for (const Sample& s : samples_) {
      const auto at = std::lower_bound(s.windows.begin(), s.windows.end(), std::pair(flows[i], -1.0));
      if (at != s.windows.end() && at->first == flows[i]) one.points.push_back({s.s, at->second / 1e3});
    }
    if (one.points.size() > 1) windows.push_back(std::move(one));
  }
  std::vector<Drawing> out;
  out.push_back(course_chart("The longest queues", "queue (kB)", std::move(queues)));
  out.push_back(course_chart("The busiest links", "rate (GB/s)", std::move(rates)));
  out.push_back(course_chart("Windows of the slowest flows", "window (kB)", std::move(windows)));
  std::erase_if(out, [](const Drawing& d) { return d.shapes.empty(); });
  return out;
}

}  // namespace busbar
