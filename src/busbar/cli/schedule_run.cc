#include "busbar/cli/schedule_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/collective_report.h"
#include "busbar/cli/flow_csv.h"
#include "busbar/cli/sweep.h"
#include "busbar/cli/tuner_csv.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/formats/chakra_writer.h"
#include "busbar/formats/goal.h"
#include "busbar/formats/msccl_xml.h"
#include "busbar/formats/mscclpp_writer.h"
#include "busbar/lowering/lowering.h"
#include "busbar/packet/collective_flows.h"
#include "busbar/predict/predictor.h"
#include "busbar/step/machine.h"

namespace busbar {
namespace {

constexpr std::size_t kMostSteps = 400'000;  // of all loops together: takes some seconds

/// Largest number of loops: then each part of a chunk of the plan has the machine's chunk size.
std::uint32_t most_loops(const ExecutionPlan& plan, const ProtocolModel& protocol, Bytes size) {
  const std::uint64_t piece = count(protocol.chunk);
  if (piece == 0) return 1;
  const std::uint64_t chunk = (count(size) + plan.chunks - 1) / plan.chunks;
  const std::uint64_t most = std::max<std::uint64_t>(1, kMostSteps / std::max<std::size_t>(1, plan.steps.size()));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>((chunk + piece - 1) / piece, 1, most));
}

/// The NICs of the channels of NCCL's algorithm of that name for the call; null: there are none.
std::shared_ptr<const ChannelNics> nics_of(CollectiveCall call, std::uint32_t ranks, Predictor& machine) {
  if (call.algorithm.empty()) return nullptr;
  call.groups = one_group(ranks);
  const Result<CollectiveCall> prepared = machine.prepare(call);
  return prepared.ok() ? prepared->nics : nullptr;
}

struct LoopedRun {
  MessageRun run;
  std::uint32_t loops = 1;
};
/// Tries 1, 2, 4 ... loops as long as the time falls; or runs `loops` loops.
Result<LoopedRun> fastest_run(const ExecutionPlan& plan, Predictor& machine, Protocol protocol, Bytes size,
                              std::uint32_t loops) {
  CollectiveCall call = call_over(plan.op, size, plan.ranks);
  call.algorithm = plan.name;
  call.protocol = protocol;
  const auto nics = nics_of(std::move(call), plan.ranks, machine);
  LoopedRun best;
  const std::uint32_t most = loops > 0 ? loops : most_loops(plan, machine.protocol(), size);
  for (std::uint32_t k = loops > 0 ? loops : 1; k <= most; k *= 2) {
    BUSBAR_ASSIGN(MessageGraph graph, messages_of(plan, size, k));
    graph.nics = nics;
    BUSBAR_ASSIGN(MessageRun run, run_messages(machine.router(), machine.placement(), machine.protocol(), protocol,
                                               graph, machine.policy().shortcuts, machine.policy().stop));
    if (best.run.messages > 0 && run.end >= best.run.end) break;
    best = {std::move(run), k};
  }
  return best;
}

CollectiveCall call_of(const ExecutionPlan& plan, Bytes size) {
  CollectiveCall call = call_over(plan.op, size, plan.ranks);
  call.root = plan.root;
  call.algorithm = "fastest";
  return call;
}

double percent_of(Duration a, Duration b) { return b > Duration() ? 100 * (a.in_s() / b.in_s() - 1) : 0; }

double algbw(const ScheduleRow& r) { return static_cast<double>(count(r.size)) / std::max(1e-12, r.time.in_s()) / 1e9; }

}  // namespace

Result<ImportedSchedule> load_schedule(const std::string& file) {
  BUSBAR_ASSIGN(ImportSource source, ImportSource::open(file));
  const FormatEntry* format = find_format(source.head());
  if (format == nullptr || format->schedule == nullptr)
    return invalid(format == nullptr ? "is not a known kind of schedule; 'busbar import' lists the kinds"
                                     : fmt::format("is a file of kind {}, which contains no schedule", format->kind),
                   {file, 0, 0, ""});
  return format->schedule(source);
}

