#include "busbar/questions/trace_times.h"

#include <fmt/core.h>

#include <algorithm>

namespace busbar::questions {
namespace {

/// Why a call cannot be timed; empty: it can.
std::string obstacle(const formats::TracedCall& c, std::size_t gpus) {
  if (!c.op) return "an unknown collective";
  if (c.bytes == 0) return "its size was not recorded";
  if (c.ranks > gpus || std::any_of(c.members.begin(), c.members.end(), [&](std::uint32_t r) { return r >= gpus; }))
    return "more ranks than GPUs";
  return {};
}

Result<predict::Prediction> time_call(const formats::TracedCall& c, predict::Predictor& machine) {
  program::CollectiveCall call = predict::call_over(*c.op, Bytes{c.bytes}, c.ranks > 0 ? c.ranks : machine.ranks());
  if (!c.members.empty()) {
    call.groups = {};
    call.groups.listed = c.members;
    call.groups.listed_groups = 1;
  }
  return machine.time(call, {.relief = false});
}

TraceRow trace_row(const formats::TracedCall& c, const predict::Prediction& timed, const topology::Topology& t) {
  TraceRow out;
  out.collective = c.what;
  out.size_bytes = c.bytes;
  if (c.ranks > 0) out.ranks = c.ranks;
  out.times = c.times;
  out.predicted_us = timed.time.in_us();
  out.algorithm = timed.algorithm;
  out.floor_us = timed.floor.time.in_us();
  out.bound_by = bound_result(timed.bound, t);
  out.bound = timed.bound;
  if (c.fastest_us <= 0) return out;
  out.measured_us = c.fastest_us;
  out.measured_median_us = c.median_us;
  out.above_floor_percent = 100 * (c.fastest_us / std::max(1e-9, out.floor_us) - 1);
  return out;
}

void add_untimed(const std::string& why, std::uint64_t times, TraceTimes& out) {
  const auto known =
      std::find_if(out.not_timed.begin(), out.not_timed.end(), [&](const auto& n) { return n.first == why; });
  if (known == out.not_timed.end())
    out.not_timed.emplace_back(why, times);
  else
    known->second += times;
}

}  // namespace

TraceTimes time_trace(const formats::CommTrace& trace, predict::Predictor& machine) {
  const topology::Topology& t = machine.cluster().topology;
  TraceTimes out;
  out.cluster = machine.cluster().name;
  double floor_us = 0;
  for (const formats::TracedCall& c : formats::alike(trace)) {
    std::string why = obstacle(c, t.gpus().size());
    const Result<predict::Prediction> timed = why.empty() ? time_call(c, machine) : invalid(why);
    if (!timed.ok()) {
      add_untimed(timed.error().message, c.times, out);
      continue;
    }
    const TraceRow& row = out.results.emplace_back(trace_row(c, *timed, t));
    if (!row.measured_us) continue;
    out.suspicious = out.suspicious || *row.measured_us / std::max(1e-9, row.floor_us) < 1;
    out.measured_us += c.median_us * static_cast<double>(c.times);
    floor_us += row.floor_us * static_cast<double>(c.times);
  }
  if (floor_us > 0) out.measured_over_floor = out.measured_us / floor_us;
  return out;
}

const Record& record_of(const TraceRow*) {
  using R = TraceRow;
  static const Record record("call", {{"collective", &R::collective, "", "as in the trace"},
                                      {"size_bytes", &R::size_bytes, "bytes", "as nccl-tests counts"},
                                      {"ranks", &R::ranks, "", "of its group; null: all"},
                                      {"times", &R::times, "", "how often the trace has it"},
                                      {"measured_us", &R::measured_us, "us", "the fastest; null: not in the trace"},
                                      {"measured_median_us", &R::measured_median_us, "us", "the one in the middle"},
                                      {"predicted_us", &R::predicted_us, "us", "on the machine"},
                                      {"algorithm", &R::algorithm, "", "of the prediction"},
                                      {"floor_us", &R::floor_us, "us", "no schedule is faster"},
                                      {"above_floor_percent", &R::above_floor_percent, "%", "of the fastest"},
                                      {"bound_by", &R::bound_by, "", "what limits the prediction"}});
  return record;
}

const Record& record_of(const TraceTimes*) {
  using T = TraceTimes;
  static const Record record(
      "times of a trace",
      {{"cluster", &T::cluster, "", "name of the machine"},
       {"results", &T::results, "", "one for each kind of call"},
       {"not_timed", &T::not_timed, "", "why calls were not timed, and how many"},
       Field("measured_over_floor", &T::measured_over_floor, "", "times of all kernels over their floors")
           .or_absent()});
  return record;
}

}  // namespace busbar::questions
