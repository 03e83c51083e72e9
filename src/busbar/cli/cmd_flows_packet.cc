#include "busbar/cli/cmd_flows_packet.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/flow_times.h"
#include "busbar/cli/json_rows.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/packet_options.h"
#include "busbar/packet/packet_list.h"
#include "busbar/predict/packet_words.h"
#include "busbar/report/chart.h"
#include "busbar/report/document.h"
#include "busbar/report/style.h"
#include "busbar/step/machine.h"
#include "busbar/topology/topology.h"

namespace busbar {
namespace {

/// Collects samples of a run for charts. Of long runs it keeps every second, fourth, ... sample: at most kMostSamples.
class PacketCourses {
 public:
  /// Makes a run with `options` report here, in addition to its other observers. It must outlive the run.
  void watch(PacketOptions& options);
  /// The longest queues, the busiest links and the windows of `flows`, over time; without samples: none. `name_of`: the
  /// id of a flow.
  std::vector<Drawing> draw(const Topology& topology, std::span<const std::uint32_t> flows,
                            const std::function<std::string(std::uint32_t)>& name_of) const;

 private:
  static constexpr std::size_t kMostSamples = 1024, kMostEntries = std::size_t{1} << 23;
  struct Sample {
    double s = 0, length_s = 0;
    std::vector<std::uint64_t> sent, queue;  ///< per wire; sent: since the sample before
    std::vector<std::pair<std::uint32_t, double>> windows;
  };
  void take(SimTime now, std::span<const PacketLinkSample> links, std::span<const PacketFlowSample> flows);
  void thin();

  std::vector<LinkId> links_;
  std::vector<std::uint64_t> sent_;  ///< per wire, at the last kept sample
  std::vector<Sample> samples_;
  double last_s_ = 0;
  std::size_t every_ = 1, seen_ = 0, entries_ = 0;
};

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

/// The result of a flow list.
struct PacketReport {
  std::string cluster;
  NamedFlows named;
  PacketOptions options;
  PacketResult result;
  std::size_t done = 0;               ///< with work
  std::vector<std::uint32_t> by_fct;  ///< flows that have ended, without work, slowest first
  std::vector<PacketLink> busiest;    ///< most bytes per rate first

