#include "busbar/questions/flows_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/floors/floor.h"
#include "busbar/predict/prediction.h"
#include "busbar/step/machine.h"

namespace busbar::questions {

double FluidRun::fct_us(double quantile) const {
  const auto at = static_cast<std::size_t>((1 - quantile) * static_cast<double>(by_fct.size() - 1));
  return result.flows[by_fct[at]].fct.in_us();
}

double FluidRun::mean_use(const engine::LinkUse& u) const {
  const double s = result.end.since_start().in_s();
  return s > 0 ? u.bytes / machine->topology.payload_rate(u.link) / s : 0;
}

const engine::FlowOutcome& FluidRun::last() const {
  const auto later = [](const engine::FlowOutcome& a, const engine::FlowOutcome& b) {
    return a.done != b.done ? b.done : a.start + a.fct < b.start + b.fct;
  };
  return *std::max_element(result.flows.begin(), result.flows.end(), later);
}

lowering::Bound bound_of(const engine::FlowOutcome& f) {
  const bool shared = f.sharing > f.latency || f.transfer > f.latency;
  return {f.held_by, f.sharing > f.transfer ? "sharing" : "transfer",
          shared ? lowering::BoundKind::kBandwidth : lowering::BoundKind::kLatency};
}

namespace {

constexpr std::size_t kLeastLinks = 10;  ///< that are ranked, for tables

void rank_flows_and_links(FluidRun& r, std::size_t shown) {
  const topology::Topology& t = r.machine->topology;
  for (std::uint32_t f = 0; f < r.result.flows.size(); ++f)
    if (r.result.flows[f].done && !r.named.list.flows[f].is_work()) r.by_fct.push_back(f);
  std::stable_sort(r.by_fct.begin(), r.by_fct.end(),
                   [&](auto a, auto b) { return r.result.flows[a].fct > r.result.flows[b].fct; });
  r.busiest.resize(std::min<std::size_t>(std::max<std::size_t>(shown, kLeastLinks), r.result.links.size()));
  std::partial_sort_copy(r.result.links.begin(), r.result.links.end(), r.busiest.begin(), r.busiest.end(),
                         [&](const engine::LinkUse& a, const engine::LinkUse& b) {
                           const double x = a.bytes / t.payload_rate(a.link), y = b.bytes / t.payload_rate(b.link);
                           return x != y ? x > y : a.link < b.link;
                         });
  double most_ps = 0;
  for (const engine::LinkUse& u : r.result.links)
    most_ps = std::max(most_ps, u.bytes / static_cast<double>(per_second(t.link_class(u.link).floor_rate())) * 1e12);
  r.floor = floors::floor_from_ps(most_ps);
}

/// The load of the links between switches is the hosts', times their use divided by that of the hosts' links.
predict::NetworkUse use_of(double load, Duration until, const topology::Topology& t,
                           const engine::FlowListResult& result) {
  struct Use {
    double bytes = 0, rate = 0;
  };
  std::map<std::pair<topology::DeviceKind, topology::DeviceKind>, Use> uses;
  const auto of = [&](topology::LinkId l) -> Use& { return uses[{t.kind(t.from(l)), t.kind(t.to(l))}]; };
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (topology::is_fabric(t.link_class(topology::LinkId{l}).kind))
      of(topology::LinkId{l}).rate += t.payload_rate(topology::LinkId{l});
  for (const engine::LinkUse& u : result.links)
    if (topology::is_fabric(t.link_class(u.link).kind)) of(u.link).bytes += u.bytes;
  double hosts = 0, most = 0, sent = 0, crossed = 0, cable = 0;
  for (const auto& [ends, use] : uses) {
    const bool to_host = ends.second == topology::DeviceKind::kNic || ends.second == topology::DeviceKind::kGpu;
    most = std::max(most, use.bytes / use.rate);
    if (ends.first == topology::DeviceKind::kNic) hosts = std::max(hosts, use.bytes / use.rate), sent += use.bytes;
    if ((ends.first == topology::DeviceKind::kLeaf || ends.first == topology::DeviceKind::kSwitch) && !to_host)
      crossed += use.bytes;
  }
  if (hosts <= 0) return {load, 1, 0, 0};
  Duration longest;
  for (const engine::FlowOutcome& f : result.flows) longest = std::max(longest, f.latency);
  for (const engine::LinkUse& u : result.links)
    if (t.kind(t.from(u.link)) == topology::DeviceKind::kNic && topology::is_fabric(t.link_class(u.link).kind))
      cable = std::max(cable, t.payload_rate(u.link));
  // A packet of 4,160 bytes and its acknowledgement of 64 on each of four cables, as in the tabulated network.
  const double bdp_bytes = 2 * longest.in_s() * cable + 4 * (4160 + 64);
  return {load * most / hosts, std::min(1.0, crossed / sent), bdp_bytes, until.in_s() * cable};
}

Status check_transport(const FlowsRequest& q) {
  if (q.packets.transport.empty() || !q.source.sizes.empty()) return {};
  return Error{ErrorCode::kUnsupported,
               "fluids know transports only by penalties on random flows (--sizes); for a list add --engine packet",
               field_of("transport")};
}

Status check_engine(const std::string& name) {
  if (name == "flow") return {};
  return Error{ErrorCode::kUnsupported, "the analytic engine cannot run flow lists; use flow or packet",
               field_of("engine")};
}

/// Refuses what only packets model.
Status check_flows(const NamedFlows& named, const topology::Topology& t, const std::string& file) {
  for (std::size_t f = 0; f < named.ids.size(); ++f) {
    const program::ListedFlow& flow = named.list.flows[f];
    const auto refuse = [&](const char* column, const std::string& why) {
      return Error{ErrorCode::kUnsupported, fmt::format("flow {} {}", named.ids[f], why), {file, 0, 0, column}};
    };
    if (flow.lane > 0)
      return refuse("lane", "has a lane, but the flow engine has none; add --engine packet and --lanes");
    for (const auto& [end, column] : {std::pair(flow.from, "src"), std::pair(flow.to, "dst")})
      if (t.device_class(end).reduces)
        return refuse(column, fmt::format("has the switch {} as its end, which only packets model; add --engine packet",
                                          t.name(end)));
  }
  return {};
}

FluidRow fluid_row(const FluidRun& r, std::size_t f) {
  const engine::FlowOutcome& x = r.result.flows[f];
  FluidRow out;
  out.id = r.named.ids[f];
  out.bytes = count(r.named.list.flows[f].bytes);
  if (!x.done) return out;
  out.start_us = x.start.since_start().in_us();
  out.fct_us = x.fct.in_us();
  out.parts_us = {x.latency.in_us(), x.transfer.in_us(), x.sharing.in_us()};
  if (x.held_by != kNone<topology::LinkId>) out.held_by = r.machine->topology.name(x.held_by);
  return out;
}

void add_times(FluidResult& out) {
  const FluidRun& r = *out.run;
  out.times = times_of(r, [](const engine::FlowOutcome& x) { return x.latency + x.transfer; });
  out.fct_cdf = out.times.cdf();
  out.fct_by_size = out.times.by_size(r.by());
  if (r.penalties) {
    out.penalties = penalties_result(*r.penalties);
    out.fct_with_penalties_us = MeanTime{out.times.mean_us(out.fct_by_size)};
  }
  out.jobs = job_ends(r.named, [&](std::size_t f) {
    const engine::FlowOutcome& x = r.result.flows[f];
    return x.done ? (x.start.since_start() + x.fct).in_us() : -1;
  });
}

FluidResult result_of(const FlowsRequest& q, std::shared_ptr<const FluidRun> run) {
  const FluidRun& r = *run;
  const topology::Topology& t = r.machine->topology;
  FluidResult out;
  out.cluster = r.machine->name;
  out.engine = q.engine;
  out.inputs_hash = inputs_hash("flows", q, r.machine->text);
  out.makespan_us = r.result.end.since_start().in_us();
  out.floor_us = r.floor.in_us();
  out.fct_us = {r.fct_us(0), r.fct_us(0.5), r.fct_us(0.99), r.fct_us(1)};
  out.bound_by = bound_result(bound_of(r.last()), t);
  out.band_percent = {r.band.low_percent, r.band.high_percent};
  out.band_basis = r.band.basis;
  out.events = r.result.events;
  out.rate_changes = r.result.rate_changes;
  out.flows_done = r.result.done;
  out.complete = r.result.done == r.result.flows.size();
  if (!r.warning.empty()) out.warning = r.warning;
  out.assumptions = r.machine->assumptions;
  for (std::size_t i = 0; i < std::min<std::size_t>(q.links, r.busiest.size()); ++i) {
    const engine::LinkUse& u = r.busiest[i];
    out.links.push_back({t.name(u.link), u.bytes, u.flows, 100 * r.mean_use(u)});
  }
  out.links_used = r.result.links.size();
  out.flows.count = r.result.flows.size();
  out.flows.make = [run](std::size_t f) { return fluid_row(*run, f); };
  out.run = std::move(run);
  add_times(out);
  return out;
}

Result<spec::Cluster> machine_of(const FlowsRequest& q) {
  BUSBAR_ASSIGN(spec::Cluster cluster, step::load_machine(q.cluster, q.machine));
  BUSBAR_RETURN_IF_ERROR(spec::refuse_packet_lines(cluster.packet));
  BUSBAR_RETURN_IF_ERROR(predict::choose_paths(q.packets.lb, cluster));
  if (q.seed && *q.seed < 0) return invalid("a seed is 0 or more", field_of("seed"));
  if (q.seed) cluster.seed = static_cast<std::uint64_t>(*q.seed);
  return cluster;
}

/// What the report says besides times.
Status judge(const FlowsRequest& q, bool whole, FluidRun& r) {
  const spec::Cluster& cluster = *r.machine;
  if (!q.packets.transport.empty()) {
    BUSBAR_ASSIGN(const Duration until, parse_duration(q.source.until));
    const predict::NetworkUse use = use_of(q.source.load, until, cluster.topology, r.result);
    BUSBAR_ASSIGN(r.penalties,
                  predict::load_penalties(q.packets.transport, predict::balance_of(cluster), use, q.machine.catalog));
  }
  rank_flows_and_links(r, q.links);
  std::uint64_t largest = 1;
  for (const program::ListedFlow& f : r.named.list.flows) largest = std::max(largest, count(f.bytes));
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy, predict::AccuracyTable::load(spec::Catalog(q.machine.catalog)));
  r.band = accuracy.collective(cluster, static_cast<Bytes>(largest), cluster.topology.blocks().size() > 1);
  if (whole) r.warning = predict::below_floor(r.result.end.since_start(), r.floor, "flows");
  return {};
}

Result<FluidResult> time_fluids(const FlowsRequest& q, const Context& context) {
  BUSBAR_RETURN_IF_ERROR(check_engine(q.engine));
  BUSBAR_RETURN_IF_ERROR(check_transport(q));
  BUSBAR_ASSIGN(spec::Cluster loaded, machine_of(q));
  const auto run = std::make_shared<FluidRun>();
  const auto cluster = std::make_shared<const spec::Cluster>(std::move(loaded));
  run->machine = cluster;
  const routing::Router router(cluster->topology, cluster->routing, cluster->seed);
  BUSBAR_ASSIGN(run->named, read_flows(q.source, *cluster, router, cluster->seed, q.machine.catalog));
  BUSBAR_RETURN_IF_ERROR(check_flows(run->named, cluster->topology, q.source.file));
  std::vector<OutputFile> files;
  if (!q.source.out.empty()) files.push_back({q.source.out, write_flow_csv(run->named.list, router)});
  Shortcuts shortcuts;
  shortcuts.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  context.go_on("flows", 0, run->named.ids.size());
  BUSBAR_ASSIGN(run->result, engine::run_flow_list(router, run->named.list, shortcuts, context.stop));
  engine::FlowListResult& result = run->result;
  context.go_on("flows", result.done, result.flows.size());
  const bool whole = result.done == result.flows.size();
  const std::string stopped = fmt::format("stopped: {} of {} flows have ended", result.done, result.flows.size());
  if (!whole && result.done == 0) return Error{ErrorCode::kDoesNotFit, stopped, {}};
  if (!whole && context.notice) context.notice(stopped);
  if (!whole) result.links.clear();  // they hold the bytes of all flows
  BUSBAR_RETURN_IF_ERROR(judge(q, whole, *run));
  FluidResult out = result_of(q, run);
  if (q.explain) out.shortcuts = shortcuts.names_taken();
  out.files = std::move(files);
  if (!q.cdf.empty()) out.files.push_back({q.cdf, out.times.csv()});
  return out;
}

}  // namespace

