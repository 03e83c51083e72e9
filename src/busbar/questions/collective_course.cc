#include "busbar/questions/collective_course.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "busbar/lowering/lowering.h"
#include "busbar/packet/collective_flows.h"

namespace busbar::questions {
namespace {

constexpr std::size_t kMostOfOthers = 30'000;  // messages of an algorithm that nobody asked for

/// What the messages of a course are made of.
struct CourseSource {
  collectives::Schedule schedule;
  collectives::ExecutionPlan plan;
  program::MessageGraph graph;
};

Status is_one_group(const predict::Prediction& row) {
  if (!row.call.parts.empty() || row.call.groups.groups() != 1 || row.jobs.size() > 1)
    return unsupported("several groups at a time are not followed message by message");
  return {};
}

Status can_be_followed(const predict::Prediction& row) {
  BUSBAR_RETURN_IF_ERROR(is_one_group(row));
  if (row.call.groups.size() > kMostCourseRanks)
    return unsupported(fmt::format("more than {} ranks are not followed message by message", kMostCourseRanks));
  return {};
}

/// Ranks of the call become ranks of the machine, and reducers the switch next to them.
void place_course(const collectives::GroupFamily& group, std::uint32_t ranks, program::MessageGraph& graph) {
  const auto end_of = [&](std::uint32_t actor) {
    return actor < group.size() ? group.actor(0, actor) : program::MessageTask::kSwitch;
  };
  for (program::MessageTask& m : graph.tasks) m.from = end_of(m.from), m.to = end_of(m.to);
  graph.ranks = ranks;
}

Result<CourseSource> source_of(const predict::Prediction& row, const predict::Predictor& machine,
                               std::size_t most_messages) {
  CourseSource out;
  BUSBAR_ASSIGN(out.schedule, packet::schedule_of(row.call, machine.cluster().topology, machine.placement()));
  if (out.schedule.sends_nothing || out.schedule.traits.reduces_in_fabric)
    return unsupported("its messages have no way of their own");
  const collectives::PlanLanes lanes =
      lowering::Lowering(machine.router(), machine.placement(), machine.protocol()).lanes(row.call, out.schedule);
  BUSBAR_ASSIGN(out.plan, collectives::plan_with_reducers(out.schedule, false, lanes));
  if (out.plan.steps.size() / 2 * std::max(row.chunks, 1u) > most_messages)
    return unsupported(fmt::format("more than {} messages", most_messages));
  BUSBAR_ASSIGN(out.graph, program::messages_of(out.plan, row.size(), row.chunks, program::LoopOrder::kStepByStep));
  out.graph.nics = row.call.nics;
  place_course(row.call.groups, machine.ranks(), out.graph);
  return out;
}

/// Which steps' messages the receiver adds to its own, and the piece of each: chunks of its channel are numbered in
/// order.
class StepFacts {
 public:
  explicit StepFacts(const collectives::ExecutionPlan& plan)
      : plan_(plan), adds_(plan.steps.size()), piece_(plan.steps.size(), kNone32) {
    for (std::uint32_t s = 0; s < plan.steps.size(); ++s)
      for (const collectives::PlanSlice& r : plan.reads.row(s))
        if (r.buffer == collectives::PlanBuffer::kMessage) taker_[{r.rank, r.first}] = s;
    for (std::uint32_t s = 0; s < plan.steps.size(); ++s) read(s);
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> numbers;  // per channel and chunk
    for (std::uint32_t s = 0; s < piece_.size(); ++s)
      if (piece_[s] != kNone32) numbers[plan.steps[s].channel][piece_[s]] = 0;
    for (auto& [channel, of] : numbers)
      for (std::uint32_t n = 0; auto& [chunk, number] : of) number = n++;
    for (std::uint32_t s = 0; s < piece_.size(); ++s)
      if (piece_[s] != kNone32) piece_[s] = numbers[plan.steps[s].channel][piece_[s]];
  }
  bool adds(std::uint32_t step) const { return adds_[step]; }
  std::uint32_t piece(std::uint32_t step) const { return piece_[step]; }

 private:
  void read(std::uint32_t s) {
    for (const collectives::PlanSlice& w : plan_.writes.row(s)) {
      const auto taken = taker_.find({w.rank, w.first});
      if (w.buffer != collectives::PlanBuffer::kMessage || taken == taker_.end()) continue;
      adds_[s] = plan_.reads.row(taken->second).size() > 1;
      const auto writes = plan_.writes.row(taken->second), reads = plan_.reads.row(s);
      if (!writes.empty()) piece_[s] = chunk_at(writes[0]);
      if (piece_[s] == kNone32 && !reads.empty()) piece_[s] = chunk_at(reads[0]);
    }
  }
  /// Of the whole collective; kNone32: scratch has no number.
  std::uint32_t chunk_at(const collectives::PlanSlice& s) const {
    if (s.rank >= plan_.ranks) return kNone32;
    if (s.buffer == collectives::PlanBuffer::kInput) return collectives::chunk_of_input(plan_, s.rank, s.first);
    if (s.buffer == collectives::PlanBuffer::kOutput) return collectives::chunk_of_output(plan_, s.rank, s.first);
    return kNone32;
  }