  double fct_us(double quantile) const {
    const auto at = static_cast<std::size_t>((1 - quantile) * static_cast<double>(by_fct.size() - 1));
    return result.flows[by_fct[at]].fct.in_us();
  }
  std::size_t listed() const { return result.flows.size() - result.background; }
  /// The time at which the last of the listed flows had `what`.
  SimTime last(Duration PacketOutcome::*what) const {
    SimTime end;
    for (std::size_t f = 0; f < listed(); ++f)
      if (result.flows[f].done) end = std::max(end, result.flows[f].start + result.flows[f].*what);
    return end;
  }
  Json jobs() const {
    return jobs_json(named, [this](std::size_t f) {
      const PacketOutcome& x = result.flows[f];
      return x.done ? (x.start.since_start() + x.received).in_us() : -1;
    });
  }
  FlowTimes times() const {
    std::vector<TimedFlow> out;
    for (const std::uint32_t f : by_fct) {
      const PacketOutcome& x = result.flows[f];
      out.push_back({count(named.list.flows[f].bytes), x.fct.in_us(), x.fct.in_us() / x.alone.in_us()});
    }
    return FlowTimes(std::move(out));
  }
  double background_mean_us() const {
    double sum = 0, ended = 0;
    for (std::size_t f = listed(); f < result.flows.size(); ++f) {
      sum += result.flows[f].fct.in_us();
      ended += result.flows[f].done ? 1 : 0;
    }
    return ended > 0 ? sum / ended : 0;
  }
  double mean_us() const {
    double sum = 0;
    for (const std::uint32_t f : by_fct) sum += result.flows[f].fct.in_us();
    return sum / static_cast<double>(by_fct.size());
  }
};

double busy(const PacketLink& l, const Topology& t) {
  return static_cast<double>(l.bytes) / static_cast<double>(per_second(t.link_class(l.link).floor_rate()));
}

void rank(PacketReport& r, const Topology& t) {
  for (std::uint32_t f = 0; f < r.listed(); ++f) r.done += r.result.flows[f].done ? 1 : 0;
  for (std::uint32_t f = 0; f < r.listed(); ++f)
    if (r.result.flows[f].done && !r.named.list.flows[f].is_work()) r.by_fct.push_back(f);
  std::stable_sort(r.by_fct.begin(), r.by_fct.end(),
                   [&](auto a, auto b) { return r.result.flows[a].fct > r.result.flows[b].fct; });
  r.busiest = r.result.links;
  std::stable_sort(r.busiest.begin(), r.busiest.end(),
                   [&](const PacketLink& a, const PacketLink& b) { return busy(a, t) > busy(b, t); });
}

/// The parts with their names; they sum to the flow's time.
std::vector<std::pair<const char*, Duration>> parts_of(const PacketOutcome& f) {
  const PacketParts& p = f.parts;
  return {{"serialisation", p.serialisation},
          {"propagation", p.propagation},
          {"queueing", p.queueing},
          {"pause", p.pause},
          {"held", p.held},
          {"retransmission", p.retransmission},
          {"acknowledgement", p.acknowledgement}};
}

Json flow_json(const PacketReport& r, std::uint32_t f, const Topology& t) {
  const PacketOutcome& x = r.result.flows[f];
  const std::uint64_t bytes = count(r.named.list.flows[f].bytes);
  if (!x.done) return Json{{"id", r.named.ids[f]}, {"bytes", bytes}, {"fct_us", nullptr}};
  Json parts;
  for (const auto& [name, time] : parts_of(x)) parts[name] = time.in_us();
  Json j{{"id", r.named.ids[f]},
         {"bytes", bytes},
         {"start_us", x.start.since_start().in_us()},
         {"fct_us", x.fct.in_us()},
         {"received_us", x.received.in_us()},
         {"slowdown", x.fct.in_us() / x.alone.in_us()},
         {"parts_us", std::move(parts)}};
  if (x.resent > 0) j["resent"] = x.resent;
  j["held_by"] = x.held_by == kNone<LinkId> ? Json() : Json(t.name(x.held_by));
  return j;
}

Json link_json(const PacketLink& l, const Topology& t, SimTime end) {
  Json j{{"link", t.name(l.link)},
         {"bytes", l.bytes},
         {"mean_use_percent", 100 * busy(l, t) / end.since_start().in_s()},
         {"queue_bytes", {{"p50", l.queue_p50}, {"p99", l.queue_p99}, {"max", l.queue_max}}}};
  if (l.marks > 0) j["marks"] = l.marks;
  if (l.trims > 0) j["trims"] = l.trims;
  if (l.drops > 0) j["drops"] = l.drops;
  if (l.pauses > 0) j["pauses"] = l.pauses;
  if (l.paused > Duration()) j["paused_us"] = l.paused.in_us();
  return j;
}

Json lanes_json(const std::vector<PacketLane>& lanes) {
  Json out = Json::array();
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const PacketLane& x = lanes[l];
    out.push_back({{"lane", l},
                   {"data", x.data},
                   {"resent", x.resent},
                   {"trimmed", x.trims},
                   {"dropped", x.drops},
                   {"marked", x.marks},
                   {"pauses", x.pauses},
                   {"paused_us", x.paused.in_us()}});
  }
  return out;
}

/// Several threads need a few more events, so the count belongs to the run, not to the result.
Json events_json(const PacketResult& x) {
  return {{"events", x.events},
          {"events_per_hop", static_cast<double>(x.events) / static_cast<double>(std::max<std::uint64_t>(1, x.hops))}};
}

Json to_json(const CommonOptions& common, const PacketFlowsRequest& o, const PacketReport& r, const Cluster& c) {
  const PacketResult& x = r.result;
  Json j{{"schema", "busbar.flows/1"},
         {"cluster", r.cluster},
         {"engine", common.engine},
         {"transport", o.packets.transport},
         {"lb", o.packets.lb},
         {"seed", r.options.seed},
         {"inputs_hash", inputs_hash(common, c.text)},
         {"makespan_us", r.last(&PacketOutcome::fct).since_start().in_us()},
         {"received_us", r.last(&PacketOutcome::received).since_start().in_us()},
         {"fct_us",
          {{"min", r.fct_us(0)},
           {"mean", r.mean_us()},
           {"p50", r.fct_us(0.5)},
           {"p99", r.fct_us(0.99)},
           {"max", r.fct_us(1)}}},
         {"packet_hops", x.hops},
         {"packets", to_json(static_cast<const PacketCounts&>(x))},
         {"lanes", lanes_json(x.lanes)},
         {"settings", questions::settings_json(x.settings)},
         {"flows_done", r.done},
         {"complete", r.done == r.listed()},
         {"digest", fmt::format("{:016x}", x.digest)}};
  if (!c.assumptions.empty()) j["assumptions"] = c.assumptions;
  if (!o.extras.fault.empty()) j["faults"] = o.extras.fault;
  if (x.background > 0) j["background"] = {{"flows", x.background}, {"mean_fct_us", r.background_mean_us()}};
  if (!x.stuck.empty()) j["stuck"] = x.stuck;
  r.times().add_to(j);
  if (!r.named.jobs.empty()) j["jobs"] = r.jobs();
  j["flows"] = nullptr;  // deliver_rows() fills this in
  Json links = Json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(o.links, r.busiest.size()); ++i)
    links.push_back(link_json(r.busiest[i], c.topology, x.end));
  j["links"] = std::move(links);
  j["links_used"] = x.links.size();
  return j;
}