Result<FlowsAnswer> answer(const FlowsRequest& q, const Context& context) {
  if (q.engine == "packet") {
    BUSBAR_ASSIGN(PacketFlowsResult r, time_packets(q, context));
    return FlowsAnswer(std::move(r));
  }
  BUSBAR_ASSIGN(FluidResult r, time_fluids(q, context));
  return FlowsAnswer(std::move(r));
}

Question flows_question() {
  return make_question<FlowsRequest, FlowsAnswer>(
      "flows", "run a list of flows on a fabric: when each flow ends, and what limits it",
      "  busbar flows dgx-h100:4 flows.csv\n"
      "  busbar flows dgx-h100:64 flows.csv --lb spray --json\n"
      "  busbar flows dgx-h100:64 flows.csv --seed 7 --fail leaf0-spine1\n"
      "  busbar flows dgx-h100:16 flows.csv --engine packet --transport nscc --lb spray --seed 1 --json\n"
      "  busbar flows dgx-h100:16 --sizes websearch --load 0.6 --engine packet --transport dcqcn --cdf fct.csv\n"
      "  busbar flows dgx-h100:4 llama.0.et --job other.goal@16 --engine packet --transport dcqcn\n"
      "A flow list has the columns id,src,dst,bytes,start_ns,after and optionally trigger (received, acked or sent), "
      "lane "
      "and delay_ns.\n"
      "src and dst: a GPU's number, or a name such as node5.gpu3 or node5.nic3; after: ids separated by ';'.\n",
      70);
}

}  // namespace busbar::questions
