#include <fmt/core.h>

#include <algorithm>

#include "busbar/program/message_graph.h"

namespace busbar::program {
namespace {

constexpr std::size_t kMostTasks = 4'000'000;

class MessageLister {
 public:
  MessageLister(const collectives::ExecutionPlan& plan, Bytes bytes, std::uint32_t loops, LoopOrder order)
      : p_(plan), loops_(loops), by_step_(order == LoopOrder::kStepByStep) {
    g_.ranks = plan.ranks;
    bytes_ = count(bytes);
    last_.resize(plan.thread_rank.size());
  }

  Result<MessageGraph> run() {
    BUSBAR_RETURN_IF_ERROR(order());
    for (loop_ = 0; loop_ < loops_; ++loop_) {
      before_.swap(ends_);
      ends_.assign(p_.steps.size(), {});
      if (by_step_) last_.assign(last_.size(), {});
      for (const std::uint32_t s : order_) {
        add(s);
        if (g_.tasks.size() > kMostTasks)
          return Error{ErrorCode::kUnsupported,
                       fmt::format("{} over {} ranks is more than {} messages", p_.name, p_.ranks, kMostTasks),
                       {p_.file, 0, 0, ""}};
      }
    }
    return std::move(g_);
  }

 private:
  using Edges = std::vector<TaskEdge>;
  /// The events after which a step counts as done, for steps of the same rank and for steps of others.
  struct Ends {
    Edges here, there;
  };

  /// Steps in an order that all threads and dependencies allow.
  Status order() {
    const auto n = static_cast<std::uint32_t>(p_.steps.size());
    std::vector<std::uint32_t> waits(n, 0);
    std::vector<std::vector<std::uint32_t>> next(n);
    for (std::uint32_t s = 0; s < n; ++s) {
      if (s > 0 && p_.steps[s].thread == p_.steps[s - 1].thread) next[s - 1].push_back(s), ++waits[s];
      for (const std::uint32_t a : p_.after.row(s)) next[a].push_back(s), ++waits[s];
    }
    for (std::uint32_t s = 0; s < n; ++s)
      if (waits[s] == 0) order_.push_back(s);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const std::uint32_t s : next[order_[i]])
        if (--waits[s] == 0) order_.push_back(s);
    if (order_.size() == n) return note_telling(next);
    return invalid(fmt::format("{}: steps wait for each other", p_.name), {p_.file, 0, 0, ""});
  }

  bool sends(std::uint32_t s) const {
    for (const auto* slices : {&p_.reads, &p_.writes})
      for (const collectives::PlanSlice& x : slices->row(s))
        if (x.rank != p_.rank_of(p_.steps[s]) || p_.steps[s].in_switch) return true;
    return false;
  }
  /// Marks steps without a message of their own on which other ranks depend, and their predecessors on the same rank.
  /// The messages of marked steps must have arrived before they count as done; those of all others need only have left.
  Status note_telling(const std::vector<std::vector<std::uint32_t>>& next) {
    tells_.assign(p_.steps.size(), false);
    for (std::size_t i = order_.size(); i-- > 0;) {
      const std::uint32_t s = order_[i];
      for (const std::uint32_t t : next[s]) {
        const bool elsewhere = p_.rank_of(p_.steps[t]) != p_.rank_of(p_.steps[s]);
        if (elsewhere ? !sends(s) : tells_[t] && !sends(t)) tells_[s] = true;
      }
    }
    return {};
  }

  /// Bytes of `at` chunks of the current part. If bytes do not divide evenly, parts differ by less than a byte per
  /// chunk.
  std::uint64_t bytes_before(std::uint64_t at) const {
    const unsigned __int128 chunk_bytes = static_cast<unsigned __int128>(bytes_) * at;
    const unsigned __int128 per_loop = static_cast<unsigned __int128>(p_.chunks) * loops_;
    return static_cast<std::uint64_t>((chunk_bytes * (loop_ + 1)) / per_loop - chunk_bytes * loop_ / per_loop);
  }
  Bytes size_of(const collectives::PlanStep& s) const { return Bytes{bytes_before(s.count)}; }