Result<std::vector<ScheduleRow>> time_schedule(const ImportedSchedule& schedule, Predictor& machine,
                                               const std::vector<Bytes>& sizes, std::uint32_t loops, LongRun& watch) {
  const ExecutionPlan& plan = schedule.plan;
  BUSBAR_ASSIGN(const Protocol protocol, parse_protocol(schedule.protocol));
  if (machine.ranks() < plan.ranks)
    return invalid(fmt::format("is for {} ranks, {} has {} GPUs", plan.ranks, machine.cluster().name, machine.ranks()),
                   {plan.file, 0, 0, ""});
  std::vector<ScheduleRow> rows;
  for (const Bytes size : sizes) {
    if (!watch.go_on(rows.size(), sizes.size())) break;
    ScheduleRow row;
    row.size = size;
    const bool as_timed = loops == 0 && count(size) == schedule.max_bytes;
    const Result<LoopedRun> fastest = fastest_run(plan, machine, protocol, size, as_timed ? schedule.loops : loops);
    if (!fastest.ok() && watch.interrupted()) break;
    if (!fastest.ok()) return fastest.error();
    const MessageRun& run = fastest->run;
    row.loops = fastest->loops;
    row.time = machine.protocol().launch + run.end.since_start();
    row.algorithm_floor = run.algorithm_floor;
    row.bound = run.bound;
    row.floor = machine.floor(call_of(plan, size));
    row.warning = below_floor(row.time, row.floor.time, plan.name);
    if (const auto ours = machine.time(call_of(plan, size), kTimeAlone); ours.ok()) {
      row.ours = ours->algorithm;
      row.ours_time = ours->time;
    }
    if (watch.interrupted()) break;
    rows.push_back(std::move(row));
  }
  watch.go_on(rows.size(), sizes.size());
  watch.report_interruption();
  return rows;
}

Table schedule_table(const ImportedSchedule& schedule, const std::vector<ScheduleRow>& rows, const Cluster& cluster) {
  const ExecutionPlan& plan = schedule.plan;
  Table t{fmt::format("{} ({}) over {} GPUs of {}", plan.name, name_of(plan.op), plan.ranks, cluster.name),
          {"size (B)", "time (us)", "busbw (GB/s)", to_left("our fastest"), "its time (us)", "against ours (%)",
           "floor (us)", "above floor (%)", to_left("bound by")}};
  for (const ScheduleRow& r : rows)
    t.rows.push_back({std::to_string(count(r.size)), format_number(r.time.in_us(), 4),
                      format_number(algbw(r) * bus_factor(plan.op, plan.ranks)), r.ours.empty() ? "-" : r.ours,
                      r.ours.empty() ? "-" : format_number(r.ours_time.in_us(), 4),
                      r.ours.empty() ? "-" : fmt::format("{:+.1f}", percent_of(r.time, r.ours_time)),
                      format_number(r.floor.time.in_us(), 4), format_number(percent_of(r.time, r.floor.time)),
                      bound_in_short(r.bound, cluster.topology)});
  t.note =
      "GB/s is 1e9 bytes per second per direction. Messages of all steps share the links; the fastest number of loops "
      "is used; copies and additions inside a GPU cost nothing";
  t.note += fmt::format(". Protocol: {}.", schedule.protocol);
  for (const ScheduleRow& r : rows)
    if (!r.warning.empty()) t.note += fmt::format(" At {}: {}.", format_binary_size(count(r.size)), r.warning);
  return t;
}

