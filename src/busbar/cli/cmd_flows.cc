#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/cmd_flows_packet.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/flow_source.h"
#include "busbar/cli/flow_times.h"
#include "busbar/cli/json_rows.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/session.h"
#include "busbar/cli/streams.h"
#include "busbar/floors/floor.h"
#include "busbar/predict/penalties.h"
#include "busbar/predict/prediction.h"
#include "busbar/questions/bound_by.h"
#include "busbar/step/machine.h"
#include "busbar/views/bound_words.h"

namespace busbar {
namespace {

struct FlowsFlags {
  CommonOptions common;
  std::string fabric, cdf;
  questions::PacketRun packets;
  FlowSource source;
  std::optional<std::int64_t> seed;
  std::uint32_t links = 1000;
  questions::PacketExtras extras;
  WatchFlags watch;
};

/// The result of a flow list.
struct Report {
  std::string cluster;
  NamedFlows named;
  FlowListResult result;
  std::vector<std::uint32_t> by_fct;  ///< flows that have ended, without work, slowest first
  std::vector<LinkUse> busiest;       ///< the fullest links in descending order
  Duration floor;                     ///< largest load of a link at its wire rate
  std::string warning;                ///< of below_floor()
  Band band;
  std::optional<Penalties> penalties;  ///< of a transport
  const Penalties* by() const { return penalties ? &*penalties : nullptr; }

