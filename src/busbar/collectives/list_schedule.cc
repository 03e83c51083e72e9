// A schedule's moves as steps of threads. Each step waits for its predecessors.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "busbar/base/id.h"
#include "busbar/collectives/execution_plan.h"
#include "busbar/collectives/moves.h"

namespace busbar::collectives {
namespace {

class PlanLister {
 public:
  PlanLister(const Schedule& s, bool in_place, PlanLanes lanes) : s_(s), lanes_(lanes) {
    plan_.name = s.algorithm;
    plan_.op = s.op;
    plan_.ranks = s.ranks;
    plan_.root = s.root;
    plan_.reducers = s.reducers;
    plan_.chunks = s.chunks_per_buffer() * lanes.lanes;
    if (s.op == Collective::kAllToAllV) list_pairs();
    plan_.in_place = in_place;
    plan_.scratch.assign(plan_.actors(), 0);
    plan_.messages.assign(plan_.actors(), 0);
    scratch_of_.assign(std::size_t{plan_.actors()} * s.chunks * lanes.lanes, kNone32);
    written_.assign(std::size_t{plan_.actors()} * s.chunks * lanes.lanes, false);
  }

  /// Places of the chunks of each pair, and the pairs of the plan.
  void list_pairs() {
    const std::uint32_t n = s_.ranks;
    std::vector<std::uint32_t> received(n, 0);
    for (std::uint32_t src = 0; src < n; ++src)
      for (std::uint32_t dst = 0; dst < n; ++dst) {
        const std::uint32_t first = s_.pairs.first(n, src, dst);
        plan_.pairs.begin.push_back(first * lanes_.lanes);
        for (std::uint32_t i = 0; i < s_.pairs.count(n, src, dst); ++i) {
          in_input_.push_back(first + i - s_.pairs.first(n, src, 0));
          in_output_.push_back(received[dst]++);
        }
      }
    plan_.pairs.begin.push_back(s_.chunks * lanes_.lanes);
  }

  Result<ExecutionPlan> run() {
    BUSBAR_ASSIGN(const CollectiveDemand demand, demand_of(plan_));
    for (lane_ = 0; lane_ < lanes_.lanes; ++lane_, last_round_.clear())
      for (const Phase& phase : s_.phases) {
        by_rounds_ = is_stepwise(phase.pattern) && rounds(s_, phase) > 1;
        if (std::exchange(channel_, phase.channel) != phase.channel) last_round_.clear();
        for (std::uint32_t r = 0; r < rounds(s_, phase); ++r) {
          for_each_move(s_, phase, r, [&](const Move& m) { add(m, channel_of(phase)); });
          end_round();
        }
      }
    if (!plan_.in_place) copy_inputs(demand);
    flatten();
    return std::move(plan_);
  }

 private:
  struct Listed {
    PlanStep step;
    std::vector<PlanSlice> reads, writes;
    std::vector<std::uint32_t> after;  ///< in order of creation
  };
  struct Touched {
    std::uint32_t writer = kNone32;
    std::vector<std::uint32_t> readers;
  };
  using Spot = std::tuple<std::uint32_t, PlanBuffer, std::uint32_t>;

  /// Numbered as in NCCL: the channels of all orders and lanes, then channels that share an order with an earlier one.
  std::uint32_t channel_of(const Phase& phase) const {
    const std::uint32_t per_order = std::min(s_.traits.channels_per_order, s_.channels);
    const std::uint32_t orders = s_.channels / per_order;
    const std::uint32_t order = phase.channel / per_order, mate = phase.channel % per_order;
    if (lanes_.stride == 0 || lanes_.lanes == 1) return (mate * lanes_.lanes + lane_) * orders + order;
    return (mate * orders + order) * lanes_.nics + (order + lane_ * lanes_.stride) % lanes_.nics;
  }

  /// A rank's sends of the next round wait for everything that it sent and received in this round.
  void end_round() {
    for (auto& [rank, steps] : this_round_) last_round_[rank] = std::move(steps);
    this_round_.clear();
    if (!by_rounds_) last_round_.clear();
  }

  /// The index in the plan, in which the lanes share each chunk.
  std::size_t part(std::uint32_t rank, std::uint32_t c) const {
    return (std::size_t{rank} * s_.chunks + c) * lanes_.lanes + lane_;
  }

  /// The place of chunk c in a buffer of `rank`.
  std::uint32_t place_of(std::uint32_t rank, Buffer buffer, std::uint32_t c) {
    if (buffer == Buffer::kScratch) {
      std::uint32_t& at = scratch_of_[part(rank, c)];
      if (at == kNone32) at = plan_.scratch[rank]++;
      return at;
    }
    return chunk_place(buffer, s_.part_of(c)) * lanes_.lanes + lane_;
  }
  std::uint32_t chunk_place(Buffer buffer, std::uint32_t part) const {
    if (s_.op == Collective::kSendRecv && s_.parts > 0) return part % s_.parts;
    if (s_.op == Collective::kAllToAllV) return buffer == Buffer::kInput ? in_input_[part] : in_output_[part];
    if (s_.parts > 0) {  // all-to-all: by source, then destination
      const std::uint32_t each = s_.parts / s_.ranks;
      return buffer == Buffer::kInput ? part % s_.parts : part / s_.parts * each + part % each;
    }
    const std::uint32_t held = (buffer == Buffer::kInput ? input_chunks(plan_) : output_chunks(plan_)) / lanes_.lanes;
    return held == s_.chunks ? part : part % held;
  }