Json schedule_json(const ImportedSchedule& schedule, const std::vector<ScheduleRow>& rows, const Cluster& cluster) {
  const ExecutionPlan& plan = schedule.plan;
  Json list = Json::array();
  for (const ScheduleRow& r : rows) {
    list.push_back({{"size_bytes", count(r.size)},
                    {"time_us", r.time.in_us()},
                    {"algbw_GBps", algbw(r)},
                    {"busbw_GBps", algbw(r) * bus_factor(plan.op, plan.ranks)},
                    {"algorithm", plan.name},
                    {"protocol", name_of(*parse_protocol(schedule.protocol))},
                    {"channels", plan.channels},
                    {"chunks", r.loops},
                    {"floor_us", r.floor.time.in_us()},
                    {"floor_cut", {{"kind", name_of(r.floor.kind)}, {"name", r.floor.cut}}},
                    {"above_floor_percent", percent_of(r.time, r.floor.time)},
                    {"algorithm_floor_us", r.algorithm_floor.in_us()},
                    {"bound_by", bound_to_json(r.bound, cluster.topology)},
                    {"relief", Json::array()},
                    {"ours", r.ours.empty() ? Json() : Json(r.ours)},
                    {"ours_time_us", r.ours.empty() ? Json() : Json(r.ours_time.in_us())},
                    {"against_ours_percent", r.ours.empty() ? Json() : Json(percent_of(r.time, r.ours_time))}});
    if (!r.warning.empty()) list.back()["warning"] = r.warning;
  }
  return list;
}

Status time_messages(const ImportedMessages& messages, Predictor& machine, Json& json, Document& document) {
  const Cluster& cluster = machine.cluster();
  if (machine.ranks() < messages.graph.ranks)
    return invalid(fmt::format("is for {} ranks, {} has {} GPUs", messages.graph.ranks, cluster.name, machine.ranks()),
                   {messages.name, 0, 0, ""});
  MessageGraph graph = messages.graph;
  graph.nics = nics_of(messages.call, graph.ranks, machine);
  BUSBAR_ASSIGN(const MessageRun run, run_messages(machine.router(), machine.placement(), machine.protocol(),
                                                   messages.call.protocol, graph, machine.policy().shortcuts));
  const Duration end = run.end.since_start();
  json = {{"cluster", cluster.name},
          {"time_us", end.in_us()},
          {"messages", run.messages},
          {"bytes", run.bytes},
          {"algorithm_floor_us", run.algorithm_floor.in_us()},
          {"bound_by", bound_to_json(run.bound, cluster.topology)},
          {"chain_us",
           {{"work", run.chain_work.in_us()},
            {"transfer", run.chain_transfer.in_us()},
            {"latency", run.chain_latency.in_us()}}}};
  Facts facts;
  facts.title = fmt::format("On {}", cluster.name);
  facts.items = {
      {"time", format_number(end.in_us(), 4) + " us"},
      {"messages", fmt::format("{} of {} bytes in all", run.messages, run.bytes)},
      {"longest chain",
       fmt::format("{} us of work, {} us of bytes, {} us of latency", format_number(run.chain_work.in_us(), 4),
                   format_number(run.chain_transfer.in_us(), 4), format_number(run.chain_latency.in_us(), 4))},
      {"busiest link", format_number(run.algorithm_floor.in_us(), 4) + " us at wire rate"},
      {"bound by", run.messages > 0 ? bound_to_text(run.bound, cluster.topology) : "work"}};
  document.add(facts);
  return {};
}

