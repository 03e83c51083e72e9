#include "busbar/runtime/internal/messages.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/runtime/executable.h"

namespace busbar::runtime {
namespace {

bool is_message(const collectives::PlanSlice& s) { return s.buffer == collectives::PlanBuffer::kMessage; }

/// The one message that the step writes; null: none, or several.
const collectives::PlanSlice* message_of(const collectives::ExecutionPlan& plan, std::uint32_t step) {
  const collectives::PlanSlice* found = nullptr;
  for (const collectives::PlanSlice& x : plan.writes.row(step)) {
    if (!is_message(x)) continue;
    if (found != nullptr) return nullptr;
    found = &x;
  }
  return found;
}

/// Whether the step does nothing but send what it has.
bool only_sends(const collectives::ExecutionPlan& plan, std::uint32_t step) {
  return plan.reads.row(step).size() == 1 && plan.writes.row(step).size() == 1 && !is_message(plan.reads.row(step)[0]);
}

/// For each step that writes one message: the step that receives all of it; else kNone32.
std::vector<std::uint32_t> receivers(const collectives::ExecutionPlan& plan) {
  const auto n = static_cast<std::uint32_t>(plan.steps.size());
  std::vector<std::vector<std::uint32_t>> reader(plan.actors());
  for (std::uint32_t a = 0; a < plan.actors(); ++a) reader[a].assign(plan.messages[a], kNone32);
  for (std::uint32_t s = 0; s < n; ++s)
    for (const collectives::PlanSlice& x : plan.reads.row(s))
      if (is_message(x)) reader[x.rank][x.first] = s;
  std::vector<std::uint32_t> out(n, kNone32);
  for (std::uint32_t s = 0; s < n; ++s) {
    const collectives::PlanSlice* m = message_of(plan, s);
    if (m == nullptr) continue;
    const std::uint32_t r = reader[m->rank][m->first];
    if (r != kNone32 && plan.steps[r].count == plan.steps[s].count) out[s] = r;
  }
  return out;
}

/// Collects waits to add, and gives the rows with them.
class MoreWaits {
 public:
  explicit MoreWaits(const collectives::ExecutionPlan& plan) : more_(plan.steps.size()) {}
  void add(std::uint32_t step, std::uint32_t after) { more_[step].push_back(after); }
  Csr<std::uint32_t> joined(const Csr<std::uint32_t>& after) {
    Csr<std::uint32_t> out;
    for (std::uint32_t s = 0; s < after.rows(); ++s) {
      std::vector<std::uint32_t>& row = more_[s];
      row.insert(row.end(), after.row(s).begin(), after.row(s).end());
      std::sort(row.begin(), row.end());
      row.erase(std::unique(row.begin(), row.end()), row.end());
      out.values.insert(out.values.end(), row.begin(), row.end());
      out.close_row();
    }
    return out;
  }

 private:
  std::vector<std::vector<std::uint32_t>> more_;
};

/// Whether `step` writes what `s` names.
bool writes(const collectives::ExecutionPlan& plan, std::uint32_t step, const collectives::PlanSlice& s,
            std::uint32_t count) {
  const std::uint32_t n = plan.steps[step].count;
  const auto touches = [&](const collectives::PlanSlice& w) {
    return w.rank == s.rank && w.buffer == s.buffer && w.first < s.first + count && s.first < w.first + n;
  };
  const auto row = plan.writes.row(step);
  return std::any_of(row.begin(), row.end(), touches);
}

}  // namespace

/// Who waited for a send, to overwrite what it read, now waits for the receiver, who reads it.
collectives::ExecutionPlan without_messages(collectives::ExecutionPlan plan) {
  std::vector<std::uint32_t> receiver = receivers(plan);
  const auto n = static_cast<std::uint32_t>(plan.steps.size());
  std::vector<collectives::PlanSlice> sent(n, collectives::PlanSlice{kNone32});
  MoreWaits more(plan);
  for (std::uint32_t s = 0; s < n; ++s) {
    if (receiver[s] != kNone32 && !only_sends(plan, s)) receiver[s] = kNone32;
    if (receiver[s] == kNone32) continue;
    sent[receiver[s]] = plan.reads.row(s)[0];
    for (std::uint32_t t = s + 1; t < n && plan.steps[t].thread == plan.steps[s].thread; ++t)
      if (writes(plan, t, sent[receiver[s]], plan.steps[s].count)) {
        more.add(t, receiver[s]);
        break;
      }
  }
  Csr<collectives::PlanSlice> reads, written;
  for (std::uint32_t s = 0; s < n; ++s) {
    for (const std::uint32_t a : plan.after.row(s))
      if (receiver[a] != kNone32 && plan.steps[receiver[a]].thread != plan.steps[s].thread) more.add(s, receiver[a]);
    if (receiver[s] == kNone32) {
      const bool direct = sent[s].rank != kNone32;
      for (const collectives::PlanSlice& x : plan.reads.row(s))
        reads.values.push_back(direct && is_message(x) ? sent[s] : x);
      for (const collectives::PlanSlice& x : plan.writes.row(s)) written.values.push_back(x);
    }
    reads.close_row();
    written.close_row();
  }
  plan.after = more.joined(plan.after);
  for (std::uint32_t s = 0; s < n; ++s)
    if (receiver[s] != kNone32) plan.steps[s].count = 0;
  plan.reads = std::move(reads);
  plan.writes = std::move(written);
  return plan;
}

namespace {

/// How many steps write each place. What is there at the beginning of a run counts as written once.
class Writers {
 public:
  Writers(const Executable& x, const collectives::CollectiveDemand& demand) : x_(x) {
    const collectives::ExecutionPlan& plan = x.plan;
    for (std::uint32_t a = 0; a < plan.actors(); ++a) times_.emplace_back(x.chunks_of(a), 0);
    for (std::uint32_t r = 0; r < plan.ranks; ++r)
      for (std::uint32_t i = 0; i < collectives::input_chunks(plan); ++i) {
        const std::uint32_t chunk = collectives::chunk_of_input(plan, r, i);
        if (chunk != kNone32 && demand.has_input(r, chunk))
          ++times_[r][x.place({r, collectives::PlanBuffer::kInput, i})];
      }
    for (std::uint32_t s = 0; s < plan.steps.size(); ++s)
      for (const collectives::PlanSlice& w : plan.writes.row(s))
        for (std::uint32_t i = 0; i < plan.steps[s].count; ++i) ++times_[w.rank][x.place(w) + i];
  }
  bool only_one(const collectives::PlanSlice& s, std::uint32_t count) const {
    const auto first = times_[s.rank].begin() + x_.place(s);
    return std::all_of(first, first + count, [](std::uint32_t n) { return n == 1; });
  }

