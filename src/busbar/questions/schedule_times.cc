#include "busbar/questions/schedule_times.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "busbar/engine/flow/message_run.h"
#include "busbar/questions/question.h"

namespace busbar::questions {
namespace {

constexpr std::size_t kMostSteps = 400'000;  // of all loops together: takes some seconds

/// Largest number of loops: then each part of a chunk of the plan has the machine's chunk size.
std::uint32_t most_loops(const collectives::ExecutionPlan& plan, const program::ProtocolModel& protocol, Bytes size) {
  const std::uint64_t piece = count(protocol.chunk);
  if (piece == 0) return 1;
  const std::uint64_t chunk = (count(size) + plan.chunks - 1) / plan.chunks;
  const std::uint64_t most = std::max<std::uint64_t>(1, kMostSteps / std::max<std::size_t>(1, plan.steps.size()));
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>((chunk + piece - 1) / piece, 1, most));
}

/// The NICs of the channels of NCCL's algorithm of that name for the call; null: there are none.
std::shared_ptr<const program::ChannelNics> nics_of(program::CollectiveCall call, std::uint32_t ranks,
                                                    predict::Predictor& machine) {
  if (call.algorithm.empty()) return nullptr;
  call.groups = collectives::one_group(ranks);
  const Result<program::CollectiveCall> prepared = machine.prepare(call);
  return prepared.ok() ? prepared->nics : nullptr;
}

struct LoopedRun {
  engine::MessageRun run;
  std::uint32_t loops = 1;
};
/// Tries 1, 2, 4 ... loops as long as the time falls; or runs `loops` loops.
Result<LoopedRun> fastest_run(const collectives::ExecutionPlan& plan, predict::Predictor& machine,
                              program::Protocol protocol, Bytes size, std::uint32_t loops) {
  program::CollectiveCall call = predict::call_over(plan.op, size, plan.ranks);
  call.algorithm = plan.name;
  call.protocol = protocol;
  const auto nics = nics_of(std::move(call), plan.ranks, machine);
  LoopedRun best;
  const std::uint32_t most = loops > 0 ? loops : most_loops(plan, machine.protocol(), size);
  for (std::uint32_t k = loops > 0 ? loops : 1; k <= most; k *= 2) {
    BUSBAR_ASSIGN(program::MessageGraph graph, program::messages_of(plan, size, k));
    graph.nics = nics;
    BUSBAR_ASSIGN(engine::MessageRun run,
                  engine::run_messages(machine.router(), machine.placement(), machine.protocol(), protocol, graph,
                                       machine.policy().shortcuts, machine.policy().stop));
    if (best.run.messages > 0 && run.end >= best.run.end) break;
    best = {std::move(run), k};
  }
  return best;
}

program::CollectiveCall call_of(const collectives::ExecutionPlan& plan, Bytes size) {
  program::CollectiveCall call = predict::call_over(plan.op, size, plan.ranks);
  call.root = plan.root;
  call.algorithm = "fastest";
  return call;
}

double percent_of(Duration a, Duration b) { return b > Duration() ? 100 * (a.in_s() / b.in_s() - 1) : 0; }

}  // namespace

double ScheduleRow::algbw() const { return static_cast<double>(count(size)) / std::max(1e-12, time.in_s()) / 1e9; }
double ScheduleRow::against_ours_percent() const { return percent_of(time, ours_time); }
double ScheduleRow::above_floor_percent() const { return percent_of(time, floor.time); }

namespace {

/// Reads the file by the reader of its kind that `of` names.
template <typename Read>
Result<Read> load_by(const std::string& file, Result<Read> (*formats::FormatEntry::*of)(formats::ImportSource&),
                     const char* what) {
  BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(file));
  const formats::FormatEntry* format = formats::find_format(source.head());
  if (format == nullptr || format->*of == nullptr)
    return invalid(format == nullptr ? fmt::format("is not a known kind of {}; 'busbar import' lists the kinds", what)
                                     : fmt::format("is a file of kind {}, which contains no {}", format->kind, what),
                   {file, 0, 0, ""});
  return (format->*of)(source);
}

}  // namespace