  /// The source of a read: an output that no step has written yet holds the input.
  Buffer read_from(std::uint32_t rank, Buffer buffer, std::uint32_t c) const {
    return buffer == Buffer::kOutput && !written_[part(rank, c)] ? Buffer::kInput : buffer;
  }
  PlanSlice slice(std::uint32_t rank, Buffer buffer, std::uint32_t c) {
    return {rank, static_cast<PlanBuffer>(buffer), place_of(rank, buffer, c)};
  }

  /// Chunks of the move that are adjacent in all buffers go in one step.
  void add(const Move& m, std::uint32_t channel) {
    const std::uint32_t end = m.first_chunk + m.chunk_count;
    for (std::uint32_t c = m.first_chunk; c < end;) {
      const PlanSlice from = slice(m.src, read_from(m.src, m.src_buffer, c), c), to = slice(m.dst, m.dst_buffer, c);
      const PlanSlice own = m.reduce ? slice(m.dst, read_from(m.dst, m.operand, c), c) : to;
      std::uint32_t n = 1;
      const auto follows = [n = &n](const PlanSlice& a, const PlanSlice& b) {
        return a.buffer == b.buffer && a.first + *n == b.first;
      };
      while (c + n < end && follows(from, slice(m.src, read_from(m.src, m.src_buffer, c + n), c + n)) &&
             follows(to, slice(m.dst, m.dst_buffer, c + n)) &&
             (!m.reduce || follows(own, slice(m.dst, read_from(m.dst, m.operand, c + n), c + n))))
        ++n;
      const PlanSlice message{m.dst, PlanBuffer::kMessage, plan_.messages[m.dst]};
      plan_.messages[m.dst] += n;
      plan_.channels = std::max(plan_.channels, channel + 1);
      const std::uint32_t send = step(m.src, thread(m.src, channel, m.dst, true), channel, n, {from}, {message});
      std::vector<PlanSlice> taken{message};
      if (m.reduce) taken.push_back(own);
      const std::uint32_t receive = step(m.dst, thread(m.dst, channel, m.src, false), channel, n, taken, {to});
      steps_[receive].after.push_back(send);
      for (std::uint32_t i = 0; i < n && m.dst_buffer == Buffer::kOutput; ++i) written_[part(m.dst, c + i)] = true;
      if (by_rounds_) {
        for (const std::uint32_t before : last_round_[m.src])
          if (steps_[before].step.thread != steps_[send].step.thread) steps_[send].after.push_back(before);
        this_round_[m.src].push_back(send);
        this_round_[m.dst].push_back(receive);
      }
      c += n;
    }
  }

  /// What a rank keeps. Of an all_to_allv, which may have many chunks per pair, those of one pair go in one step.
  void copy_inputs(const CollectiveDemand& demand) {
    for (lane_ = 0; lane_ < lanes_.lanes; ++lane_)
      for (std::uint32_t r = 0; r < s_.ranks; ++r)
        for (std::uint32_t c = 0; c < s_.chunks; ++c) {
          if (!demand.has_input(r, number_of(c)) || !demand.has_output(r, number_of(c)) || written_[part(r, c)])
            continue;
          const bool whole = s_.op == Collective::kAllToAllV && lanes_.lanes == 1;
          const std::uint32_t n = whole ? s_.pairs.count(s_.ranks, r, r) : 1;
          step(r, thread(r, 0, r, false), 0, n, {slice(r, Buffer::kInput, c)}, {slice(r, Buffer::kOutput, c)});
          c += n - 1;
        }
  }
  /// CollectiveDemand numbers chunks by their place in the buffer, not in the schedule's own order.
  std::uint32_t number_of(std::uint32_t c) const { return s_.part_of(c) * lanes_.lanes + lane_; }

  std::uint32_t thread(std::uint32_t rank, std::uint32_t channel, std::uint32_t peer, bool sends) {
    const auto [it, fresh] =
        threads_.try_emplace({rank, channel, peer, sends}, static_cast<std::uint32_t>(in_thread_.size()));
    if (fresh) {
      in_thread_.emplace_back();
      rank_of_thread_.push_back(rank);
    }
    return it->second;
  }