 private:
  const Executable& x_;
  std::vector<std::vector<std::uint32_t>> times_;  ///< per actor and chunk
};

/// Whether the step does nothing but copy a message to a place of its actor.
bool only_receives(const collectives::ExecutionPlan& plan, std::uint32_t step) {
  const auto reads = plan.reads.row(step), writes = plan.writes.row(step);
  return reads.size() == 1 && writes.size() == 1 && is_message(reads[0]) && !is_message(writes[0]) &&
         writes[0].rank == plan.rank_of(plan.steps[step]);
}

}  // namespace

Result<collectives::ExecutionPlan> with_puts(collectives::ExecutionPlan plan) {
  BUSBAR_ASSIGN(const collectives::CollectiveDemand demand, collectives::demand_of(plan));
  const std::vector<std::uint32_t> receiver = receivers(plan);
  const Executable x = lay_out(plan);
  const Writers writers(x, demand);
  std::vector<bool> done(plan.steps.size(), false);  // receives that have nothing left to do
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
    const std::uint32_t r = receiver[s];
    if (r == kNone32 || !only_receives(plan, r)) continue;
    const collectives::PlanSlice to = plan.writes.row(r)[0];
    if (!writers.only_one(to, plan.steps[r].count)) continue;
    for (std::uint32_t i = plan.writes.begin[s]; i < plan.writes.begin[s + 1]; ++i)
      if (is_message(plan.writes.values[i])) plan.writes.values[i] = to;
    done[r] = true;
  }
  Csr<collectives::PlanSlice> reads, written;
  for (std::uint32_t s = 0; s < plan.steps.size(); ++s) {
    if (done[s]) {
      plan.steps[s].count = 0;
    } else {
      for (const collectives::PlanSlice& r : plan.reads.row(s)) reads.values.push_back(r);
      for (const collectives::PlanSlice& w : plan.writes.row(s)) written.values.push_back(w);
    }
    reads.close_row();
    written.close_row();
  }
  plan.reads = std::move(reads);
  plan.writes = std::move(written);
  return plan;
}

namespace {

/// The messages from one thread to another, in order.
struct Connection {
  std::vector<std::uint32_t> sends;
  std::uint32_t most = 0;  ///< chunks of the longest
};

}  // namespace

collectives::ExecutionPlan with_slots(collectives::ExecutionPlan plan, std::uint32_t slots) {
  const std::vector<std::uint32_t> receiver = receivers(plan);
  const auto n = static_cast<std::uint32_t>(plan.steps.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, Connection> connections;
  for (std::uint32_t s = 0; s < n; ++s) {
    const bool sends = message_of(plan, s) != nullptr;
    if (sends && receiver[s] == kNone32) return plan;
    if (!sends) continue;
    Connection& c = connections[{plan.steps[s].thread, plan.steps[receiver[s]].thread}];
    c.sends.push_back(s);
    c.most = std::max(c.most, plan.steps[s].count);
  }
  MoreWaits more(plan);
  plan.messages.assign(plan.actors(), 0);
  const auto move_to = [&](Csr<collectives::PlanSlice>& slices, std::uint32_t step, std::uint32_t first) {
    for (std::uint32_t i = slices.begin[step]; i < slices.begin[step + 1]; ++i)
      if (is_message(slices.values[i])) slices.values[i].first = first;
  };
  for (const auto& [threads, c] : connections) {
    const std::uint32_t actor = plan.thread_rank[threads.second], base = plan.messages[actor];
    const auto used = std::min<std::uint32_t>(slots, static_cast<std::uint32_t>(c.sends.size()));
    plan.messages[actor] += used * c.most;
    for (std::uint32_t j = 0; j < c.sends.size(); ++j) {
      move_to(plan.writes, c.sends[j], base + j % used * c.most);
      move_to(plan.reads, receiver[c.sends[j]], base + j % used * c.most);
      if (j >= used && threads.first != threads.second) more.add(c.sends[j], receiver[c.sends[j - used]]);
    }
  }
  plan.after = more.joined(plan.after);
  return plan;
}

}  // namespace busbar::runtime
