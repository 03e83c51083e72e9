#include "busbar/questions/calibrate_question.h"

#include "busbar/accuracy/calibrate.h"

namespace busbar::questions {

Result<CalibrateResult> answer(const CalibrateRequest& q, const Context& context) {
  BUSBAR_ASSIGN(const MeasuredResults results, read_results(q.measured.results));
  BUSBAR_ASSIGN(ExpectOptions options, options_of(q.measured, results, context));
  options.go_on = nullptr;
  BUSBAR_ASSIGN(const Calibration c, calibrate(results, options));
  CalibrateResult r{q.measured.cluster,
                    {c.before_percent},
                    {c.after_percent},
                    c.share,
                    c.latency,
                    c.launch_us,
                    name_of(c.verdict),
                    c.why,
                    c.overlay,
                    {},
                    0,
                    {}};
  r.inputs_hash = inputs_hash("calibrate", q, c.inputs);
  const bool fits = c.verdict == CalibrationVerdict::kFits;
  r.exit_status = fits ? 0 : 1;
  if (!q.overlay.empty() && fits) r.files.push_back({q.overlay, c.overlay});
  return r;
}

const Record& record_of(const CalibrateRequest*) {
  using Q = CalibrateRequest;
  static const Record record("calibrate request",
                             joined({fields_inside(&Q::measured),
                                     {Field("overlay", &Q::overlay, "", "write the fitted machine as a cluster file")
                                          .spelled("--out,--overlay")
                                          .takes("FILE")
                                          .of("Output")
                                          .undecided()}}));
  return record;
}

const Record& record_of(const MedianError*) {
  static const Record record("error",
                             {{"median_abs_percent", &MedianError::median_abs_percent, "%", "of the predictions"}});
  return record;
}

const Record& record_of(const CalibrateResult*) {
  using R = CalibrateResult;
  static const Record record(
      "calibrate", {{"cluster", &R::cluster, "", "the machine as named"},
                    {"before", &R::before, "", "error of the machine as it is"},
                    {"after", &R::after, "", "error of the fitted machine"},
                    {"share", &R::share, "", "measured rates, relative to the expected ones"},
                    {"latency_factor", &R::latency_factor, "", "measured latencies, relative to the expected ones"},
                    {"launch_us", &R::launch_us, "us", "fitted time before the first byte"},
                    {"verdict", &R::verdict, "", "whether the machine fits"},
                    {"why", &R::why, "", "in words"},
                    {"overlay", &R::overlay, "", "the fitted machine as a cluster file; empty: it does not fit"},
                    {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

Question calibrate_question() {
  return make_question<CalibrateRequest, CalibrateResult>(
      "calibrate", "fit a machine to measured results, or report that it is broken",
      "  busbar calibrate results.txt --cluster dgx-h100:2 --out mine.yaml\n"
      "  busbar collective mine.yaml all_reduce\n",
      130);
}

}  // namespace busbar::questions
