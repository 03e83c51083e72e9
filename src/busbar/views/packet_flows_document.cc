#include "busbar/views/packet_flows_document.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "busbar/base/quantity.h"
#include "busbar/report/chart.h"
#include "busbar/report/style.h"
#include "busbar/views/flow_tables.h"
#include "busbar/views/packet_counts.h"
#include "busbar/views/topology_drawing.h"

namespace busbar::views {
namespace {

using questions::PacketCourses;
using questions::PacketFlowsRun;
using questions::parts_of;

constexpr std::size_t kCurves = 4;  // of one picture
constexpr int kCourseColours[] = {report::colour::kCompute, report::colour::kTp, report::colour::kDp,
                                  report::colour::kPp};

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
void number_equal_names(std::vector<report::ChartSeries>& series) {
  std::map<std::string, int> all, seen;
  for (const report::ChartSeries& s : series) ++all[s.name];
  for (report::ChartSeries& s : series)
    if (const std::string name = s.name; all[name] > 1) s.name += fmt::format(" ({})", ++seen[name]);
}

report::Drawing course_chart(const char* title, const char* unit, std::vector<report::ChartSeries> series) {
  report::Chart c;
  c.title = title;
  c.description = "Curves over the time of the run.";
  c.x = {"time", report::AxisUnit::kSeconds};
  c.y = {unit};
  number_equal_names(series);
  for (std::size_t i = 0; i < series.size(); ++i) series[i].colour = kCourseColours[i % kCurves];
  c.series = std::move(series);
  return report::draw_chart(c);
}

/// The longest queues, the busiest links and the windows of the slowest flows, over time; without samples: none.
std::vector<report::Drawing> draw_courses(const PacketFlowsRun& run) {
  const topology::Topology& topology = run.machine->topology;
  const std::vector<topology::LinkId>& links = run.courses.links();
  const auto& samples = run.courses.samples();
  const std::vector<std::uint32_t>& flows = run.by_fct;
  std::vector<double> queue(links.size()), sent(links.size());
  for (const PacketCourses::Sample& s : samples) {
    for (std::size_t l = 0; l < s.queue.size(); ++l) {
      queue[l] = std::max(queue[l], static_cast<double>(s.queue[l]));
      sent[l] += static_cast<double>(s.sent[l]);
    }
  }
  std::vector<report::ChartSeries> queues, rates, windows;
  for (const std::size_t l : largest(queue)) {
    report::ChartSeries one{topology.name(links[l]), 0, {}, true, false};
    for (const PacketCourses::Sample& s : samples) one.points.push_back({s.s, static_cast<double>(s.queue[l]) / 1e3});
    queues.push_back(std::move(one));
  }
  for (const std::size_t l : largest(sent)) {
    report::ChartSeries one{topology.name(links[l]), 0, {}, true, false};
    for (const PacketCourses::Sample& s : samples)
      if (s.length_s > 0) one.points.push_back({s.s, static_cast<double>(s.sent[l]) / s.length_s / 1e9});
    rates.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < std::min(flows.size(), kCurves); ++i) {
    report::ChartSeries one{"flow " + run.named.ids[flows[i]], 0, {}, true, false};
    for (const PacketCourses::Sample& s : samples) {
      const auto at = std::lower_bound(s.windows.begin(), s.windows.end(), std::pair(flows[i], -1.0));
      if (at != s.windows.end() && at->first == flows[i]) one.points.push_back({s.s, at->second / 1e3});
    }
    if (one.points.size() > 1) windows.push_back(std::move(one));
  }
  std::vector<report::Drawing> out;
  out.push_back(course_chart("The longest queues", "queue (kB)", std::move(queues)));
  out.push_back(course_chart("The busiest links", "rate (GB/s)", std::move(rates)));
  out.push_back(course_chart("Windows of the slowest flows", "window (kB)", std::move(windows)));
  std::erase_if(out, [](const report::Drawing& d) { return d.shapes.empty(); });
  return out;
}

report::Table slowest_packet_flows(const PacketFlowsRun& r) {
  report::Table slow{"Slowest flows: where the time went (us)", {report::to_left("flow"), "start", "fct"}};
  for (const auto& part : parts_of(r.result.flows[0])) slow.columns.push_back({part.first});
  slow.columns.push_back(report::to_left("held by"));
  for (std::size_t i = 0; i < std::min(kFlowRowsShown, r.by_fct.size()); ++i) {
    const packet::PacketOutcome& x = r.result.flows[r.by_fct[i]];
    std::vector<std::string> row{r.named.ids[r.by_fct[i]], format_number(x.start.since_start().in_us(), 4),
                                 format_number(x.fct.in_us(), 4)};
    for (const auto& part : parts_of(x)) row.push_back(format_number(part.second.in_us()));
    row.push_back(r.machine->topology.name(x.held_by));
    slow.rows.push_back(std::move(row));
  }
  slow.note = "For the packet that arrived last. held: at the sender, by windows, rates and other flows of the host.";
  return slow;
}

/// "1.29 ms at its sender": a part of a flow's time in a sentence.
std::string part_in_words(const std::string& part, Duration time) {
  const char* words = part == "serialisation"     ? "of sending"
                      : part == "queueing"        ? "in queues"
                      : part == "pause"           ? "in pauses (PFC)"
                      : part == "held"            ? "of waiting at its sender"
                      : part == "retransmission"  ? "of sending again"
                      : part == "acknowledgement" ? "for the last acknowledgement"
                                                  : "on the way";
  return format_duration(time.in_s()) + ' ' + words;
}

/// The flow that took longest, with the parts of its time that count.
report::Highlight slowest_words(const PacketFlowsRun& r) {
  constexpr double kCounts = 0.1;  // of the time
  const std::uint32_t f = r.by_fct.front();
  const packet::PacketOutcome& x = r.result.flows[f];
  std::vector<std::pair<const char*, Duration>> parts = parts_of(x);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const double times = x.fct.in_s() / x.alone.in_s();
  constexpr double kSame = 1.05;
  std::string text = fmt::format("Flow {} took longest: {}, ", r.named.ids[f], format_duration(x.fct.in_s()));
  text += times < kSame ? "hardly longer than alone" : fmt::format("{:.2g} times as long as alone", times);
  const char* before = ": ";
  for (const auto& [name, time] : parts) {
    if (time.in_s() < kCounts * x.fct.in_s()) continue;
    text += before + part_in_words(name, time);
    before = ", ";
  }
  const auto alike = std::count_if(r.result.flows.begin(), r.result.flows.end(),
                                   [&](const packet::PacketOutcome& other) { return other.held_by == x.held_by; });
  text += fmt::format(". It {} {}", times < kSame ? "is limited by" : "waited most for",
                      r.machine->topology.name(x.held_by));
  return {text + (alike > 1 ? fmt::format(", as {} of {} flows did.", alike, r.listed()) : ".")};
}

report::Table lanes_table(const std::vector<packet::PacketLane>& lanes) {
  report::Table out{"Lanes",
                    {"lane", "packets", "sent again", "marked", "trimmed", "dropped", "pauses", "paused (us)"}};
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const packet::PacketLane& x = lanes[l];
    out.rows.push_back({std::to_string(l), std::to_string(x.data), std::to_string(x.resent), std::to_string(x.marks),
                        std::to_string(x.trims), std::to_string(x.drops), std::to_string(x.pauses),
                        format_number(x.paused.in_us())});
  }
  out.note = "paused: sum over links.";
  return out;
}

}  // namespace