  const collectives::ExecutionPlan& plan_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> taker_;  ///< of a message: by receiver and place
  std::vector<bool> adds_;
  std::vector<std::uint32_t> piece_;
};

/// From the times of messages to those of the prediction.
struct CourseClock {
  double launch_s = 0, factor = 1;
  double operator()(SimTime t) const { return launch_s + t.since_start().in_s() * factor; }
};

CourseClock clock_of(const predict::Prediction& row, const predict::Predictor& machine, double messages_s) {
  CourseClock out{std::min(machine.protocol().launch.in_s(), row.time.in_s()), 1};
  if (messages_s > 0) out.factor = (row.time.in_s() - out.launch_s) / messages_s;
  return out;
}

/// Back from the task that ended last, by what released each.
std::vector<CoursePart> chain_of(const program::MessageGraph& graph, const engine::MessageRun& run,
                                 const CourseClock& clock) {
  std::vector<CoursePart> out;
  std::uint32_t t = 0;
  for (std::uint32_t i = 1; i < run.tasks.size(); ++i)
    if (run.tasks[i].done > run.tasks[t].done) t = i;
  for (double end = clock(run.tasks[t].done); t != kNone32; t = run.tasks[t].released_by) {
    const engine::TaskOutcome& o = run.tasks[t];
    if (graph.tasks[t].is_work()) continue;
    const double start = clock(o.start), sent = std::min(clock(o.sent), end);
    if (end > sent) out.push_back({CoursePartKind::kLatency, sent, end});
    if (sent > start) out.push_back({CoursePartKind::kTransfer, start, sent});
    end = std::min(start, end);
  }
  out.push_back({CoursePartKind::kLaunch, 0, clock.launch_s});
  std::reverse(out.begin(), out.end());
  return out;
}

double mean_latency_s(const engine::MessageRun& run) {
  double sum = 0;
  for (const engine::TaskOutcome& o : run.tasks) sum += o.latency.in_s();
  return sum / static_cast<double>(run.messages);
}

void find_rate(const topology::Topology& t, CollectiveCourse& out) {
  std::map<topology::LinkId, double> load;
  for (const CourseSend& s : out.sends)
    for (const engine::MessageLink& l : out.ways.row(s.way)) load[l.link] += s.bytes * l.share;
  double most_s = 0;
  for (const auto& [link, bytes] : load)
    if (const double s = bytes / t.payload_rate(link); s > most_s) most_s = s, out.busiest = t.name(link);
  if (most_s > 0) out.bytes_per_s = out.law.share * static_cast<double>(count(out.row.size())) / most_s;
}

}  // namespace

Result<CollectiveCourse> course_of(const predict::Prediction& row, const predict::Predictor& machine,
                                   std::size_t most_messages) {
  BUSBAR_RETURN_IF_ERROR(can_be_followed(row));
  BUSBAR_ASSIGN(const CourseSource source, source_of(row, machine, most_messages));
  const program::MessageGraph& graph = source.graph;
  BUSBAR_ASSIGN(const engine::MessageRun run,
                engine::run_messages(machine.router(), machine.placement(), machine.protocol(), row.protocol(), graph,
                                     machine.policy().shortcuts, machine.policy().stop));
  BUSBAR_ASSIGN(engine::MessageWays ways, engine::ways_of_messages(machine.router(), machine.placement(),
                                                                   machine.protocol(), row.protocol(), graph));
  if (run.messages == 0) return unsupported("nothing is sent");
  const CourseClock clock = clock_of(row, machine, run.end.since_start().in_s());
  const StepFacts facts(source.plan);
  CollectiveCourse out;
  out.row = row;
  out.messages_s = clock.launch_s + run.end.since_start().in_s();
  out.ends.resize(ways.links.rows());
  const auto gpu = [&](std::uint32_t rank) {
    return rank == program::MessageTask::kSwitch ? kNone<topology::DeviceId> : machine.placement().gpu(rank);
  };
  for (std::uint32_t t = 0; t < graph.tasks.size(); ++t) {
    const program::MessageTask& m = graph.tasks[t];
    if (m.is_work()) continue;
    const engine::TaskOutcome& o = run.tasks[t];
    out.ends[ways.of[t]] = {gpu(m.from), gpu(m.to)};
    out.sends.push_back({ways.of[t], m.channel, facts.piece(m.step), facts.adds(m.step),
                         static_cast<double>(count(m.bytes)), clock(o.start), clock(o.sent), clock(o.done)});
  }
  std::stable_sort(out.sends.begin(), out.sends.end(),
                   [](const CourseSend& a, const CourseSend& b) { return a.start_s < b.start_s; });
  out.ways = std::move(ways.links);
  out.chain = chain_of(graph, run, clock);
  out.latency_s = mean_latency_s(run);
  out.law = collectives::textbook_law(source.schedule);
  find_rate(machine.cluster().topology, out);
  return out;
}

namespace {

/// The same call, everything but `algorithm` to be chosen.
program::CollectiveCall other_call(const predict::Prediction& row, const std::string& algorithm) {
  program::CollectiveCall call = predict::call_over(row.call.op, row.size(), row.call.groups.size());
  call.groups = row.call.groups;
  call.root = row.call.root;
  call.pairs = row.call.pairs;
  call.algorithm = algorithm;
  return call;
}

/// The rows of the largest size that can be followed.
std::vector<CollectiveCourse> courses_of_rows(const std::vector<predict::Prediction>& rows,
                                              const predict::Predictor& machine) {
  std::vector<CollectiveCourse> out;
  std::map<Bytes, std::vector<const predict::Prediction*>> by_size;
  for (const predict::Prediction& row : rows) by_size[row.size()].push_back(&row);
  for (auto size = by_size.rbegin(); size != by_size.rend() && out.empty(); ++size)
    for (const predict::Prediction* row : size->second)
      if (Result<CollectiveCourse> course = course_of(*row, machine); course.ok()) out.push_back(std::move(*course));
  return out;
}

}  // namespace

std::vector<CollectiveCourse> courses_of(const std::vector<predict::Prediction>& rows, predict::Predictor& machine) {
  std::vector<CollectiveCourse> out = courses_of_rows(rows, machine);
  if (out.empty()) return out;
  const auto faster = [](const CollectiveCourse& a, const CollectiveCourse& b) { return a.row.time < b.row.time; };
  std::stable_sort(out.begin(), out.end(), faster);
  const std::size_t given = out.size();
  for (const predict::Prediction& row : others_at(predict::Prediction(out[0].row), machine)) {
    if (std::any_of(out.begin(), out.end(), [&](const auto& c) { return c.row.algorithm == row.algorithm; })) continue;
    if (Result<CollectiveCourse> course = course_of(row, machine, kMostOfOthers); course.ok())
      out.push_back(std::move(*course));
  }
  std::stable_sort(out.begin() + static_cast<std::ptrdiff_t>(given), out.end(), faster);
  return out;
}

std::vector<predict::Prediction> others_at(const predict::Prediction& row, predict::Predictor& machine) {
  std::vector<predict::Prediction> out;
  for (const std::string& name : machine.legal(other_call(row, "auto")).names)
    if (Result<predict::Prediction> other = machine.time(other_call(row, name), predict::kTimeAlone); other.ok())
      out.push_back(std::move(*other));
  return out;
}

std::vector<predict::Prediction> others_of(const std::vector<predict::Prediction>& rows, predict::Predictor& machine) {
  constexpr std::size_t kMostSizes = 12;
  std::vector<predict::Prediction> out;
  if (rows.empty() || !is_one_group(rows[0]).ok() || rows[0].call.groups.size() > kMostRanksOfOthers) return out;
  const std::size_t step = std::max<std::size_t>(1, (rows.size() - 1) / (kMostSizes - 1));
  for (std::size_t i = (rows.size() - 1) % step; i < rows.size(); i += step)
    for (predict::Prediction& row : others_at(rows[i], machine)) out.push_back(std::move(row));
  return out;
}

Result<std::vector<double>> loads_of(const predict::Prediction& row, predict::Predictor& machine) {
  const topology::Topology& t = machine.cluster().topology;
  const std::unique_ptr<engine::Engine> engine = machine.open_engine();
  BUSBAR_ASSIGN(const program::CallId id, engine->prepare(row.call));
  std::vector<double> out(t.link_count(), 0.0);
  engine->add_bytes_of(id, out);
  for (std::uint32_t l = 0; l < out.size(); ++l) {
    const double full = t.payload_rate(static_cast<topology::LinkId>(l)) * row.time.in_s();
    out[l] = full > 0 ? out[l] / full : 0;
  }
  return out;
}

}  // namespace busbar::questions
