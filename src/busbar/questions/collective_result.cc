#include "busbar/questions/collective_result.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/topology/levels.h"

namespace busbar::questions {
namespace {

std::optional<std::uint32_t> member_of(std::uint32_t m) {
  return m == kNone32 ? std::nullopt : std::optional<std::uint32_t>(m);
}

ChainPartResult chain_part(const lowering::ChainPart& p, Duration time, const topology::Topology& t) {
  ChainPartResult out;
  out.kind = lowering::name_of(p.kind);
  out.phase = p.phase;
  out.from_rank = member_of(p.from);
  out.to_rank = member_of(p.to);
  if (p.rounds > 0) out.first_round = p.first_round;
  out.rounds = p.rounds;
  if (p.link != kNone<topology::LinkId>) {
    out.link = t.name(p.link);
    out.part = part_of(t, p.link);
  }
  out.time_us = p.ps * 1e-6;
  out.share_percent = 100 * p.ps / std::max(1.0, static_cast<double>(time.in_ps()));
  return out;
}

void add_chain(const predict::Prediction& r, const topology::Topology& t, CollectiveRow& out) {
  if (r.chain.empty()) return;
  for (const lowering::ChainPart& p : r.chain) out.chain.push_back(chain_part(p, r.time, t));
  for (int k = 0; k <= static_cast<int>(lowering::ChainPartKind::kSharing); ++k) {
    double ps = 0;
    for (const lowering::ChainPart& p : r.chain) ps += static_cast<int>(p.kind) == k ? p.ps : 0;
    out.breakdown_us.emplace_back(lowering::name_of(static_cast<lowering::ChainPartKind>(k)), ps * 1e-6);
  }
}

ReliefResult relief_result(const choice::Relief& x, const topology::Topology& t) {
  ReliefResult out{x.what, x.gain_percent, {}, {}};
  if (!x.next) return out;
  out.most_percent = x.most_percent;
  out.next = bound_result(*x.next, t);
  return out;
}

SynthesizedResult synthesized_of(const predict::MadeSchedule& m) {
  SynthesizedResult out{m.what, m.textbook, m.textbook_time.in_us(), {}};
  if (m.ring_time) out.ring_time_us = m.ring_time->in_us();
  return out;
}

NcclChoiceResult nccl_choice(const nccl::NcclChoice& c) {
  NcclChoiceResult out{
      nccl::name_of(c.algorithm), nccl::name_of(c.protocol), c.channels, c.threads, c.forecast_us, {}, {}};
  if (!c.why_not.empty()) out.why = std::string(c.why_not);
  if (!c.kernel) return out;
  out.kernel = std::string(c.kernel->name);
  out.channels = c.kernel->blocks;
  out.forecast_us = c.kernel->forecast_us;
  out.why = kernel_reason(*c.kernel);
  return out;
}

/// What only some rows have.
void add_rest(const predict::Prediction& r, const topology::Topology& t, CollectiveRow& out) {
  r.simplified.for_each([&](lowering::Simplification s) {
    const lowering::SimplificationEffect& e = lowering::effect_of(s);
    out.simplified.push_back({e.words, {e.low_percent, e.high_percent}});
  });
  if (!r.cause.empty()) out.bound_by.cause = r.cause;
  if (!r.warning.empty()) out.warning = r.warning;
  if (r.nccl) out.nccl = nccl_choice(*r.nccl);
  if (r.jitter)
    out.jitter = JitterResult{r.jitter->without.in_us(), r.jitter->expected_hits, r.jitter->calls_hit_percent,
                              r.jitter->p99.in_us()};
  if (r.made) out.synthesized = synthesized_of(*r.made);
  out.packets = r.packets;
  if (r.p99) out.time_p99_us = r.p99->in_us();
  if (r.jobs.size() > 1)
    out.jobs_us = JobsResult{r.jobs.front().in_us(), r.jobs[r.jobs.size() / 2].in_us(), r.jobs.back().in_us()};
  for (const choice::Relief& x : r.relief) out.relief.push_back(relief_result(x, t));
  add_chain(r, t, out);
}

}  // namespace

std::string kernel_reason(const nccl::NcclKernel& k) {
  if (k.way == nccl::NcclKernelWay::kCopies)
    return "windows are registered, and NCCL_CTA_POLICY=ZERO or the size of an all_gather on Blackwell asks for copies";
  return fmt::format(
      "windows are registered, and of the kernels that can run it has the least forecast ({:.3g} us) x (1 + 2.5 % for "
      "each CTA)",
      k.forecast_us);
}

const predict::Prediction& summary_row(const std::vector<predict::Prediction>& rows) {
  const predict::Prediction* best = &rows.back();
  for (const predict::Prediction& r : rows)
    if (r.size() == best->size() && r.time < best->time) best = &r;
  return *best;
}

std::string kernel_words(const nccl::NcclKernel& k) {
  if (k.blocks == 0) return std::string(k.name);
  return fmt::format("{}, {} CTA{}", k.name, k.blocks, k.blocks == 1 ? "" : "s");
}

bool leaves_out_symmetric_kernels(const predict::Prediction& r, double ranks, collectives::Collective op,
                                  const topology::Topology& t) {
  constexpr std::uint64_t kSmall = 1 << 20;
  const bool has_them = op == collectives::Collective::kAllReduce || op == collectives::Collective::kAllGather ||
                        op == collectives::Collective::kReduceScatter;
  return r.nccl && !r.nccl->kernel && r.nccl->why_not.empty() && has_them && count(r.size()) < kSmall &&
         ranks <= static_cast<double>(topology::scale_up_domain(t).gpus);
}

CollectiveRow collective_row(const predict::Prediction& r, double n, collectives::Collective op,
                             const topology::Topology& t) {
  CollectiveRow out;
  out.size_bytes = count(r.size());
  out.time_us = r.time.in_us();
  out.algbw_GBps = r.algbw();
  out.busbw_GBps = r.algbw() * predict::bus_factor(op, n);
  out.algorithm = r.algorithm;
  out.protocol = program::name_of(r.protocol());
  out.channels = r.channels;
  out.chunks = r.chunks;
  out.floor_us = r.floor.time.in_us();
  out.floor_cut = {floors::name_of(r.floor.kind), r.floor.cut};
  out.above_floor_percent = r.gap_percent();
  out.algorithm_floor_us = r.algorithm_floor.in_us();
  out.bound_by = bound_result(r.bound, t);
  out.band_percent = {r.band.low_percent, r.band.high_percent};
  if (leaves_out_symmetric_kernels(r, n, op, t)) out.kernels = "NCCL without symmetric memory kernels";
  if (r.nccl && r.nccl->kernel) out.kernels = kernel_words(*r.nccl->kernel);
  add_rest(r, t, out);
  return out;
}

const Record& record_of(const FloorCut*) {
  static const Record record(
      "cut", {{"kind", &FloorCut::kind, "", "what kind of cut"}, {"name", &FloorCut::name, "", "what it cuts"}});
  return record;
}

const Record& record_of(const ReliefResult*) {
  static const Record record(
      "relief", {{"what", &ReliefResult::what, "", "the change"},
                 {"gain_percent", &ReliefResult::gain_percent, "%", "saved part of the time"},
                 Field("most_percent", &ReliefResult::most_percent, "%", "saved if this limit is removed").or_absent(),
                 Field("next", &ReliefResult::next, "", "the limit that comes next").or_absent()});
  return record;
}

const Record& record_of(const SimplifiedResult*) {
  static const Record record("simplification", {{"what", &SimplifiedResult::what, "", "what the engine leaves out"},
                                                {"messages_percent", &SimplifiedResult::messages_percent, "%",
                                                 "message by message takes from, to more time"}});
  return record;
}

const Record& record_of(const NcclChoiceResult*) {
  static const Record record(
      "choice", {{"algorithm", &NcclChoiceResult::algorithm, "", "NCCL's name"},
                 {"protocol", &NcclChoiceResult::protocol, "", "NCCL's name"},
                 {"channels", &NcclChoiceResult::channels, "", "number of channels"},
                 {"threads", &NcclChoiceResult::threads, "", "per channel"},
                 {"forecast_us", &NcclChoiceResult::forecast_us, "us", "NCCL's own; 0: none"},
                 Field("kernel", &NcclChoiceResult::kernel, "",
                       "for registered buffers; it runs instead of algorithm and protocol")
                     .or_absent(),
                 Field("why", &NcclChoiceResult::why, "", "why this kernel, or why no kernel for registered buffers")
                     .or_absent()});
  return record;
}

const Record& record_of(const JitterResult*) {
  static const Record record(
      "jitter", {{"time_without_us", &JitterResult::time_without_us, "us", "without delays"},
                 {"expected_hits", &JitterResult::expected_hits, "", "delays on the longest chain of a call"},
                 {"calls_hit_percent", &JitterResult::calls_hit_percent, "%", "calls with a delay"},
                 {"p99_us", &JitterResult::p99_us, "us", "99 of 100 calls take at most this time"}});
  return record;
}

const Record& record_of(const SynthesizedResult*) {
  static const Record record(
      "synthesized",
      {{"schedule", &SynthesizedResult::schedule, "", "what was made: 12 trees"},
       {"textbook_algorithm", &SynthesizedResult::textbook_algorithm, "", "the fastest of the others"},
       {"textbook_time_us", &SynthesizedResult::textbook_time_us, "us", "its time"},
       Field("ring_time_us", &SynthesizedResult::ring_time_us, "us", "of rings in rank order").or_absent()});
  return record;
}

const Record& record_of(const JobsResult*) {
  static const Record record("jobs", {{"first", &JobsResult::first, "us", "the earliest end"},
                                      {"median", &JobsResult::median, "us", "the end in the middle"},
                                      {"last", &JobsResult::last, "us", "the latest end"}});
  return record;
}

const Record& record_of(const ChainPartResult*) {
  using P = ChainPartResult;
  static const Record record("part of a chain",
                             {{"kind", &P::kind, "", "launch, latency, bandwidth or sharing"},
                              {"phase", &P::phase, "", "of the schedule"},
                              {"from_rank", &P::from_rank, "", "where it begins; null: a link's load"},
                              {"to_rank", &P::to_rank, "", "where it ends; null: a link's load"},
                              {"first_round", &P::first_round, "", "of the phase; null: not of certain rounds"},
                              {"rounds", &P::rounds, "", "number of rounds"},
                              {"link", &P::link, "", "the narrowest, or the busiest; null: none"},
                              {"class", &P::part, "", "its part"},
                              {"time_us", &P::time_us, "us", "of the part"},
                              {"share_percent", &P::share_percent, "%", "of the time"}});
  return record;
}

const Record& record_of(const CollectiveRow*) {
  using R = CollectiveRow;
  static const Record record(
      "row", {{"size_bytes", &R::size_bytes, "bytes", "as nccl-tests counts"},
              {"time_us", &R::time_us, "us", "of several jobs: until the last one ends"},
              {"algbw_GBps", &R::algbw_GBps, "GB/s", "size per time"},
              {"busbw_GBps", &R::busbw_GBps, "GB/s", "bus bandwidth, as nccl-tests counts"},
              {"algorithm", &R::algorithm, "", "of the schedule"},
              {"protocol", &R::protocol, "", "simple, ll128 or ll"},
              {"channels", &R::channels, "", "number of channels"},
              {"chunks", &R::chunks, "", "pieces in the pipeline"},
              {"floor_us", &R::floor_us, "us", "no schedule on this machine is faster"},
              {"floor_cut", &R::floor_cut, "", "the cut that gives the floor"},
              {"above_floor_percent", &R::above_floor_percent, "%", "difference from the floor"},
              {"algorithm_floor_us", &R::algorithm_floor_us, "us", "of the busiest link at wire rate"},
              {"bound_by", &R::bound_by, "", "what limits the time"},
              {"band_percent", &R::band_percent, "%", "measured times are within: low, high"},
              {"relief", &R::relief, "", "gain from improving links; above 64 ranks of the last size only"},
              Field("simplified", &R::simplified, "", "what the engine leaves out").or_absent(),
              Field("warning", &R::warning, "", "the time is below the floor").or_absent(),
              Field("kernels", &R::kernels, "", "what NCCL could take, and is not modelled").or_absent(),
              Field("nccl", &R::nccl, "", "NCCL's choice").or_absent(),
              Field("jitter", &R::jitter, "", "effect of delayed messages").or_absent(),
              Field("synthesized", &R::synthesized, "", "the schedule made for this machine").or_absent(),
              Field("packets", &R::packets, "", "what packets went through").or_absent(),
              Field("time_p99_us", &R::time_p99_us, "us", "if all transfers take the penalty's p99").or_absent(),
              Field("jobs_us", &R::jobs_us, "us", "ends of several jobs").or_absent(),
              Field("chain", &R::chain, "", "parts that sum to the time").or_absent(),
              Field("breakdown_us", &R::breakdown_us, "us", "the chain by kind").or_absent()});
  return record;
}

}  // namespace busbar::questions