  std::uint32_t step(std::uint32_t rank, std::uint32_t thread, std::uint32_t channel, std::uint32_t n,
                     std::vector<PlanSlice> reads, std::vector<PlanSlice> writes) {
    const auto number = static_cast<std::uint32_t>(steps_.size());
    Listed x{{thread, n, static_cast<std::uint16_t>(channel)}, std::move(reads), std::move(writes), {}};
    const auto wait_for = [&](std::uint32_t other) {
      if (other != kNone32 && steps_[other].step.thread != thread) x.after.push_back(other);
    };
    for (const PlanSlice& s : x.reads)
      for (std::uint32_t i = 0; i < n && s.buffer != PlanBuffer::kMessage; ++i) {
        Touched& t = touched_[spot(rank, s, i)];
        wait_for(t.writer);
        t.readers.push_back(number);
      }
    for (const PlanSlice& s : x.writes)
      for (std::uint32_t i = 0; i < n && s.buffer != PlanBuffer::kMessage; ++i) {
        Touched& t = touched_[spot(rank, s, i)];
        wait_for(t.writer);
        for (const std::uint32_t r : t.readers)
          if (r != number) wait_for(r);
        t = {number, {}};
      }
    steps_.push_back(std::move(x));
    in_thread_[thread].push_back(number);
    return number;
  }
  Spot spot(std::uint32_t rank, const PlanSlice& s, std::uint32_t i) const {
    if (!plan_.in_place || s.buffer == PlanBuffer::kScratch) return {rank, s.buffer, s.first + i};
    const std::uint32_t in = input_chunks(plan_), out = output_chunks(plan_);
    const bool part = s.buffer == PlanBuffer::kInput ? in < out : out < in;  // the smaller is part of the larger
    return {rank, PlanBuffer::kInput, s.first + i + (part ? rank * std::min(in, out) : 0)};
  }

  /// Thread by thread, ranks ascending. A step waits only for the last of its predecessors in each thread.
  void flatten() {
    std::vector<std::uint32_t> threads(in_thread_.size()), number(steps_.size());
    for (std::uint32_t t = 0; t < threads.size(); ++t) threads[t] = t;
    std::stable_sort(threads.begin(), threads.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return rank_of_thread_[a] < rank_of_thread_[b]; });
    std::uint32_t next = 0;
    for (const std::uint32_t t : threads)
      for (const std::uint32_t s : in_thread_[t]) number[s] = next++;
    for (const std::uint32_t t : threads) {
      for (const std::uint32_t s : in_thread_[t]) {
        const Listed& x = steps_[s];
        std::map<std::uint32_t, std::uint32_t> last;  // per thread
        for (const std::uint32_t a : x.after) {
          std::uint32_t& l = last.try_emplace(steps_[a].step.thread, number[a]).first->second;
          l = std::max(l, number[a]);
        }
        for (const auto& [thread, a] : last) plan_.after.values.push_back(a);
        std::sort(plan_.after.values.begin() + plan_.after.begin.back(), plan_.after.values.end());
        plan_.after.close_row();
        plan_.steps.push_back(x.step);
        plan_.steps.back().thread = static_cast<std::uint32_t>(plan_.thread_rank.size());
        for (const PlanSlice& r : x.reads) plan_.reads.values.push_back(r);
        for (const PlanSlice& w : x.writes) plan_.writes.values.push_back(w);
        plan_.reads.close_row();
        plan_.writes.close_row();
      }
      plan_.thread_rank.push_back(rank_of_thread_[t]);
    }
  }

  const Schedule& s_;
  PlanLanes lanes_;
  std::uint32_t lane_ = 0, channel_ = 0;
  bool by_rounds_ = false;
  std::map<std::uint32_t, std::vector<std::uint32_t>> last_round_, this_round_;  ///< per rank
  ExecutionPlan plan_;
  std::vector<std::uint32_t> in_input_, in_output_;  ///< of an all_to_allv, per chunk: its places
  std::vector<std::uint32_t> scratch_of_;
  std::vector<bool> written_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, bool>, std::uint32_t> threads_;
  std::vector<std::vector<std::uint32_t>> in_thread_;
  std::vector<std::uint32_t> rank_of_thread_;
  std::vector<Listed> steps_;
  std::map<Spot, Touched> touched_;
};

}  // namespace

Result<ExecutionPlan> plan_of(const Schedule& schedule, bool in_place, PlanLanes lanes) {
  if (schedule.reducers > 0)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("{} reduces in the network, which a list of rank steps cannot express", schedule.algorithm),
        {}};
  return plan_with_reducers(schedule, in_place, lanes);
}

Result<ExecutionPlan> plan_with_reducers(const Schedule& schedule, bool in_place, PlanLanes lanes) {
  constexpr std::uint64_t kMostPlaces = 1 << 24;
  if (std::uint64_t{schedule.ranks + schedule.reducers} * schedule.chunks * lanes.lanes > kMostPlaces &&
      schedule.op == Collective::kAllToAllV)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("a plan for {} ranks and {} chunks is too long", schedule.ranks, schedule.chunks),
                 {}};
  return PlanLister(schedule, in_place, lanes).run();
}

}  // namespace busbar::collectives
