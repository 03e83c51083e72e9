#include "busbar/runtime/message_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

namespace busbar::runtime {
namespace {

using program::MessageGraph;
using program::MessageTask;

/// Tasks such that each comes after all that it waits for; of those that may be next, the lowest.
Result<std::vector<std::uint32_t>> in_order(const MessageGraph& g) {
  std::vector<std::uint32_t> left(g.tasks.size()), out;
  std::vector<std::vector<std::uint32_t>> waiting(g.tasks.size());
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> next;
  for (std::uint32_t t = 0; t < g.tasks.size(); ++t) {
    left[t] = static_cast<std::uint32_t>(g.after.row(t).size());
    for (const program::TaskEdge& e : g.after.row(t)) waiting[e.task].push_back(t);
    if (left[t] == 0) next.push(t);
  }
  while (!next.empty()) {
    const std::uint32_t task = next.top();
    next.pop();
    out.push_back(task);
    for (const std::uint32_t t : waiting[task])
      if (--left[t] == 0) next.push(t);
  }
  if (out.size() < g.tasks.size())
    return Error{ErrorCode::kInvalid, "some messages wait for each other in a ring, so none of them can be sent", {}};
  return out;
}

/// Bytes that divide every message, but no fewer than 1/1024 of the largest.
std::uint64_t unit_of(const MessageGraph& g) {
  constexpr std::uint64_t kMostChunks = 1024;
  std::uint64_t common = 0, largest = 1;
  for (const MessageTask& t : g.tasks) {
    common = std::gcd(common, count(t.bytes));
    largest = std::max(largest, count(t.bytes));
  }
  return std::max({std::uint64_t{1}, common, (largest + kMostChunks - 1) / kMostChunks});
}

/// Steps as they are found, before they are numbered thread by thread.
class Steps {
 public:
  explicit Steps(const MessageGraph& g, std::uint64_t unit) : graph_(g), unit_(unit) {}

  collectives::ExecutionPlan plan(const std::vector<std::uint32_t>& order) {
    sent_.resize(graph_.tasks.size());
    done_.resize(graph_.tasks.size());
    for (const std::uint32_t t : order) add(t);
    return numbered();
  }

 private:
  struct Step {
    std::uint32_t count = 0;
    std::vector<collectives::PlanSlice> reads{}, writes{};
    std::vector<std::uint32_t> after{};  ///< steps as found
  };
  enum class Does : std::uint8_t { kSend, kReceive, kWork };

  std::uint32_t push(std::uint32_t rank, Does does, std::uint32_t peer, Step step) {
    const auto [it, is_new] = threads_.try_emplace({rank, does, peer}, static_cast<std::uint32_t>(of_thread_.size()));
    if (is_new) {
      of_thread_.emplace_back();
      rank_.push_back(rank);
    }
    of_thread_[it->second].push_back(static_cast<std::uint32_t>(steps_.size()));
    steps_.push_back(std::move(step));
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }

  /// A message is written to the memory of its receiver, who has it once that is done.
  void add(std::uint32_t t) {
    const MessageTask& task = graph_.tasks[t];
    Step first;
    for (const program::TaskEdge& e : graph_.after.row(t))
      first.after.push_back(e.event == program::TaskEvent::kDone ? done_[e.task] : sent_[e.task]);
    if (task.is_work()) {
      sent_[t] = done_[t] = push(task.from, Does::kWork, task.unit, std::move(first));
      return;
    }
    first.count = static_cast<std::uint32_t>((count(task.bytes) + unit_ - 1) / unit_);
    first.reads = {{task.from, collectives::PlanBuffer::kInput, 0}};
    first.writes = {{task.to, collectives::PlanBuffer::kMessage, 0}};
    std::uint32_t& room = room_[{task.to, task.from}];
    room = std::max(room, first.count);
    sent_[t] = push(task.from, Does::kSend, task.to, std::move(first));
    done_[t] = push(task.to, Does::kReceive, task.from, {0, {}, {}, {sent_[t]}});
  }

  collectives::ExecutionPlan numbered() {
    collectives::ExecutionPlan out;
    out.op = collectives::Collective::kBroadcast;  // each rank has a buffer of all chunks
    out.ranks = graph_.ranks;
    out.in_place = true;
    out.thread_rank = rank_;
    out.scratch.assign(out.ranks, 0);
    out.messages.assign(out.ranks, 0);
    out.chunks = 1;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> place;
    for (const auto& [ends, chunks] : room_) {
      place[ends] = out.messages[ends.first];
      out.messages[ends.first] += chunks;
      out.chunks = std::max(out.chunks, chunks);
    }
    std::vector<std::uint32_t> number(steps_.size());
    std::uint32_t next = 0;
    for (const auto& steps : of_thread_)
      for (const std::uint32_t s : steps) number[s] = next++;
    for (std::uint32_t t = 0; t < of_thread_.size(); ++t)
      for (const std::uint32_t s : of_thread_[t]) append(out, t, steps_[s], number, place);
    return out;
  }

  void append(collectives::ExecutionPlan& out, std::uint32_t thread, const Step& s,
              const std::vector<std::uint32_t>& number,
              std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t>& place) const {
    collectives::PlanStep step;
    step.thread = thread;
    step.count = s.count;
    out.steps.push_back(step);
    out.reads.values.insert(out.reads.values.end(), s.reads.begin(), s.reads.end());
    for (collectives::PlanSlice w : s.writes) {
      w.first = place[{w.rank, out.thread_rank[thread]}];
      out.writes.values.push_back(w);
    }
    for (const std::uint32_t a : s.after) out.after.values.push_back(number[a]);
    out.reads.close_row();
    out.writes.close_row();
    out.after.close_row();
  }

  const MessageGraph& graph_;
  std::uint64_t unit_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> sent_, done_;  ///< per task: the step after which it is
  std::map<std::tuple<std::uint32_t, Does, std::uint32_t>, std::uint32_t> threads_;
  std::vector<std::vector<std::uint32_t>> of_thread_;
  std::vector<std::uint32_t> rank_;                                        ///< per thread
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> room_;  ///< chunks, per receiver and sender
};

}  // namespace

Result<MessageProgram> compile_messages(const MessageGraph& graph) {
  constexpr std::size_t kMost = 100'000;
  if (graph.tasks.size() > kMost)
    return Error{ErrorCode::kUnsupported, fmt::format("at most {} messages run for real", kMost), {}};
  for (const MessageTask& t : graph.tasks)
    if (t.from == MessageTask::kSwitch || t.to == MessageTask::kSwitch)
      return Error{ErrorCode::kUnsupported, "no rank plays a switch between messages", {}};
  BUSBAR_ASSIGN(const std::vector<std::uint32_t> order, in_order(graph));
  MessageProgram out;
  out.unit_bytes = unit_of(graph);
  out.program = ready(Steps(graph, out.unit_bytes).plan(order));
  return out;
}

}  // namespace busbar::runtime