Result<formats::PairMatrix> load_pairs(const std::string& file, collectives::Collective op, std::uint32_t ranks) {
  if (file.empty()) return formats::PairMatrix();
  if (op != collectives::Collective::kAllToAllV)
    return unsupported(
        fmt::format("{} sends every pair equally many bytes; a matrix is for all_to_allv", collectives::name_of(op)),
        field_of("pairs"));
  return formats::read_pair_matrix(file, ranks);
}

Result<formats::ImportedSchedule> load_schedule(const std::string& file) {
  return load_by(file, &formats::FormatEntry::schedule, "schedule");
}

Result<formats::ImportedMessages> load_messages(const std::string& file) {
  return load_by(file, &formats::FormatEntry::messages, "messages");
}

Result<std::vector<ScheduleRow>> time_schedule(const formats::ImportedSchedule& schedule, predict::Predictor& machine,
                                               const std::vector<Bytes>& sizes, std::uint32_t loops,
                                               const Context& context) {
  const collectives::ExecutionPlan& plan = schedule.plan;
  BUSBAR_ASSIGN(const program::Protocol protocol, program::parse_protocol(schedule.protocol));
  if (machine.ranks() < plan.ranks)
    return invalid(fmt::format("is for {} ranks, {} has {} GPUs", plan.ranks, machine.cluster().name, machine.ranks()),
                   {plan.file, 0, 0, ""});
  std::vector<ScheduleRow> rows;
  for (const Bytes size : sizes) {
    if (!context.go_on("sizes", rows.size(), sizes.size())) break;
    ScheduleRow row;
    row.size = size;
    const bool as_timed = loops == 0 && count(size) == schedule.max_bytes;
    const Result<LoopedRun> fastest = fastest_run(plan, machine, protocol, size, as_timed ? schedule.loops : loops);
    if (!fastest.ok() && context.stopped()) break;
    if (!fastest.ok()) return fastest.error();
    const engine::MessageRun& run = fastest->run;
    row.loops = fastest->loops;
    row.time = machine.protocol().launch + run.end.since_start();
    row.algorithm_floor = run.algorithm_floor;
    row.bound = run.bound;
    row.floor = machine.floor(call_of(plan, size));
    row.warning = predict::below_floor(row.time, row.floor.time, plan.name);
    if (const auto ours = machine.time(call_of(plan, size), predict::kTimeAlone); ours.ok()) {
      row.ours = ours->algorithm;
      row.ours_time = ours->time;
    }
    if (context.stopped()) break;
    rows.push_back(std::move(row));
  }
  context.go_on("sizes", rows.size(), sizes.size());
  return rows;
}

std::vector<ScheduleRowResult> schedule_results(const formats::ImportedSchedule& schedule,
                                                const std::vector<ScheduleRow>& rows,
                                                const topology::Topology& topology) {
  const collectives::ExecutionPlan& plan = schedule.plan;
  std::vector<ScheduleRowResult> list;
  for (const ScheduleRow& r : rows) {
    ScheduleRowResult& out = list.emplace_back();
    out.size_bytes = count(r.size);
    out.time_us = r.time.in_us();
    out.algbw_GBps = r.algbw();
    out.busbw_GBps = r.algbw() * predict::bus_factor(plan.op, plan.ranks);
    out.algorithm = plan.name;
    out.protocol = program::name_of(*program::parse_protocol(schedule.protocol));
    out.channels = plan.channels;
    out.chunks = r.loops;
    out.floor_us = r.floor.time.in_us();
    out.floor_cut = {floors::name_of(r.floor.kind), r.floor.cut};
    out.above_floor_percent = r.above_floor_percent();
    out.algorithm_floor_us = r.algorithm_floor.in_us();
    out.bound_by = bound_result(r.bound, topology);
    if (!r.warning.empty()) out.warning = r.warning;
    if (r.ours.empty()) continue;
    out.ours = r.ours;
    out.ours_time_us = r.ours_time.in_us();
    out.against_ours_percent = r.against_ours_percent();
  }
  return list;
}

