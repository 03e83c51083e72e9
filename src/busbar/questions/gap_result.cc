#include "busbar/questions/gap_result.h"

namespace busbar::step {

const Record& record_of(const GapCause*) {
  using C = GapCause;
  static const Record record(
      "cause", {{"what", &C::what, "", "links, the slowest GPU, or a setting"},
                {"factor", &C::factor, "", "that the rate or speed would have, of the described one; null: a setting"},
                {"step_time_s", &C::step_time_s, "s", "with this cause alone"},
                {"explained_percent", &C::explained_percent, "%", "of the gap"},
                {"hint", &C::hint, "", "a usual fault with about this factor; empty: none"}});
  return record;
}

const Record& record_of(const Gap*) {
  using G = Gap;
  static const Record record(
      "gap", {{"measured_s", &G::measured_s, "s", "the measured step"},
              {"expected_s", &G::expected_s, "s", "the predicted one, with waiting for the slowest GPU"},
              {"gap_percent", &G::gap_percent, "%", "of the expected time"},
              {"in_band", &G::in_band, "", "the band of the prediction holds the measurement"},
              {"causes", &G::causes, "", "that explain it alone, the smallest change first"}});
  return record;
}

const Record& record_of(const TracedPart*) {
  using P = TracedPart;
  static const Record record("part", {{"part", &P::name, "", "of the step"},
                                      {"measured_s", &P::measured_s, "s", "in the trace"},
                                      {"predicted_s", &P::predicted_s, "s", "by the model"},
                                      {"inside_the_one_above", &P::inside, "", "not a part of its own"}});
  return record;
}

}  // namespace busbar::step

namespace busbar::questions {

const Record& record_of(const TracedCallResult*) {
  using C = TracedCallResult;
  static const Record record("traced call",
                             {{"class", &C::cls, "", "tp, dp, pp, cp or ep"},
                              {"collective", &C::collective, "", "operation"},
                              {"times", &C::times, "", "per step and GPU, in the trace"},
                              {"predicted_times", &C::predicted_times, "", "by the model"},
                              {"mean_us", &C::mean_us, "us", "of a kernel, which waits for the last rank; null: none"},
                              {"fastest_us", &C::fastest_us, "us", "of a kernel; null: none"},
                              {"predicted_us", &C::predicted_us, "us", "mean; null: the step has no such calls"}});
  return record;
}

const Record& record_of(const TracedResult*) {
  using T = TracedResult;
  static const Record record("traced step", {{"file", &T::file, "", "the trace"},
                                             {"rank", &T::rank, "", "that wrote it"},
                                             {"steps", &T::steps, "", "in the trace"},
                                             {"step_time_s", &T::step_time_s, "s", "mean"},
                                             {"shortest_s", &T::shortest_s, "s", "the fastest step"},
                                             {"longest_s", &T::longest_s, "s", "the slowest step"},
                                             {"busy_s", &T::busy_s, "s", "by kind of kernel, in a step"},
                                             {"parts", &T::parts, "", "measured and predicted"},
                                             {"calls", &T::calls, "", "collectives, measured and predicted"},
                                             {"notes", &T::notes, "", "what a reader must know of the trace"}});
  return record;
}

const Record& record_of(const GapResult*) {
  static const Record record(
      "gap", joined({fields_inside(&GapResult::gap),
                     {Field("trace", &GapResult::trace, "", "of a measured trace: part by part").or_absent()}}));
  return record;
}

namespace {

TracedCallResult traced_call(const step::TracedCalls& c) {
  TracedCallResult r{program::name_of(c.cls), c.what, c.times, c.predicted_times, {}, {}, {}};
  if (c.times > 0) r.mean_us = c.mean_us, r.fastest_us = c.fastest_us;
  if (c.predicted_us > 0) r.predicted_us = c.predicted_us;
  return r;
}

}  // namespace

TracedResult traced_result(const step::TracedStepGap& g) {
  TracedResult r{g.file,
                 g.trace.rank,
                 g.trace.steps.size(),
                 g.measured_s(),
                 g.steps.shortest_us / 1e6,
                 g.steps.longest_us / 1e6,
                 {},
                 g.parts,
                 {},
                 g.trace.notes};
  for (std::size_t k = 0; k < formats::kTracedKinds; ++k)
    r.busy_s.emplace_back(formats::name_of(static_cast<formats::TracedKind>(k)), g.steps.busy_us[k] / 1e6);
  for (const step::TracedCalls& c : g.calls) r.calls.push_back(traced_call(c));
  return r;
}

}  // namespace busbar::questions