  static void merge(Edges& into, const Edges& more) {
    into.insert(into.end(), more.begin(), more.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
  }
  /// Replaces a long list by one task that takes no time, so that the list is not copied again and again.
  void shorten(Edges& e, std::uint32_t rank) {
    constexpr std::size_t kLong = 4;
    if (e.size() <= kLong) return;
    const std::uint32_t t = task({rank, rank}, e);
    e = {{t, TaskEvent::kDone}};
  }
  std::uint32_t task(const MessageTask& t, const Edges& after) {
    g_.tasks.push_back(t);
    g_.after.values.insert(g_.after.values.end(), after.begin(), after.end());
    g_.after.close_row();
    return static_cast<std::uint32_t>(g_.tasks.size()) - 1;
  }

  void add(std::uint32_t s) {
    const collectives::PlanStep& step = p_.steps[s];
    const std::uint32_t rank = p_.rank_of(step);
    Ends& before = last_[step.thread];
    Edges start = before.here, there = tells_[s] ? before.there : Edges();
    for (const std::uint32_t a : p_.after.row(s)) {
      const bool here = p_.rank_of(p_.steps[a]) == rank;
      merge(start, here ? ends_[a].here : ends_[a].there);
      if (tells_[s]) merge(there, ends_[a].there);
    }
    if (by_step_ && loop_ > 0) merge(start, before_[s].here);
    shorten(start, rank);
    shorten(there, rank);
    Ends ends;
    const auto send = [&](std::uint32_t from, std::uint32_t to, Bytes bytes) {
      const std::uint32_t t = task({from, to, bytes, {}, MessageTask::kNoUnit, step.channel, s}, start);
      ends.here.push_back({t, to == rank ? TaskEvent::kDone : TaskEvent::kSent});
      ends.there.push_back({t, TaskEvent::kDone});
    };
    for (const auto* slices : {&p_.reads, &p_.writes})
      for (const collectives::PlanSlice& x : slices->row(s)) {
        const bool reads = slices == &p_.reads;
        const Bytes bytes = size_of(step);
        if (step.in_switch && (reads ? p_.reads.row(s).size() : p_.writes.row(s).size()) > 1)
          reads ? send(x.rank, MessageTask::kSwitch, bytes) : send(MessageTask::kSwitch, x.rank, bytes);
        else if (x.rank != rank)
          reads ? send(x.rank, rank, bytes) : send(rank, x.rank, bytes);
      }
    if (step.in_switch && p_.reads.row(s).size() > 1) send(MessageTask::kSwitch, rank, size_of(step));
    if (step.in_switch && p_.writes.row(s).size() > 1) send(rank, MessageTask::kSwitch, size_of(step));
    if (ends.here.empty()) ends = {std::move(start), std::move(there)};
    std::sort(ends.here.begin(), ends.here.end());
    std::sort(ends.there.begin(), ends.there.end());
    before = ends;
    ends_[s] = std::move(ends);
  }

  const collectives::ExecutionPlan& p_;
  std::uint32_t loops_, loop_ = 0;
  bool by_step_;
  std::uint64_t bytes_ = 0;
  MessageGraph g_;
  std::vector<std::uint32_t> order_;
  std::vector<bool> tells_;                 ///< per step
  std::vector<Ends> last_, ends_, before_;  ///< per thread; per step, of this loop and of the one before
};

}  // namespace

MessageGraph after_work(const MessageGraph& graph, Duration work) {
  MessageGraph out{graph.ranks, {}, {}, graph.nics};
  for (std::uint32_t r = 0; r < graph.ranks; ++r) {
    out.tasks.push_back({r, r, {}, work});
    out.after.close_row();
  }
  out.tasks.insert(out.tasks.end(), graph.tasks.begin(), graph.tasks.end());
  for (std::uint32_t t = 0; t < graph.tasks.size(); ++t) {
    for (const TaskEdge& e : graph.after.row(t)) out.after.values.push_back({graph.ranks + e.task, e.event});
    const std::uint32_t from = graph.tasks[t].from;
    if (graph.after.row(t).empty() && from < graph.ranks) out.after.values.push_back({from, TaskEvent::kDone});
    out.after.close_row();
  }
  return out;
}

Result<MessageGraph> messages_of(const collectives::ExecutionPlan& plan, Bytes bytes, std::uint32_t loops,
                                 LoopOrder order) {
  return MessageLister(plan, bytes, std::max(loops, 1u), order).run();
}

}  // namespace busbar::program