Table slowest_flows(const PacketReport& r, const Topology& t) {
  Table slow{"Slowest flows: where the time went (us)", {to_left("flow"), "start", "fct"}};
  for (const auto& part : parts_of(r.result.flows[0])) slow.columns.push_back({part.first});
  slow.columns.push_back(to_left("held by"));
  for (std::size_t i = 0; i < std::min(kRowsShown, r.by_fct.size()); ++i) {
    const PacketOutcome& x = r.result.flows[r.by_fct[i]];
    std::vector<std::string> row{r.named.ids[r.by_fct[i]], format_number(x.start.since_start().in_us(), 4),
                                 format_number(x.fct.in_us(), 4)};
    for (const auto& part : parts_of(x)) row.push_back(format_number(part.second.in_us()));
    row.push_back(t.name(x.held_by));
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
Highlight slowest_words(const PacketReport& r, const Topology& t) {
  constexpr double kCounts = 0.1;  // of the time
  const std::uint32_t f = r.by_fct.front();
  const PacketOutcome& x = r.result.flows[f];
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
                                   [&](const PacketOutcome& other) { return other.held_by == x.held_by; });
  text += fmt::format(". It {} {}", times < kSame ? "is limited by" : "waited most for", t.name(x.held_by));
  return {text + (alike > 1 ? fmt::format(", as {} of {} flows did.", alike, r.listed()) : ".")};
}

Table lanes_table(const std::vector<PacketLane>& lanes) {
  Table out{"Lanes", {"lane", "packets", "sent again", "marked", "trimmed", "dropped", "pauses", "paused (us)"}};
  for (std::size_t l = 0; l < lanes.size(); ++l) {
    const PacketLane& x = lanes[l];
    out.rows.push_back({std::to_string(l), std::to_string(x.data), std::to_string(x.resent), std::to_string(x.marks),
                        std::to_string(x.trims), std::to_string(x.drops), std::to_string(x.pauses),
                        format_number(x.paused.in_us())});
  }
  out.note = "paused: sum over links.";
  return out;
}

Document to_document(const CommonOptions& common, const PacketFlowsRequest& o, const PacketReport& r,
                     const PacketCourses& courses, const Topology& t) {
  const PacketResult& x = r.result;
  Document d{fmt::format("{} flows on {}, packet by packet", r.listed(), r.cluster), common.typed, {}};
  d.add(
      Facts{d.title,
            {{"transport", fmt::format("{}, paths by {}, seed {}", o.packets.transport, o.packets.lb, r.options.seed)},
             {"last flow ends after", format_duration(r.last(&PacketOutcome::fct).since_start().in_s())},
             {"flow completion time", fmt::format("{} us mean, {} us p99, {} us longest", format_number(r.mean_us(), 4),
                                                  format_number(r.fct_us(0.99), 4), format_number(r.fct_us(1), 4))},
             {"packets",
              fmt::format("{} of data, {} acknowledgements; {} hops, {} events", x.data, x.acks, x.hops, x.events)},
             {"trouble", trouble_of(x)}}});
  d.add(slowest_words(r, t));
  if (const FlowTimes times = r.times(); times.many()) {
    d.add(times.draw(), Audience::kPage);
    d.add(times.table());
  }
  for (Drawing& course : courses.draw(t, r.by_fct, [&](std::uint32_t f) { return r.named.ids[f]; }))
    d.add(std::move(course), Audience::kPage);
  if (!r.named.jobs.empty()) d.add(jobs_table(r.jobs()));
  d.add(slowest_flows(r, t));
  Table links{"Fullest links",
              {to_left("link"), "MB", "in use (% of the time)", "queue p50 (kB)", "p99 (kB)", "max (kB)"}};
  for (std::size_t i = 0; i < std::min(kRowsShown, r.busiest.size()); ++i) {
    const PacketLink& l = r.busiest[i];
    const auto kb = [](std::uint64_t b) { return format_number(static_cast<double>(b) / 1e3); };
    links.rows.push_back({t.name(l.link), format_number(static_cast<double>(l.bytes) / 1e6),
                          format_number(100 * busy(l, t) / x.end.since_start().in_s()), kb(l.queue_p50),
                          kb(l.queue_p99), kb(l.queue_max)});
  }
  d.add(links);
  if (!x.lanes.empty()) d.add(lanes_table(x.lanes));
  return d;
}

Status check_lanes(const NamedFlows& named, const PacketOptions& options, const std::string& file) {
  const std::size_t lanes = std::max<std::size_t>(1, options.lanes.size());
  for (std::size_t f = 0; f < named.ids.size(); ++f)
    if (named.list.flows[f].lane >= lanes)
      return invalid(
          fmt::format(
              "flow {} uses lane {}, but the number of lanes is {}; give each lane a weight, for example --lanes 3,1",
              named.ids[f], named.list.flows[f].lane, lanes),
          {file, 0, 0, "lane"});
  return {};
}

}  // namespace

