#include "busbar/runtime/executable.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/base/grouped.h"
#include "busbar/runtime/internal/messages.h"

namespace busbar::runtime {

Executable lay_out(collectives::ExecutionPlan plan) {
  Executable out;
  const std::uint32_t in = collectives::input_chunks(plan), result = collectives::output_chunks(plan);
  const bool gives_part = plan.op == collectives::Collective::kAllGather || plan.op == collectives::Collective::kGather;
  for (std::uint32_t a = 0; a < plan.actors(); ++a) {
    const bool rank = a < plan.ranks, joined = rank && plan.in_place;
    const std::uint32_t first_in = joined && gives_part ? a * in : 0;
    const std::uint32_t first_out = !rank ? 0 : !plan.in_place ? in : in > result ? a * result : 0;
    const std::uint32_t held = !rank ? 0 : plan.in_place ? std::max(in, result) : in + result;
    const std::uint32_t places[] = {first_in, first_out, held, held + plan.scratch[a],
                                    held + plan.scratch[a] + plan.messages[a]};
    out.places_.insert(out.places_.end(), std::begin(places), std::end(places));
  }
  out.plan = std::move(plan);
  return out;
}

namespace {

/// Where each thread begins, and which threads an actor performs.
void number_threads(Executable& x) {
  const auto& steps = x.plan.steps;
  std::vector<std::vector<std::uint32_t>> threads(x.plan.actors());
  x.first_step.assign(x.threads() + 1, static_cast<std::uint32_t>(steps.size()));
  for (std::size_t s = steps.size(); s-- > 0;) x.first_step[steps[s].thread] = static_cast<std::uint32_t>(s);
  for (std::uint32_t t = x.threads(); t-- > 0;) x.first_step[t] = std::min(x.first_step[t], x.first_step[t + 1]);
  for (std::uint32_t t = 0; t < x.threads(); ++t) threads[x.plan.thread_rank[t]].push_back(t);
  for (const auto& of_actor : threads) {
    x.threads_of.values.insert(x.threads_of.values.end(), of_actor.begin(), of_actor.end());
    x.threads_of.close_row();
  }
}

void add_waits(Executable& x) {
  for (std::uint32_t s = 0; s < x.plan.steps.size(); ++s) {
    for (const std::uint32_t a : x.plan.after.row(s)) {
      const std::uint32_t thread = x.plan.steps[a].thread;
      x.waits.values.push_back({thread, a - x.first_step[thread] + 1});
    }
    x.waits.close_row();
  }
}

/// The threads that touch one place, and whether they write it.
struct Touched {
  std::uint32_t thread = 0;
  bool writes = false;
  bool operator==(const Touched&) const = default;
};

/// Calls f(place, writes) for each place, of all actors one after another, that the step touches.
template <typename F>
void for_each_place(const Executable& x, const std::vector<std::size_t>& begin, std::uint32_t step, F&& f) {
  for (const auto& [slices, writes] : {std::pair(&x.plan.reads, false), std::pair(&x.plan.writes, true)})
    for (const collectives::PlanSlice& s : slices->row(step))
      for (std::uint32_t i = 0; i < x.plan.steps[step].count; ++i) f(begin[s.rank] + x.place(s) + i, writes);
}

/// A step must not touch a place while a thread that is still in the run before needs it. The first step of a thread
/// that waits for another thread's run waits for all later ones.
void add_earlier(Executable& x) {
  std::vector<std::size_t> begin{0};
  for (std::uint32_t a = 0; a < x.plan.actors(); ++a) begin.push_back(begin.back() + x.chunks_of(a));
  std::vector<std::vector<Touched>> touched(begin.back());
  const auto n = static_cast<std::uint32_t>(x.plan.steps.size());
  for (std::uint32_t s = 0; s < n; ++s)
    for_each_place(x, begin, s, [&](std::size_t place, bool writes) {
      const Touched one{x.plan.steps[s].thread, writes};
      if (std::find(touched[place].begin(), touched[place].end(), one) == touched[place].end())
        touched[place].push_back(one);
    });
  std::vector<std::uint32_t> known(x.threads(), 0);  // 1 + the thread that last waited for this one
  for (std::uint32_t s = 0; s < n; ++s) {
    const std::uint32_t own = x.plan.steps[s].thread;
    for (const Wait& w : x.waits.row(s)) known[w.thread] = own + 1;
    for_each_place(x, begin, s, [&](std::size_t place, bool writes) {
      for (const Touched& t : touched[place]) {
        if (t.thread == own || !(writes || t.writes) || known[t.thread] == own + 1) continue;
        known[t.thread] = own + 1;
        x.earlier.values.push_back(t.thread);
      }
    });
    x.earlier.close_row();
  }
}

/// Whether a step writes memory of another actor other than a message.
bool writes_to_others(const collectives::ExecutionPlan& plan) {
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s)
    for (const collectives::PlanSlice& w : plan.writes.row(s))
      if (w.rank != plan.rank_of(plan.steps[s]) && w.buffer != collectives::PlanBuffer::kMessage) return true;
  return false;
}

bool reads_from_others(const collectives::ExecutionPlan& plan) {
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s)
    for (const collectives::PlanSlice& r : plan.reads.row(s))
      if (r.rank != plan.rank_of(plan.steps[s])) return true;
  return false;
}