report::Document packet_flows_document(const questions::PacketFlowsResult& result) {
  const PacketFlowsRun& r = *result.run;
  const topology::Topology& t = r.machine->topology;
  const packet::PacketResult& x = r.result;
  report::Document d{fmt::format("{} flows on {}, packet by packet", r.listed(), result.cluster), {}, {}};
  d.add(report::Facts{
      d.title,
      {{"transport", fmt::format("{}, paths by {}, seed {}", result.transport, result.lb, result.seed)},
       {"last flow ends after", format_duration(r.last(&packet::PacketOutcome::fct).since_start().in_s())},
       {"flow completion time", fmt::format("{} us mean, {} us p99, {} us longest", format_number(r.mean_us(), 4),
                                            format_number(r.fct_us(0.99), 4), format_number(r.fct_us(1), 4))},
       {"packets",
        fmt::format("{} of data, {} acknowledgements; {} hops, {} events", x.data, x.acks, x.hops, x.events)},
       {"trouble", trouble_of(x)}}});
  d.add(slowest_words(r));
  if (result.times.many()) {
    d.add(draw_fct(result.times), report::Audience::kPage);
    d.add(fct_table(result.fct_by_size));
  }
  for (report::Drawing& course : draw_courses(r)) d.add(std::move(course), report::Audience::kPage);
  if (!result.jobs.empty()) d.add(jobs_table(result.jobs));
  d.add(slowest_packet_flows(r));
  report::Table links{
      "Fullest links",
      {report::to_left("link"), "MB", "in use (% of the time)", "queue p50 (kB)", "p99 (kB)", "max (kB)"}};
  for (std::size_t i = 0; i < std::min(kFlowRowsShown, r.busiest.size()); ++i) {
    const packet::PacketLink& l = r.busiest[i];
    const auto kb = [](std::uint64_t b) { return format_number(static_cast<double>(b) / 1e3); };
    links.rows.push_back({t.name(l.link), format_number(static_cast<double>(l.bytes) / 1e6),
                          format_number(r.use_percent(l)), kb(l.queue_p50), kb(l.queue_p99), kb(l.queue_max)});
  }
  d.add(links);
  LinkHeat heat{std::vector<double>(t.link_count(), 0.0), "until the last flow ends"};
  for (const packet::PacketLink& l : r.busiest) heat.load[index(l.link)] = r.use_percent(l) / 100;
  for (report::Drawing& picture : draw_loads(t, heat)) d.add(std::move(picture), report::Audience::kPage);
  if (!x.lanes.empty()) d.add(lanes_table(x.lanes));
  return d;
}

}  // namespace busbar::views