Result<int> run_packet_flows(const CommonOptions& common, const PacketFlowsRequest& request) {
  PacketFlowsRequest o = request;
  BUSBAR_ASSIGN(Cluster cluster, load_machine(o.fabric, without_packets(common.overrides)));
  BUSBAR_ASSIGN(PacketOptions options, read_packets(o.packets, o.extras, o.seed, cluster, common.overrides));
  const Router router(cluster.topology, RoutingPolicy::kStatic, options.seed);
  BUSBAR_ASSIGN(NamedFlows named, read_flows(o.source, cluster, router, options.seed, common.overrides.catalog));
  BUSBAR_RETURN_IF_ERROR(check_lanes(named, options, o.source.file));
  LongRun long_run("flows");
  PacketWatch watch(o.watch, named, cluster.topology);
  BUSBAR_RETURN_IF_ERROR(watch.watch(options));
  PacketCourses courses;
  if (!common.html.empty()) courses.watch(options);
  BUSBAR_ASSIGN(PacketResult result, run_packet_list(router, named.list, options));
  BUSBAR_RETURN_IF_ERROR(watch.write());
  const bool partial = result.done < result.flows.size();
  const std::size_t listed = result.flows.size() - result.background;
  const auto listed_done = static_cast<std::size_t>(
      std::count_if(result.flows.begin(), result.flows.begin() + static_cast<std::ptrdiff_t>(listed),
                    [](const auto& f) { return f.done; }));
  const int status = long_run.status(partial ? 1 : 0);
  if (partial)
    say(fmt::format("stopped: {} of {} flows have ended{}{}", listed_done, listed, result.stuck.empty() ? "" : "; ",
                    result.stuck));
  if (listed_done == 0) return status;
  PacketReport r;
  r.cluster = cluster.name;
  r.named = std::move(named);
  r.options = options;
  r.result = std::move(result);
  rank(r, cluster.topology);
  if (!o.cdf.empty()) BUSBAR_RETURN_IF_ERROR(r.times().write_csv(o.cdf));
  Json j = to_json(common, o, r, cluster);
  j["run"] = common.clock.to_json();
  j["run"]["threads"] = r.result.threads;
  j["run"].update(events_json(r.result));
  Json row;
  const JsonRows rows{"flows", r.listed(), [&](std::size_t f) -> const Json& {
                        return row = flow_json(r, static_cast<std::uint32_t>(f), cluster.topology);
                      }};
  return deliver_rows(
      common, std::move(j), rows, [&] { return to_document(common, o, r, courses, cluster.topology); }, status);
}

}  // namespace busbar