Result<MessagesResult> time_messages(const formats::ImportedMessages& messages, predict::Predictor& machine) {
  const spec::Cluster& cluster = machine.cluster();
  if (machine.ranks() < messages.graph.ranks)
    return invalid(fmt::format("is for {} ranks, {} has {} GPUs", messages.graph.ranks, cluster.name, machine.ranks()),
                   {messages.name, 0, 0, ""});
  program::MessageGraph graph = messages.graph;
  graph.nics = nics_of(messages.call, graph.ranks, machine);
  BUSBAR_ASSIGN(const engine::MessageRun run,
                engine::run_messages(machine.router(), machine.placement(), machine.protocol(), messages.call.protocol,
                                     graph, machine.policy().shortcuts));
  return MessagesResult{cluster.name,
                        run.end.since_start().in_us(),
                        run.messages,
                        run.bytes,
                        run.algorithm_floor.in_us(),
                        bound_result(run.bound, cluster.topology),
                        {run.chain_work.in_us(), run.chain_transfer.in_us(), run.chain_latency.in_us()},
                        run.bound};
}

const Record& record_of(const ScheduleRowResult*) {
  using R = ScheduleRowResult;
  static const Record record("row",
                             {{"size_bytes", &R::size_bytes, "bytes", "as nccl-tests counts"},
                              {"time_us", &R::time_us, "us", "message by message"},
                              {"algbw_GBps", &R::algbw_GBps, "GB/s", "size per time"},
                              {"busbw_GBps", &R::busbw_GBps, "GB/s", "bus bandwidth, as nccl-tests counts"},
                              {"algorithm", &R::algorithm, "", "name of the schedule"},
                              {"protocol", &R::protocol, "", "simple, ll128 or ll"},
                              {"channels", &R::channels, "", "number of channels"},
                              {"chunks", &R::chunks, "", "loops over parts of the buffer"},
                              {"floor_us", &R::floor_us, "us", "no schedule on this machine is faster"},
                              {"floor_cut", &R::floor_cut, "", "the cut that gives the floor"},
                              {"above_floor_percent", &R::above_floor_percent, "%", "difference from the floor"},
                              {"algorithm_floor_us", &R::algorithm_floor_us, "us", "of the busiest link at wire rate"},
                              {"bound_by", &R::bound_by, "", "what limits the time"},
                              {"relief", &R::relief, "", "empty: not computed"},
                              {"ours", &R::ours, "", "the fastest of our algorithms; null: none can be timed"},
                              {"ours_time_us", &R::ours_time_us, "us", "its time"},
                              {"against_ours_percent", &R::against_ours_percent, "%", "difference from it"},
                              Field("warning", &R::warning, "", "the time is below the floor").or_absent()});
  return record;
}

const Record& record_of(const MessageChain*) {
  static const Record record("chain", {{"work", &MessageChain::work, "us", "of work"},
                                       {"transfer", &MessageChain::transfer, "us", "of bytes"},
                                       {"latency", &MessageChain::latency, "us", "of latency"}});
  return record;
}

const Record& record_of(const MessagesResult*) {
  using R = MessagesResult;
  static const Record record("messages", {{"cluster", &R::cluster, "", "name of the machine"},
                                          {"time_us", &R::time_us, "us", "until the last message arrives"},
                                          {"messages", &R::messages, "", "number of messages"},
                                          {"bytes", &R::bytes, "bytes", "of all of them"},
                                          {"algorithm_floor_us", &R::algorithm_floor_us, "us", "of the busiest link"},
                                          {"bound_by", &R::bound_by, "", "what limits the time"},
                                          {"chain_us", &R::chain_us, "us", "the longest chain"}});
  return record;
}

}  // namespace busbar::questions
