#include "busbar/questions/packet_flows.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/predict/packet_words.h"
#include "busbar/questions/flows_question.h"
#include "busbar/step/machine.h"

namespace busbar::questions {

double PacketFlowsRun::fct_us(double quantile) const {
  const auto at = static_cast<std::size_t>((1 - quantile) * static_cast<double>(by_fct.size() - 1));
  return result.flows[by_fct[at]].fct.in_us();
}

double PacketFlowsRun::mean_us() const {
  double sum = 0;
  for (const std::uint32_t f : by_fct) sum += result.flows[f].fct.in_us();
  return sum / static_cast<double>(by_fct.size());
}

double PacketFlowsRun::background_mean_us() const {
  double sum = 0, ended = 0;
  for (std::size_t f = listed(); f < result.flows.size(); ++f) {
    sum += result.flows[f].fct.in_us();
    ended += result.flows[f].done ? 1 : 0;
  }
  return ended > 0 ? sum / ended : 0;
}

SimTime PacketFlowsRun::last(Duration packet::PacketOutcome::*what) const {
  SimTime end;
  for (std::size_t f = 0; f < listed(); ++f)
    if (result.flows[f].done) end = std::max(end, result.flows[f].start + result.flows[f].*what);
  return end;
}

namespace {

double busy(const packet::PacketLink& l, const topology::Topology& t) {
  return static_cast<double>(l.bytes) / static_cast<double>(per_second(t.link_class(l.link).floor_rate()));
}

}  // namespace

double PacketFlowsRun::use_percent(const packet::PacketLink& l) const {
  return 100 * busy(l, machine->topology) / result.end.since_start().in_s();
}

std::vector<std::pair<const char*, Duration>> parts_of(const packet::PacketOutcome& f) {
  const packet::PacketParts& p = f.parts;
  return {{"serialisation", p.serialisation},
          {"propagation", p.propagation},
          {"queueing", p.queueing},
          {"pause", p.pause},
          {"held", p.held},
          {"retransmission", p.retransmission},
          {"acknowledgement", p.acknowledgement}};
}

namespace {

void rank(PacketFlowsRun& r) {
  const topology::Topology& t = r.machine->topology;
  for (std::uint32_t f = 0; f < r.listed(); ++f) r.done += r.result.flows[f].done ? 1 : 0;
  for (std::uint32_t f = 0; f < r.listed(); ++f)
    if (r.result.flows[f].done && !r.named.list.flows[f].is_work()) r.by_fct.push_back(f);
  std::stable_sort(r.by_fct.begin(), r.by_fct.end(),
                   [&](auto a, auto b) { return r.result.flows[a].fct > r.result.flows[b].fct; });
  r.busiest = r.result.links;
  std::stable_sort(r.busiest.begin(), r.busiest.end(),
                   [&](const packet::PacketLink& a, const packet::PacketLink& b) { return busy(a, t) > busy(b, t); });
}

PacketFlowRow flow_row(const PacketFlowsRun& r, std::size_t f) {
  const packet::PacketOutcome& x = r.result.flows[f];
  PacketFlowRow out;
  out.id = r.named.ids[f];
  out.bytes = count(r.named.list.flows[f].bytes);
  if (!x.done) return out;
  out.start_us = x.start.since_start().in_us();
  out.fct_us = x.fct.in_us();
  out.received_us = x.received.in_us();
  out.slowdown = x.fct.in_us() / x.alone.in_us();
  for (const auto& [name, time] : parts_of(x)) out.parts_us.emplace_back(name, time.in_us());
  if (x.resent > 0) out.resent = x.resent;
  out.held_by.emplace();
  if (x.held_by != kNone<topology::LinkId>) *out.held_by = r.machine->topology.name(x.held_by);
  return out;
}

PacketLinkRow link_row(const PacketFlowsRun& r, const packet::PacketLink& l) {
  PacketLinkRow out{r.machine->topology.name(l.link),
                    l.bytes,
                    r.use_percent(l),
                    {l.queue_p50, l.queue_p99, l.queue_max},
                    {},
                    {},
                    {},
                    {},
                    {}};
  if (l.marks > 0) out.marks = l.marks;
  if (l.trims > 0) out.trims = l.trims;
  if (l.drops > 0) out.drops = l.drops;
  if (l.pauses > 0) out.pauses = l.pauses;
  if (l.paused > Duration()) out.paused_us = l.paused.in_us();
  return out;
}

std::vector<LaneRow> lane_rows(const std::vector<packet::PacketLane>& lanes) {
  std::vector<LaneRow> out;
  for (const packet::PacketLane& x : lanes)
    out.push_back({out.size(), x.data, x.resent, x.trims, x.drops, x.marks, x.pauses, x.paused.in_us()});
  return out;
}

Status check_lanes(const NamedFlows& named, const packet::PacketOptions& options, const std::string& file) {
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

PacketFlowsResult result_of(const FlowsRequest& q, std::shared_ptr<const PacketFlowsRun> run) {
  const PacketFlowsRun& r = *run;
  const packet::PacketResult& x = r.result;
  PacketFlowsResult out;
  out.cluster = r.machine->name;
  out.engine = q.engine;
  out.seed = r.options.seed;
  out.makespan_us = r.last(&packet::PacketOutcome::fct).since_start().in_us();
  out.received_us = r.last(&packet::PacketOutcome::received).since_start().in_us();
  out.fct_us = {r.fct_us(0), r.mean_us(), r.fct_us(0.5), r.fct_us(0.99), r.fct_us(1)};
  out.packet_hops = x.hops;
  out.packets = static_cast<const packet::PacketCounts&>(x);
  out.lanes = lane_rows(x.lanes);
  out.settings = settings_json(x.settings);
  out.flows_done = r.done;
  out.complete = r.done == r.listed();
  out.digest = fmt::format("{:016x}", x.digest);
  out.assumptions = r.machine->assumptions;
  out.faults = q.extras.fault;
  if (x.background > 0) out.background = BackgroundRow{x.background, r.background_mean_us()};
  if (!x.stuck.empty()) out.stuck = x.stuck;
  out.times = times_of(r, [](const packet::PacketOutcome& x) { return x.alone; });
  out.fct_cdf = out.times.cdf();
  out.fct_by_size = out.times.by_size();
  out.jobs = job_ends(r.named, [&](std::size_t f) {
    const packet::PacketOutcome& flow = r.result.flows[f];
    return flow.done ? (flow.start.since_start() + flow.received).in_us() : -1;
  });
  for (std::size_t i = 0; i < std::min<std::size_t>(q.links, r.busiest.size()); ++i)
    out.links.push_back(link_row(r, r.busiest[i]));
  out.links_used = x.links.size();
  // Several threads need a few more events, so the count belongs to the run, not to the result.
  out.of_run = {
      {"threads", x.threads},
      {"events", x.events},
      {"events_per_hop", static_cast<double>(x.events) / static_cast<double>(std::max<std::uint64_t>(1, x.hops))}};
  out.flows.count = r.listed();
  out.flows.make = [run](std::size_t f) { return flow_row(*run, f); };
  out.run = std::move(run);
  return out;
}

std::size_t listed_done(const packet::PacketResult& x) {
  const auto listed = static_cast<std::ptrdiff_t>(x.flows.size() - x.background);
  return static_cast<std::size_t>(
      std::count_if(x.flows.begin(), x.flows.begin() + listed, [](const auto& f) { return f.done; }));
}

}  // namespace

Result<PacketFlowsResult> time_packets(const FlowsRequest& q, const Context& context) {
  const auto run = std::make_shared<PacketFlowsRun>();
  BUSBAR_ASSIGN(spec::Cluster loaded, step::load_machine(q.cluster, predict::without_packets(q.machine)));
  const auto machine = std::make_shared<const spec::Cluster>(std::move(loaded));
  run->machine = machine;
  PacketRun words = q.packets;
  BUSBAR_ASSIGN(packet::PacketOptions options,
                packet_options_of(words, q.extras, q.seed, *machine, q.machine, context));
  const routing::Router router(machine->topology, topology::RoutingPolicy::kStatic, options.seed);
  BUSBAR_ASSIGN(run->named, read_flows(q.source, *machine, router, options.seed, q.machine.catalog));
  BUSBAR_RETURN_IF_ERROR(check_lanes(run->named, options, q.source.file));
  std::vector<OutputFile> files;
  if (!q.source.out.empty()) files.push_back({q.source.out, write_flow_csv(run->named.list, router)});
  PacketWatch watch(q.watch, run->named, machine->topology);
  BUSBAR_RETURN_IF_ERROR(watch.watch(options));
  if (q.page) run->courses.watch(options);
  context.go_on("flows", 0, run->named.ids.size());
  BUSBAR_ASSIGN(run->result, packet::run_packet_list(router, run->named.list, options));
  BUSBAR_RETURN_IF_ERROR(watch.add_files(files));
  const packet::PacketResult& x = run->result;
  const std::size_t done = listed_done(x);
  context.go_on("flows", done, run->listed());
  const bool partial = x.done < x.flows.size();
  const std::string stopped =
      fmt::format("stopped: {} of {} flows have ended{}{}", done, run->listed(), x.stuck.empty() ? "" : "; ", x.stuck);
  if (done == 0) return Error{ErrorCode::kDoesNotFit, stopped, {}};
  if (partial && context.notice) context.notice(stopped);
  run->options.seed = options.seed;
  rank(*run);
  PacketFlowsResult out = result_of(q, run);
  out.transport = words.transport;
  out.lb = words.lb;
  out.inputs_hash = inputs_hash("flows", q, machine->text);
  out.exit_status = partial ? 1 : 0;
  out.files = std::move(files);
  if (!q.cdf.empty()) out.files.push_back({q.cdf, out.times.csv()});
  return out;
}

const Record& record_of(const PacketFct*) {
  using F = PacketFct;
  static const Record record("times", {{"min", &F::min, "us", "the shortest"},
                                       {"mean", &F::mean, "us", "of all"},
                                       {"p50", &F::p50, "us", "half of them are below"},
                                       {"p99", &F::p99, "us", "99 of 100 are below"},
                                       {"max", &F::max, "us", "the longest"}});
  return record;
}

const Record& record_of(const LaneRow*) {
  using L = LaneRow;
  static const Record record("lane", {{"lane", &L::lane, "", "its number"},
                                      {"data", &L::data, "", "packets of data"},
                                      {"resent", &L::resent, "", "packets sent again"},
                                      {"trimmed", &L::trimmed, "", "packets cut to their header"},
                                      {"dropped", &L::dropped, "", "packets lost in a queue"},
                                      {"marked", &L::marked, "", "packets with a congestion mark"},
                                      {"pauses", &L::pauses, "", "times that a link was paused"},
                                      {"paused_us", &L::paused_us, "us", "sum over links"}});
  return record;
}

const Record& record_of(const BackgroundRow*) {
  static const Record record("background", {{"flows", &BackgroundRow::flows, "", "further flows"},
                                            {"mean_fct_us", &BackgroundRow::mean_fct_us, "us", "of those that ended"}});
  return record;
}

const Record& record_of(const PacketFlowRow*) {
  using F = PacketFlowRow;
  static const Record record(
      "flow", {{"id", &F::id, "", "as in the list"},
               {"bytes", &F::bytes, "bytes", "of its payload"},
               Field("start_us", &F::start_us, "us", "when it began").or_absent(),
               {"fct_us", &F::fct_us, "us", "until the last acknowledgement; null: it has not ended"},
               Field("received_us", &F::received_us, "us", "until the last byte arrived").or_absent(),
               Field("slowdown", &F::slowdown, "", "time divided by that of the flow alone").or_absent(),
               Field("parts_us", &F::parts_us, "us", "parts that sum to its time").or_absent(),
               Field("resent", &F::resent, "", "packets sent again").or_absent(),
               Field("held_by", &F::held_by, "", "the link that delayed it most; null: none").or_absent()});
  return record;
}

const Record& record_of(const QueueBytes*) {
  static const Record record("queue", {{"p50", &QueueBytes::p50, "bytes", "half of the packets found less"},
                                       {"p99", &QueueBytes::p99, "bytes", "99 of 100 packets found less"},
                                       {"max", &QueueBytes::max, "bytes", "the longest"}});
  return record;
}

const Record& record_of(const PacketLinkRow*) {
  using L = PacketLinkRow;
  static const Record record("link", {{"link", &L::link, "", "its name"},
                                      {"bytes", &L::bytes, "bytes", "that it carried"},
                                      {"mean_use_percent", &L::mean_use_percent, "%", "of the time of the run"},
                                      {"queue_bytes", &L::queue_bytes, "bytes", "seen by packets that had to wait"},
                                      Field("marks", &L::marks, "", "congestion marks").or_absent(),
                                      Field("trims", &L::trims, "", "packets cut to their header").or_absent(),
                                      Field("drops", &L::drops, "", "packets lost").or_absent(),
                                      Field("pauses", &L::pauses, "", "times that it was paused").or_absent(),
                                      Field("paused_us", &L::paused_us, "us", "time in pauses").or_absent()});
  return record;
}

const Record& record_of(const PacketFlowsResult*) {
  using R = PacketFlowsResult;
  static const Record record("flows by packets",
                             {{"cluster", &R::cluster, "", "name of the machine"},
                              {"engine", &R::engine, "", "packet"},
                              {"transport", &R::transport, "", "nscc, dcqcn, ..."},
                              {"lb", &R::lb, "", "how packets take paths"},
                              {"seed", &R::seed, "", "of paths and random flows"},
                              {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"},
                              {"makespan_us", &R::makespan_us, "us", "until the last flow ends"},
                              {"received_us", &R::received_us, "us", "until the last byte arrives"},
                              {"fct_us", &R::fct_us, "us", "flow completion times"},
                              {"packet_hops", &R::packet_hops, "", "packets times links"},
                              {"packets", &R::packets, "", "what packets went through"},
                              {"lanes", &R::lanes, "", "if there are several"},
                              {"settings", &R::settings, "", "of the transport, those that have an effect"},
                              {"flows_done", &R::flows_done, "", "flows that have ended"},
                              {"complete", &R::complete, "", "all flows have ended"},
                              {"digest", &R::digest, "", "of all starts and ends"},
                              Field("assumptions", &R::assumptions, "", "about the machine").or_absent(),
                              Field("faults", &R::faults, "", "as given").or_absent(),
                              Field("background", &R::background, "", "further flows").or_absent(),
                              Field("stuck", &R::stuck, "", "why the other flows cannot end").or_absent(),
                              {"fct_cdf", &R::fct_cdf, "", "cumulative distribution"},
                              {"fct_by_size", &R::fct_by_size, "", "by class of sizes"},
                              Field("jobs", &R::jobs, "", "if there are several").or_absent(),
                              Field("flows", &R::flows, "", "in the order of the list").by_rows(),
                              {"links", &R::links, "", "fullest first"},
                              {"links_used", &R::links_used, "", "links that carried something"}});
  return record;
}

}  // namespace busbar::questions