Result<int> run_schedule(const CollectiveOptions& o) {
  if (o.common.engine != "flow")
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a schedule from a file is timed message by message on the flow engine, not on '{}'",
                             o.common.engine),
                 {"", 0, 0, "--engine"}};
  BUSBAR_ASSIGN(const Collective op, parse_collective(o.op));
  BUSBAR_ASSIGN(Cluster loaded, load_machine(o.cluster, o.common.overrides));
  PredictPolicy policy;
  policy.stop = LongRun::flag();
  BUSBAR_RETURN_IF_ERROR(read_predict_options(o.predict, Catalog(o.common.overrides.catalog), policy));
  BUSBAR_ASSIGN(const auto machine, Predictor::make(std::move(loaded), {}, std::move(policy)));
  const Cluster* const cluster = &machine->cluster();
  BUSBAR_ASSIGN(const ImportedSchedule schedule, load_schedule(o.schedule));
  const ExecutionPlan& plan = schedule.plan;
  if (plan.op != op)
    return invalid(fmt::format("is an {}, not an {}", name_of(plan.op), name_of(op)), {o.schedule, 0, 0, ""});
  if (o.nccl_tests.ranks() != 0 && o.nccl_tests.ranks() != plan.ranks)
    return flag_error("-g", fmt::format("the schedule is for {} ranks", plan.ranks));
  BUSBAR_ASSIGN(const std::vector<Bytes> sizes, sweep_sizes(o.first, o.last, o.factor));
  LongRun watch("sizes");
  BUSBAR_ASSIGN(const auto rows, time_schedule(schedule, *machine, sizes, o.chunks, watch));
  if (rows.empty()) return watch.status();
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(Catalog(o.common.overrides.catalog)));
  const Band band = accuracy.collective(*cluster, rows.back().size, cluster->topology.blocks().size() > 1);
  Json j{{"schema", "busbar.collective/1"},
         {"cluster", cluster->name},
         {"gpus", plan.ranks},
         {"collective", name_of(op)},
         {"engine", "flow"},
         {"algorithm_choice", "file"},
         {"schedule",
          {{"file", o.schedule},
           {"name", plan.name},
           {"proved", true},
           {"sends", schedule.proof.sends},
           {"longest_chain_of_sends", schedule.proof.depth}}},
         {"inputs_hash", inputs_hash(o.common, cluster->text)},
         {"results", schedule_json(schedule, rows, *cluster)}};
  add_policy(j, machine->policy(), o.predict.launch, machine->protocol().launch);
  j["bound_by"] = bound_to_json(rows.back().bound, cluster->topology);
  j["band_percent"] = Json::array({band.low_percent, band.high_percent});
  j["band_basis"] = band.basis;
  j["notes"] = schedule.notes;
  j["complete"] = rows.size() == sizes.size();
  Document d{fmt::format("{} over {} GPUs of {} by {}", name_of(op), plan.ranks, cluster->name, o.schedule),
             o.common.typed,
             {}};
  d.add(schedule_table(schedule, rows, *cluster));
  d.blocks.push_back(
      {Highlight{fmt::format("Proved: {} sends, at most {} of them one after another. At {} the time is limited by {}.",
                             schedule.proof.sends, schedule.proof.depth, format_binary_size(count(rows.back().size)),
                             bound_to_text(rows.back().bound, cluster->topology))}});
  for (const std::string& note : schedule.notes) d.add(Paragraph{"Assumed: " + note + "."});
  d.add(Paragraph{words_of(band, " at " + format_binary_size(count(rows.back().size)))});
  return deliver(o.common, j, d, watch.status());
}