  double fct_us(double quantile) const {
    const auto at = static_cast<std::size_t>((1 - quantile) * static_cast<double>(by_fct.size() - 1));
    return result.flows[by_fct[at]].fct.in_us();
  }
  Json jobs() const {
    return jobs_json(named, [this](std::size_t f) {
      const FlowOutcome& x = result.flows[f];
      return x.done ? (x.start.since_start() + x.fct).in_us() : -1;
    });
  }
  FlowTimes times() const {
    std::vector<TimedFlow> out;
    for (const std::uint32_t f : by_fct) {
      const FlowOutcome& x = result.flows[f];
      const Duration alone = x.latency + x.transfer;
      out.push_back({count(named.list.flows[f].bytes), x.fct.in_us(), x.fct.in_us() / alone.in_us()});
    }
    return FlowTimes(std::move(out));
  }
};

/// Busy time divided by the time of the whole run.
double mean_use(const LinkUse& u, const Topology& t, SimTime end) {
  const double s = end.since_start().in_s();
  return s > 0 ? u.bytes / t.payload_rate(u.link) / s : 0;
}

void rank_flows_and_links(Report& r, const Topology& t, std::size_t shown) {
  for (std::uint32_t f = 0; f < r.result.flows.size(); ++f)
    if (r.result.flows[f].done && !r.named.list.flows[f].is_work()) r.by_fct.push_back(f);
  std::stable_sort(r.by_fct.begin(), r.by_fct.end(),
                   [&](auto a, auto b) { return r.result.flows[a].fct > r.result.flows[b].fct; });
  r.busiest.resize(std::min<std::size_t>(std::max<std::size_t>(shown, kRowsShown), r.result.links.size()));
  std::partial_sort_copy(r.result.links.begin(), r.result.links.end(), r.busiest.begin(), r.busiest.end(),
                         [&](const LinkUse& a, const LinkUse& b) {
                           const double x = a.bytes / t.payload_rate(a.link), y = b.bytes / t.payload_rate(b.link);
                           return x != y ? x > y : a.link < b.link;
                         });
  double most_ps = 0;
  for (const LinkUse& u : r.result.links)
    most_ps = std::max(most_ps, u.bytes / static_cast<double>(per_second(t.link_class(u.link).floor_rate())) * 1e12);
  r.floor = floor_from_ps(most_ps);
}

Bound bound_of(const FlowOutcome& f) {
  const bool shared = f.sharing > f.latency || f.transfer > f.latency;
  return {f.held_by, f.sharing > f.transfer ? "sharing" : "transfer",
          shared ? BoundKind::kBandwidth : BoundKind::kLatency};
}

/// The flow that ends last, of those that have ended.
const FlowOutcome& last_of(const Report& r) {
  const auto later = [](const FlowOutcome& a, const FlowOutcome& b) {
    return a.done != b.done ? b.done : a.start + a.fct < b.start + b.fct;
  };
  return *std::max_element(r.result.flows.begin(), r.result.flows.end(), later);
}

Json to_json(const FlowsFlags& o, const Report& r, const Cluster& c) {
  Json j{{"schema", "busbar.flows/1"},
         {"cluster", r.cluster},
         {"engine", o.common.engine},
         {"inputs_hash", inputs_hash(o.common, c.text)},
         {"makespan_us", r.result.end.since_start().in_us()},
         {"floor_us", r.floor.in_us()},
         {"fct_us", {{"min", r.fct_us(0)}, {"p50", r.fct_us(0.5)}, {"p99", r.fct_us(0.99)}, {"max", r.fct_us(1)}}},
         {"bound_by", busbar::to_json(questions::bound_result(bound_of(last_of(r)), c.topology))},
         {"band_percent", Json::array({r.band.low_percent, r.band.high_percent})},
         {"band_basis", r.band.basis},
         {"events", r.result.events},
         {"rate_changes", r.result.rate_changes},
         {"flows_done", r.result.done},
         {"complete", r.result.done == r.result.flows.size()}};
  if (!r.warning.empty()) j["warning"] = r.warning;
  if (!c.assumptions.empty()) j["assumptions"] = c.assumptions;
  r.times().add_to(j, r.by());
  if (!r.named.jobs.empty()) j["jobs"] = r.jobs();
  j["flows"] = nullptr;  // deliver_rows() fills this in
  Json links = Json::array();
  for (std::size_t i = 0; i < std::min<std::size_t>(o.links, r.busiest.size()); ++i) {
    const LinkUse& u = r.busiest[i];
    links.push_back({{"link", c.topology.name(u.link)},
                     {"bytes", u.bytes},
                     {"flows", u.flows},
                     {"mean_use_percent", 100 * mean_use(u, c.topology, r.result.end)}});
  }
  j["links"] = std::move(links);
  j["links_used"] = r.result.links.size();
  return j;
}

/// Produces the row of each flow in turn and reuses its buffers.
JsonRows rows_of(const Report& r, const Topology& t) {
  const auto row = std::make_shared<Json>(Json{{"id", ""},
                                               {"bytes", 0},
                                               {"start_us", 0.0},
                                               {"fct_us", 0.0},
                                               {"parts_us", {{"latency", 0.0}, {"transfer", 0.0}, {"sharing", 0.0}}},
                                               {"held_by", nullptr}});
  return {"flows", r.result.flows.size(), [row, &r, &t](std::size_t f) -> const Json& {
            const FlowOutcome& x = r.result.flows[f];
            Json &j = *row, &parts = j["parts_us"];
            j["id"] = r.named.ids[f];
            j["bytes"] = count(r.named.list.flows[f].bytes);
            if (!x.done) {
              for (const char* key : {"start_us", "fct_us", "held_by"}) j[key] = nullptr;
              for (const char* key : {"latency", "transfer", "sharing"}) parts[key] = nullptr;
              return j;
            }
            j["start_us"] = x.start.since_start().in_us();
            j["fct_us"] = x.fct.in_us();
            parts["latency"] = x.latency.in_us();
            parts["transfer"] = x.transfer.in_us();
            parts["sharing"] = x.sharing.in_us();
            j["held_by"] = x.held_by == kNone<LinkId> ? Json() : Json(t.name(x.held_by));
            return j;
          }};
}

/// What the last flow waits for: other flows, or its own link.
std::string last_words(const Report& r, const Topology& t) {
  const FlowOutcome& x = last_of(r);
  const Bound bound = bound_of(x);
  const auto shared = std::find_if(r.result.links.begin(), r.result.links.end(),
                                   [&](const LinkUse& u) { return u.link == bound.link; });
  if (bound.kind != BoundKind::kBandwidth || x.sharing <= x.transfer || shared == r.result.links.end())
    return fmt::format("The last flow is limited by {}.", bound_to_text(bound, t));
  return fmt::format(
      "The last flow ({}) took {}, {} times as long as alone: it lost {} to others, most at {}, which {} flows cross.",
      r.named.ids[static_cast<std::size_t>(&x - r.result.flows.data())], format_duration(x.fct.in_s()),
      format_number(x.fct.in_us() / (x.latency + x.transfer).in_us(), 2), format_duration(x.sharing.in_s()),
      t.name(bound.link), shared->flows);
}

Document to_document(const FlowsFlags& o, const Report& r, const Topology& t) {
  Document d{fmt::format("{} flows on {}", r.result.flows.size(), r.cluster), o.common.typed, {}};
  d.add(Facts{
      d.title,
      {{"last flow ends after", format_duration(r.result.end.since_start().in_s())},
       {"busy time of the fullest link", format_duration(r.floor.in_s())},
       {"flow completion time", fmt::format("{} us median, {} us p99, {} us longest", format_number(r.fct_us(0.5), 4),
                                            format_number(r.fct_us(0.99), 4), format_number(r.fct_us(1), 4))}}});
  if (const FlowTimes times = r.times(); times.many()) d.add(times.table(r.by()));
  if (!r.named.jobs.empty()) d.add(jobs_table(r.jobs()));
  Table slow{
      "Slowest flows",
      {to_left("flow"), "start (us)", "fct (us)", "latency (us)", "transfer (us)", "sharing (us)", to_left("held by")}};
  for (std::size_t i = 0; i < std::min(kRowsShown, r.by_fct.size()); ++i) {
    const FlowOutcome& x = r.result.flows[r.by_fct[i]];
    slow.rows.push_back({r.named.ids[r.by_fct[i]], format_number(x.start.since_start().in_us(), 4),
                         format_number(x.fct.in_us(), 4), format_number(x.latency.in_us()),
                         format_number(x.transfer.in_us(), 4), format_number(x.sharing.in_us(), 4),
                         x.held_by == kNone<LinkId> ? "latency of its links" : t.name(x.held_by)});
  }
  slow.note =
      "fct: flow completion time, from start to arrival; transfer: alone, at the rate of the narrowest link; sharing: "
      "extra time because of other flows.";
  d.add(slow);
  Table links{"Fullest links", {to_left("link"), "flows", "MB", "in use (% of the time)"}};
  for (std::size_t i = 0; i < std::min(kRowsShown, r.busiest.size()); ++i) {
    const LinkUse& u = r.busiest[i];
    links.rows.push_back({t.name(u.link), std::to_string(u.flows), format_number(u.bytes / 1e6),
                          format_number(100 * mean_use(u, t, r.result.end))});
  }
  d.add(links);
  d.add(Highlight{last_words(r, t)});
  if (!r.warning.empty()) d.add(Paragraph{r.warning + "."});
  d.add(Paragraph{words_of(r.band)});
  return d;
}

/// The load of the links between switches is the hosts', times their use divided by that of the hosts' links.
NetworkUse use_of(double load, Duration until, const Topology& t, const FlowListResult& result) {
  struct Use {
    double bytes = 0, rate = 0;
  };
  std::map<std::pair<DeviceKind, DeviceKind>, Use> uses;
  const auto of = [&](LinkId l) -> Use& { return uses[{t.kind(t.from(l)), t.kind(t.to(l))}]; };
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (is_fabric(t.link_class(LinkId{l}).kind)) of(LinkId{l}).rate += t.payload_rate(LinkId{l});
  for (const LinkUse& u : result.links)
    if (is_fabric(t.link_class(u.link).kind)) of(u.link).bytes += u.bytes;
  double hosts = 0, most = 0, sent = 0, crossed = 0, cable = 0;
  for (const auto& [ends, use] : uses) {
    const bool to_host = ends.second == DeviceKind::kNic || ends.second == DeviceKind::kGpu;
    most = std::max(most, use.bytes / use.rate);
    if (ends.first == DeviceKind::kNic) hosts = std::max(hosts, use.bytes / use.rate), sent += use.bytes;
    if ((ends.first == DeviceKind::kLeaf || ends.first == DeviceKind::kSwitch) && !to_host) crossed += use.bytes;
  }
  if (hosts <= 0) return {load, 1, 0, 0};
  Duration longest;
  for (const FlowOutcome& f : result.flows) longest = std::max(longest, f.latency);
  for (const LinkUse& u : result.links)
    if (t.kind(t.from(u.link)) == DeviceKind::kNic && is_fabric(t.link_class(u.link).kind))
      cable = std::max(cable, t.payload_rate(u.link));
  // A packet of 4,160 bytes and its acknowledgement of 64 on each of four cables, as in the tabulated network.
  const double bdp_bytes = 2 * longest.in_s() * cable + 4 * (4160 + 64);
  return {load * most / hosts, std::min(1.0, crossed / sent), bdp_bytes, until.in_s() * cable};
}

Status check_transport(const FlowsFlags& o) {
  if (o.packets.transport.empty() || !o.source.sizes.empty()) return {};
  return Error{ErrorCode::kUnsupported,
               "fluids know transports only by penalties on random flows (--sizes); for a list add --engine packet",
               {"", 0, 0, "--transport"}};
}

Status check_engine(const std::string& name) {
  const Where where{"", 0, 0, "--engine"};
  if (name == "flow") return {};
  if (name == "analytic")
    return Error{ErrorCode::kUnsupported, "the analytic engine cannot run flow lists; use flow or packet", where};
  return invalid(fmt::format("there is no engine '{}'; use flow or packet", name), where);
}

/// Refuses what only packets model.
Status check_flows(const NamedFlows& named, const Topology& t, const std::string& file) {
  for (std::size_t f = 0; f < named.ids.size(); ++f) {
    const ListedFlow& flow = named.list.flows[f];
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

Result<int> run(const FlowsFlags& o) {
  if (o.common.engine == "packet")
    return run_packet_flows(o.common, {o.fabric, o.source, o.cdf, o.packets, o.seed, o.links, o.extras, o.watch});
  BUSBAR_RETURN_IF_ERROR(check_engine(o.common.engine));
  BUSBAR_RETURN_IF_ERROR(check_transport(o));
  BUSBAR_ASSIGN(Cluster cluster, load_machine(o.fabric, o.common.overrides));
  BUSBAR_RETURN_IF_ERROR(refuse_packet_lines(cluster.packet));
  BUSBAR_RETURN_IF_ERROR(choose_paths(o.packets.lb, cluster));
  if (o.seed && *o.seed < 0) return flag_error("--seed", "a seed is 0 or more");
  if (o.seed) cluster.seed = static_cast<std::uint64_t>(*o.seed);
  const Router router(cluster.topology, cluster.routing, cluster.seed);
  BUSBAR_ASSIGN(NamedFlows named, read_flows(o.source, cluster, router, cluster.seed, o.common.overrides.catalog));
  BUSBAR_RETURN_IF_ERROR(check_flows(named, cluster.topology, o.source.file));
  Shortcuts shortcuts;
  shortcuts.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
  LongRun watch("flows");
  BUSBAR_ASSIGN(FlowListResult result, run_flow_list(router, named.list, shortcuts, LongRun::flag()));
  const bool whole = result.done == result.flows.size();
  if (!whole) {
    say(fmt::format("stopped: {} of {} flows have ended", result.done, result.flows.size()));
    if (result.done == 0) return watch.status();
    result.links.clear();  // they hold the bytes of all flows
  }
  Report r;
  r.cluster = cluster.name;
  r.named = std::move(named);
  r.result = std::move(result);
  if (!o.packets.transport.empty()) {
    BUSBAR_ASSIGN(const Duration until, parse_duration(o.source.until));
    const NetworkUse use = use_of(o.source.load, until, cluster.topology, r.result);
    BUSBAR_ASSIGN(r.penalties,
                  load_penalties(o.packets.transport, balance_of(cluster), use, o.common.overrides.catalog));
  }
  rank_flows_and_links(r, cluster.topology, o.links);
  std::uint64_t largest = 1;
  for (const ListedFlow& f : r.named.list.flows) largest = std::max(largest, count(f.bytes));
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(Catalog(o.common.overrides.catalog)));
  r.band = accuracy.collective(cluster, static_cast<Bytes>(largest), cluster.topology.blocks().size() > 1);
  if (whole) r.warning = below_floor(r.result.end.since_start(), r.floor, "flows");
  if (!o.cdf.empty()) BUSBAR_RETURN_IF_ERROR(r.times().write_csv(o.cdf));
  Json j = to_json(o, r, cluster);
  Document explained;
  if (o.common.explain) explain_shortcuts(shortcuts, j, explained);
  j["run"] = o.common.clock.to_json();
  const auto document = [&] {
    Document d = to_document(o, r, cluster.topology);
    d.blocks.insert(d.blocks.end(), explained.blocks.begin(), explained.blocks.end());
    return d;
  };
  return deliver_rows(o.common, std::move(j), rows_of(r, cluster.topology), document, watch.status());
}

}  // namespace

Command flows_command(const std::string& typed) {
  const auto o = std::make_shared<FlowsFlags>();
  Command c = new_command(o->common, typed, "flows",
                          "run a list of flows on a fabric: when each flow ends, and what limits it");
  c.examples =
      "  busbar flows dgx-h100:4 flows.csv\n"
      "  busbar flows dgx-h100:64 flows.csv --lb spray --json\n"
      "  busbar flows dgx-h100:64 flows.csv --seed 7 --fail leaf0-spine1\n"
      "  busbar flows dgx-h100:16 flows.csv --engine packet --transport nscc --lb spray --seed 1 --json\n"
      "  busbar flows dgx-h100:16 --sizes websearch --load 0.6 --engine packet --transport dcqcn --cdf fct.csv\n"
      "  busbar flows dgx-h100:4 llama.0.et --job other.goal@16 --engine packet --transport dcqcn\n"
      "A flow list has the columns id,src,dst,bytes,start_ns,after and optionally trigger (received or acked), lane "
      "and delay_ns.\n"
      "src and dst: a GPU's number, or a name such as node5.gpu3 or node5.nic3; after: ids separated by ';'.\n";
  c.positionals = {
      cluster_word(o->fabric),
      {"FLOWS.csv",
       "id,src,dst,bytes,start_ns,after[,trigger][,lane][,delay_ns], one flow per line; or a GOAL or Chakra trace "
       "(PREFIX.0.et), rank r on GPU r",
       &o->source.file, false}};
  c.flags = {
      {"--lb", "NAME",
       "ecmp (one path per flow, by hash), spray, adaptive, or (packets only) flowlet; default: the cluster's",
       "Machine", &o->packets.lb, one_of("ecmp", "spray", "adaptive", "flowlet")},
      {"--seed", "N", "seed of the hash of paths, and of random flows (default: the cluster's)", "Machine", &o->seed},
      {"--cdf", "FILE.csv", "write the distribution of completion times: fct_us,percent,slowdown,bytes", "Files",
       &o->cdf},
      with("--json", {"--links", "N", "number of links to list, fullest first (default 1000)", "Output", &o->links}),
  };
  c.add(flow_source_flags(o->source));
  for (Flag& f : packet_run_flags(o->packets.transport, o->packets.lb, o->packets.patience))
    if (f.names != "--lb") c.flags.push_back(std::move(f));
  c.add(watch_flags(o->watch));
  c.add(packet_flags(o->extras));
  c.flags.push_back(cluster_flag(o->fabric));
  add_common_flags(c, o->common);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
