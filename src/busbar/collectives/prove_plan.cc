#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "busbar/base/grouped.h"
#include "busbar/base/id.h"
#include "busbar/collectives/execution_plan.h"

namespace busbar::collectives {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 29;

const char* word_for(PlanBuffer b) {
  static constexpr const char* kWords[] = {"input", "output", "scratch", "message"};
  return kWords[static_cast<std::size_t>(b)];
}

class PlanProver {
 public:
  PlanProver(const ExecutionPlan& plan, const CollectiveDemand& demand) : plan_(plan), demand_(demand) {}

  Result<PlanProof> run() {
    BUSBAR_RETURN_IF_ERROR(lay_out());
    BUSBAR_RETURN_IF_ERROR(order());
    fill_inputs();
    for (const std::uint32_t s : order_) {
      BUSBAR_RETURN_IF_ERROR(check_races(s));
      BUSBAR_RETURN_IF_ERROR(perform(s));
    }
    BUSBAR_RETURN_IF_ERROR(finish());
    return proof_;
  }

 private:
  using Word = std::uint64_t;
  struct Place {
    std::uint32_t chunk = kNone32;       ///< the chunk whose contributions are here
    std::uint32_t writer = kNone32;      ///< the last step that wrote here
    std::vector<std::uint32_t> readers;  ///< the steps that read since then
  };

  Error fail(std::uint32_t step, const std::string& what) const {
    const PlanStep& s = plan_.steps[step];
    std::uint32_t first = step;  // the first step of its thread
    while (first > 0 && plan_.steps[first - 1].thread == s.thread) --first;
    return invalid(fmt::format("{} {}: rank {}, thread {}, step {}: {}", plan_.name, name_of(plan_.op),
                               plan_.rank_of(s), s.thread - first_thread_[plan_.rank_of(s)], step - first, what),
                   plan_.where(s));
  }
  std::string describe(const PlanSlice& s, std::uint32_t i) const {
    return fmt::format("{} chunk {} of rank {}", word_for(s.buffer), s.first + i, s.rank);
  }

  std::string name_of_step(std::uint32_t step) const {
    const PlanStep& s = plan_.steps[step];
    if (s.line > 0) return fmt::format("line {}", s.line);
    const std::uint32_t rank = plan_.rank_of(s);
    return fmt::format("rank {}, thread {}, step {}", rank, s.thread - first_thread_[rank], in_thread_[step]);
  }

  Status lay_out();
  std::size_t place(const PlanSlice& s, std::uint32_t i) const;
  Status in_range(std::uint32_t step, const PlanSlice& s) const;
  Status order();
  void fill_inputs();
  Status check_races(std::uint32_t step);
  bool before(std::uint32_t a, std::uint32_t b) const {
    return clock_[std::size_t{b} * threads_ + plan_.steps[a].thread] > in_thread_[a];
  }
  Status perform(std::uint32_t step);
  Status finish() const;

  const ExecutionPlan& plan_;
  const CollectiveDemand& demand_;
  PlanProof proof_;
  std::uint32_t threads_ = 0;
  std::vector<std::uint32_t> first_thread_;  ///< per rank
  std::vector<std::size_t> input_at_, output_at_, scratch_at_, message_at_;
  std::vector<std::uint32_t> order_, in_thread_, clock_, depth_;
  std::size_t words_ = 1;
  std::vector<Place> places_;
  std::vector<Word> content_;  ///< per place: the ranks whose input it contains
  std::vector<Word> sum_;
};

Status PlanProver::lay_out() {
  const std::uint32_t n = plan_.actors();
  threads_ = static_cast<std::uint32_t>(plan_.thread_rank.size());
  first_thread_.assign(n, 0);
  for (std::uint32_t t = threads_; t-- > 0;) first_thread_[plan_.thread_rank[t]] = t;
  words_ = (plan_.ranks + 63) / 64;
  std::size_t at = 0;
  for (std::uint32_t r = 0; r < n; ++r) {
    const std::uint32_t in = chunks_in(plan_, r, PlanBuffer::kInput), out = chunks_in(plan_, r, PlanBuffer::kOutput);
    const bool own_part = plan_.op == Collective::kAllGather || plan_.op == Collective::kGather;
    const bool whole_in = in >= out;  // in place, the smaller buffer is the rank's part of the larger one
    input_at_.push_back(at + (plan_.in_place && own_part ? std::size_t{r} * in : 0));
    if (!plan_.in_place) at += in;
    output_at_.push_back(at + (plan_.in_place && in > out ? std::size_t{r} * out : 0));
    at += plan_.in_place && whole_in ? in : out;
    scratch_at_.push_back(at);
    at += plan_.scratch[r];
    message_at_.push_back(at);
    at += plan_.messages[r];
  }
  const std::uint64_t clock_bytes = plan_.steps.size() * std::uint64_t{threads_} * sizeof(std::uint32_t);
  if (at * (words_ * sizeof(Word) + sizeof(Place)) > kMostBytes || clock_bytes > kMostBytes)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} steps in {} threads with {} chunks: too much to prove", plan_.steps.size(), threads_, at),
        {plan_.file, 0, 0, ""}};
  places_.resize(at);
  content_.assign(at * words_, 0);
  return {};
}