namespace {

/// The messages of the row's schedule, after the launch.
Result<MessageGraph> written_messages(const Prediction& row, const Schedule& schedule, PlanLanes lanes,
                                      const Predictor& machine) {
  BUSBAR_ASSIGN(const ExecutionPlan plan, plan_of(schedule, false, lanes));
  BUSBAR_ASSIGN(const MessageGraph graph, messages_of(plan, row.size(), row.chunks, LoopOrder::kStepByStep));
  return after_work(graph, machine.protocol().launch);
}

/// The smallest size that the row's schedule was chosen for.
std::uint64_t least_bytes(const Prediction& row, const std::vector<Prediction>& rows) {
  std::uint64_t least = count(row.size());
  for (const Prediction& r : rows)
    if (r.algorithm == row.algorithm && r.protocol() == row.protocol() && r.channels == row.channels)
      least = std::min(least, count(r.size()));
  return least;
}

Result<std::string> msccl_text(const Prediction& row, const std::vector<Prediction>& rows, const Schedule& schedule,
                               PlanLanes lanes) {
  BUSBAR_ASSIGN(MscclAlgorithm algorithm, msccl_of(schedule, lanes));
  algorithm.max_bytes = count(row.size());
  algorithm.min_bytes = least_bytes(row, rows);
  // A thread block runs all its steps in one loop before the next loop. This changes pipelines of rounds, not of
  // trees.
  const bool trees =
      std::all_of(schedule.phases.begin(), schedule.phases.end(), [](const Phase& p) { return is_tree(p.pattern); });
  if (row.chunks == 1 || trees) algorithm.loops = row.chunks;
  if (row.call.protocol == Protocol::kLl) algorithm.protocol = "LL";
  if (row.call.protocol == Protocol::kLl128) algorithm.protocol = "LL128";
  return write_msccl_xml(algorithm);
}

Result<std::string> mscclpp_text(const Prediction& row, const std::vector<Prediction>& rows, const Schedule& schedule,
                                 PlanLanes lanes, const Predictor& machine) {
  BUSBAR_ASSIGN(const MscclAlgorithm algorithm, msccl_of(schedule, lanes));  // in place if that works
  MscclppOutput options{least_bytes(row, rows), count(row.size()), {}};
  for (std::uint32_t r = 0; r < algorithm.plan.ranks; ++r)
    options.node.push_back(index(machine.cluster().topology.block_of(machine.placement().gpu(r))));
  BUSBAR_ASSIGN(const Json plan, write_mscclpp_plan(algorithm.plan, options));
  return plan.dump(1) + "\n";
}

/// NAME.et becomes NAME.RANK.et.
Status write_chakra_files(const std::string& file, const MessageGraph& graph) {
  BUSBAR_ASSIGN(const std::vector<std::string> ranks, write_chakra(graph));
  const std::string name = file.substr(0, file.size() - std::string_view("et").size());
  for (std::size_t r = 0; r < ranks.size(); ++r)
    BUSBAR_RETURN_IF_ERROR(write_file(fmt::format("{}{}.et", name, r), ranks[r]));
  return {};
}

/// What the column of bytes counts.
std::string words_of_bytes(const Prediction& row) {
  const bool plain = row.protocol() == Protocol::kSimple;
  return fmt::format("{} of {} B on {} ranks, {}, protocol {}: bytes are {}", name_of(row.call.op), count(row.size()),
                     row.call.groups.size(), row.algorithm, name_of(row.protocol()),
                     plain ? "data, to which the protocol adds none"
                           : "on the wire, data and what the protocol adds; --protocol simple adds none");
}

}  // namespace

Status write_schedule(const std::string& file, const Predictor& machine, const std::vector<Prediction>& rows) {
  const Prediction& row = summary_row(rows);
  if (file.ends_with(".csv")) {
    FlowList list;
    BUSBAR_RETURN_IF_ERROR(
        add_collective_flows(row.call, machine.router(), machine.placement(), machine.protocol(), list));
    return write_file(file, write_flow_csv(list, machine.router(), words_of_bytes(row)));
  }
  if (file.ends_with(".conf")) {
    BUSBAR_ASSIGN(const std::string picks, tuner_csv(machine, rows));
    return write_file(file, picks);
  }
  const bool goal = file.ends_with(".goal"), chakra = file.ends_with(".et"), plan = file.ends_with(".json");
  if (!goal && !chakra && !plan && !file.ends_with(".xml"))
    return flag_error(
        "--out", fmt::format("'{}' should end in .xml (MSCCL), .json (MSCCL++), .goal, .et (Chakra), .csv (flows) or "
                             ".conf (NCCL's tuner)",
                             file));
  if (!row.call.parts.empty())
    return unsupported("the groups of this call run different schedules; ask for one of them with --ranks");
  BUSBAR_ASSIGN(const Schedule schedule, schedule_of(row.call, machine.cluster().topology, machine.placement()));
  if (schedule.sends_nothing)
    return unsupported(
        "this broadcast is an all-reduce of what the root has, which no file of schedules can state; give "
        "another --algorithm",
        {"", 0, 0, "--out"});
  const PlanLanes lanes = Lowering(machine.router(), machine.placement(), machine.protocol()).lanes(row.call, schedule);
  if (goal || chakra) {
    BUSBAR_ASSIGN(const MessageGraph graph, written_messages(row, schedule, lanes, machine));
    if (chakra) return write_chakra_files(file, graph);
    BUSBAR_ASSIGN(const std::string text, write_goal(graph, &row.call));
    return write_file(file, text);
  }
  BUSBAR_ASSIGN(const std::string text,
                plan ? mscclpp_text(row, rows, schedule, lanes, machine) : msccl_text(row, rows, schedule, lanes));
  return write_file(file, text);
}

}  // namespace busbar