/// A thread per rank with an output, which divides it when all steps that touch it are done.
void add_divisions(collectives::ExecutionPlan& plan, const collectives::CollectiveDemand& demand) {
  const auto n = static_cast<std::uint32_t>(plan.steps.size());
  std::vector<std::vector<std::uint32_t>> last(plan.ranks, std::vector<std::uint32_t>(plan.thread_rank.size(), n));
  for (std::uint32_t s = 0; s < n; ++s)
    for (const auto* slices : {&plan.reads, &plan.writes})
      for (const collectives::PlanSlice& x : slices->row(s))
        if (x.rank < plan.ranks && (x.buffer == collectives::PlanBuffer::kOutput || plan.in_place))
          last[x.rank][plan.steps[s].thread] = s;
  for (std::uint32_t r = 0; r < plan.ranks; ++r) {
    if (!demand.has_output(r, collectives::chunk_of_output(plan, r, 0))) continue;
    collectives::PlanStep step;
    step.thread = static_cast<std::uint32_t>(plan.thread_rank.size());
    step.count = collectives::output_chunks(plan);
    plan.thread_rank.push_back(r);
    plan.steps.push_back(step);
    for (Csr<collectives::PlanSlice>* slices : {&plan.reads, &plan.writes}) {
      slices->values.push_back({r, collectives::PlanBuffer::kOutput, 0});
      slices->close_row();
    }
    for (const std::uint32_t s : last[r])
      if (s < n) plan.after.values.push_back(s);
    plan.after.close_row();
  }
}

/// The messages as the memory wants them: not at all where the receiver may read for itself and nothing then waits for
/// itself, as exchanges in place would. Without shared memory, none whose sender may write where they belong.
collectives::ExecutionPlan with_messages_for(collectives::ExecutionPlan plan, bool shared_memory) {
  if (shared_memory) {
    collectives::ExecutionPlan direct = without_messages(plan);
    if (collectives::prove(direct).ok()) return direct;
  }
  if (!shared_memory) {
    if (const auto put = with_puts(plan); put.ok()) {
      collectives::ExecutionPlan slotted = with_slots(*put, kSlots);
      if (collectives::prove(slotted).ok()) return slotted;
    }
  }
  collectives::ExecutionPlan slotted = with_slots(plan, kSlots);
  return collectives::prove(slotted).ok() ? slotted : plan;
}

}  // namespace

bool reduces(collectives::Collective op) {
  return op == collectives::Collective::kAllReduce || op == collectives::Collective::kReduceScatter ||
         op == collectives::Collective::kReduce;
}

Result<Executable> compile(collectives::ExecutionPlan plan, const CompileOptions& options) {
  BUSBAR_ASSIGN(const collectives::CollectiveDemand demand, collectives::demand_of(plan));
  const bool writes_others = !options.shared_memory && writes_to_others(plan);
  plan = with_messages_for(std::move(plan), options.shared_memory);
  BUSBAR_ASSIGN(const collectives::PlanProof proof, collectives::prove(plan));
  (void)proof;
  const auto steps = static_cast<std::uint32_t>(plan.steps.size());
  if (options.average && reduces(plan.op)) add_divisions(plan, demand);
  Executable out = ready(std::move(plan));
  if (!options.shared_memory) out.writes_others = writes_others;
  out.first_division = steps;
  return out;
}

Executable ready(collectives::ExecutionPlan plan) {
  Executable out = lay_out(std::move(plan));
  out.first_division = static_cast<std::uint32_t>(out.plan.steps.size());
  number_threads(out);
  add_waits(out);
  add_earlier(out);
  out.reads_others = reads_from_others(out.plan);
  out.writes_others = writes_to_others(out.plan);
  return out;
}

Result<collectives::ExecutionPlan> plan_in_pieces(const collectives::Schedule& schedule, std::uint64_t bytes,
                                                  std::uint64_t piece_bytes, bool in_place) {
  constexpr std::uint64_t kMostLanes = 16, kMostChunks = 4096;  // so that a proof takes a fraction of a second
  const std::uint64_t chunk = bytes / std::max(1u, schedule.chunks_per_buffer());
  const std::uint64_t most = std::max<std::uint64_t>(1, kMostChunks / std::max(1u, schedule.chunks));
  const std::uint64_t wanted = piece_bytes == 0 ? 1 : chunk / piece_bytes;
  const auto lanes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, std::min(kMostLanes, most)));
  return collectives::plan_with_reducers(schedule, in_place, {lanes, 0, 1});
}

}  // namespace busbar::runtime