std::size_t PlanProver::place(const PlanSlice& s, std::uint32_t i) const {
  const std::size_t at = s.buffer == PlanBuffer::kInput     ? input_at_[s.rank]
                         : s.buffer == PlanBuffer::kOutput  ? output_at_[s.rank]
                         : s.buffer == PlanBuffer::kScratch ? scratch_at_[s.rank]
                                                            : message_at_[s.rank];
  return at + s.first + i;
}

Status PlanProver::in_range(std::uint32_t step, const PlanSlice& s) const {
  if (s.rank >= plan_.actors()) return fail(step, fmt::format("there is no rank {}", s.rank));
  const std::uint32_t held = chunks_in(plan_, s.rank, s.buffer);
  const std::uint64_t end = std::uint64_t{s.first} + plan_.steps[step].count;
  if (end <= held) return {};
  return fail(step, fmt::format("uses {} chunk {}, rank {} has {}", word_for(s.buffer), end - 1, s.rank, held));
}

/// An order of all steps that all threads and `after` allow; and for each step, in clock_, how many steps of every
/// thread must be done before it.
Status PlanProver::order() {
  const auto n = static_cast<std::uint32_t>(plan_.steps.size());
  std::vector<std::uint32_t> waits(n, 0);
  in_thread_.assign(n, 0);
  for (std::uint32_t s = 0; s < n; ++s) {
    for (const auto* slices : {&plan_.reads, &plan_.writes})
      for (const PlanSlice& x : slices->row(s)) BUSBAR_RETURN_IF_ERROR(in_range(s, x));
    const bool first = s == 0 || plan_.steps[s].thread != plan_.steps[s - 1].thread;
    if (!first) in_thread_[s] = in_thread_[s - 1] + 1;
    waits[s] = (first ? 0 : 1) + static_cast<std::uint32_t>(plan_.after.row(s).size());
  }
  const Csr<std::uint32_t> next = inverted(plan_.after);
  clock_.assign(std::size_t{n} * threads_, 0);
  depth_.assign(n, 0);
  for (std::uint32_t s = 0; s < n; ++s)
    if (waits[s] == 0) order_.push_back(s);
  const auto pass_on = [&](std::uint32_t from, std::uint32_t to) {
    const std::uint32_t* a = &clock_[std::size_t{from} * threads_];
    std::uint32_t* b = &clock_[std::size_t{to} * threads_];
    for (std::uint32_t t = 0; t < threads_; ++t) b[t] = std::max(b[t], a[t]);
    depth_[to] = std::max(depth_[to], depth_[from]);
    if (--waits[to] == 0) order_.push_back(to);
  };
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::uint32_t s = order_[i];
    const std::uint32_t rank = plan_.rank_of(plan_.steps[s]);
    bool sends = false;
    for (const PlanSlice& x : plan_.writes.row(s)) sends = sends || x.rank != rank;
    for (const PlanSlice& x : plan_.reads.row(s)) sends = sends || x.rank != rank;
    proof_.sends += sends;
    depth_[s] += sends;
    proof_.depth = std::max(proof_.depth, depth_[s]);
    clock_[std::size_t{s} * threads_ + plan_.steps[s].thread] = in_thread_[s] + 1;
    if (s + 1 < n && plan_.steps[s + 1].thread == plan_.steps[s].thread) pass_on(s, s + 1);
    for (const std::uint32_t to : next.row(s)) pass_on(s, to);
  }
  proof_.steps = n;
  if (order_.size() == n) return {};
  const auto stuck = static_cast<std::uint32_t>(
      std::find_if(waits.begin(), waits.end(), [](std::uint32_t w) { return w > 0; }) - waits.begin());
  return fail(stuck, "deadlock: this step waits, through others, for itself");
}

void PlanProver::fill_inputs() {
  const std::uint32_t held = input_chunks(plan_);
  for (std::uint32_t r = 0; r < plan_.ranks; ++r)
    for (std::uint32_t i = 0; i < held; ++i) {
      const std::uint32_t chunk = chunk_of_input(plan_, r, i);
      if (!demand_.has_input(r, chunk)) continue;
      const std::size_t p = place({r, PlanBuffer::kInput, 0}, i);
      places_[p].chunk = chunk;
      content_[p * words_ + r / 64] |= Word{1} << (r % 64);
    }
}

Status PlanProver::check_races(std::uint32_t step) {
  const std::uint32_t count = plan_.steps[step].count;
  const auto clash = [&](const PlanSlice& s, std::uint32_t i, std::uint32_t other, const char* what) {
    return fail(step, fmt::format("{} {}, in no defined order with {}, which does too", what, describe(s, i),
                                  name_of_step(other)));
  };
  for (const PlanSlice& s : plan_.reads.row(step))
    for (std::uint32_t i = 0; i < count; ++i) {
      Place& p = places_[place(s, i)];
      if (p.writer != kNone32 && p.writer != step && !before(p.writer, step)) return clash(s, i, p.writer, "reads");
      p.readers.push_back(step);
    }
  for (const PlanSlice& s : plan_.writes.row(step))
    for (std::uint32_t i = 0; i < count; ++i) {
      Place& p = places_[place(s, i)];
      if (p.writer != kNone32 && p.writer != step && !before(p.writer, step)) return clash(s, i, p.writer, "writes");
      for (const std::uint32_t r : p.readers)
        if (r != step && !before(r, step)) return clash(s, i, r, "writes");
      p.writer = step;
      p.readers.clear();
    }
  return {};
}

Status PlanProver::perform(std::uint32_t step) {
  const auto reads = plan_.reads.row(step);
  const std::uint32_t count = plan_.steps[step].count;
  std::vector<std::uint32_t> chunks;
  sum_.assign(std::size_t{count} * words_, 0);
  for (std::uint32_t i = 0; i < count && !reads.empty(); ++i) {
    Word* sum = &sum_[i * words_];
    chunks.push_back(kNone32);
    for (const PlanSlice& s : reads) {
      const std::size_t p = place(s, i);
      if (places_[p].chunk == kNone32) return fail(step, fmt::format("reads {}, which is empty", describe(s, i)));
      if (chunks[i] == kNone32) chunks[i] = places_[p].chunk;
      if (chunks[i] != places_[p].chunk)
        return fail(step, fmt::format("adds parts {} and {} of the data, the second in {}", chunks[i], places_[p].chunk,
                                      describe(s, i)));
      for (std::size_t w = 0; w < words_; ++w) {
        const Word twice = sum[w] & content_[p * words_ + w];
        if (twice != 0)
          return fail(step, fmt::format("counts the input of rank {} twice, once in {}",
                                        w * 64 + static_cast<std::size_t>(std::countr_zero(twice)), describe(s, i)));
        sum[w] |= content_[p * words_ + w];
      }
    }
  }
  for (const PlanSlice& s : plan_.writes.row(step))
    for (std::uint32_t i = 0; i < count && !reads.empty(); ++i) {
      const std::size_t p = place(s, i);
      places_[p].chunk = chunks[i];
      std::copy_n(&sum_[i * words_], words_, &content_[p * words_]);
    }
  return {};
}

Status PlanProver::finish() const {
  const std::uint32_t held = output_chunks(plan_);
  for (std::uint32_t r = 0; r < plan_.ranks; ++r)
    for (std::uint32_t i = 0; i < held; ++i) {
      const std::uint32_t chunk = chunk_of_output(plan_, r, i);
      if (!demand_.has_output(r, chunk)) continue;
      const std::size_t p = place({r, PlanBuffer::kOutput, 0}, i);
      const auto wrong = [&](const std::string& what) {
        return invalid(
            fmt::format("{} {}: at the end output chunk {} of rank {} {}", plan_.name, name_of(plan_.op), i, r, what),
            {plan_.file, 0, 0, ""});
      };
      if (places_[p].chunk == kNone32) return wrong("holds nothing");
      if (places_[p].chunk != chunk)
        return wrong(fmt::format("holds part {} of the data, not {}", places_[p].chunk, chunk));
      for (std::uint32_t from = 0; from < plan_.ranks; ++from) {
        const bool has = content_[p * words_ + from / 64] >> (from % 64) & 1;
        if (has != demand_.demands(from, chunk))
          return wrong(fmt::format("{} the input of rank {}", has ? "wrongly holds" : "lacks", from));
      }
    }
  return {};
}

}  // namespace

Result<PlanProof> prove(const ExecutionPlan& plan) {
  BUSBAR_ASSIGN(const CollectiveDemand demand, demand_of(plan));
  return PlanProver(plan, demand).run();
}

}  // namespace busbar::collectives
