#include "busbar/accuracy/calibrate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "busbar/accuracy/summary.h"
#include "busbar/base/quantity.h"
#include "busbar/spec/calibrated.h"

namespace busbar {
namespace {

constexpr double kBrokenRate = 0.6, kBrokenLatency = 1.6, kBrokenUs = 100;
constexpr double kMostRate = 1.3, kMostMedianPercent = 15;
constexpr int kMostRounds = 12;

/// The unknowns: logarithms of factors on latencies and on bytes' times; launches relative to the smallest time.
using Point = std::array<double, 3>;

/// Solves a x = b for the first n unknowns; a is symmetric and positive definite. The other unknowns stay 0.
Point solve(std::array<Point, 3> a, Point b, std::size_t n) {
  Point x{};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k) {
      const double f = a[k][i] / a[i][i];
      for (std::size_t j = i; j < n; ++j) a[k][j] -= f * a[i][j];
      b[k] -= f * b[i];
    }
  for (std::size_t i = n; i-- > 0;) {
    x[i] = b[i];
    for (std::size_t j = i + 1; j < n; ++j) x[i] -= a[i][j] * x[j];
    x[i] /= a[i][i];
  }
  return x;
}

class Fit {
 public:
  Fit(const MeasuredResults& results, const ExpectOptions& options) : results_(results), options_(options) {}

  /// A requested launch time becomes the machine's own.
  Status open() {
    Overrides overrides = options_.overrides;
    if (options_.policy.launch)
      overrides.set.push_back(fmt::format("protocol.launch={}ps", options_.policy.launch->in_ps()));
    options_.policy.launch.reset();
    const Result<std::string> text = cluster_text(options_.cluster, overrides, start_);
    if (!text.ok())
      return invalid(text.error().message + "; a machine is fitted by keys: name a preset or a cluster file",
                     text.error().where);
    text_ = *text;
    BUSBAR_ASSIGN(expected_us_, times_at({}));
    smallest_us_ = *std::min_element(expected_us_.begin(), expected_us_.end());
    return {};
  }

  /// Gauss-Newton steps with weights that minimise the sum of absolute errors.
  Status run() {
    std::vector<double> us = expected_us_;
    for (int round = 0; round < kMostRounds; ++round) {
      constexpr double kNudge = 0.01;
      BUSBAR_ASSIGN(const std::vector<double> later, times_at({at_[0] + kNudge, at_[1], at_[2]}));
      const Point step = step_from(us, later, kNudge);
      for (std::size_t i = 0; i < step.size(); ++i) at_[i] += step[i];
      BUSBAR_ASSIGN(us, times_at(at_));
      if (std::all_of(step.begin(), step.end(), [](double s) { return std::abs(s) < 1e-5; })) break;
    }
    fitted_us_ = std::move(us);
    return {};
  }

  CalibratedFactors factors_at(const Point& p) const {
    CalibratedFactors out = start_;
    out.latency *= std::exp(p[0]);
    out.rate *= std::exp(-p[1]);
    out.launch_more += Duration::ps(std::llround(p[2] * smallest_us_ * 1e6));
    return out;
  }
  const Point& at() const { return at_; }
  std::string overlay() const {
    return "# Fitted to measured results by busbar calibrate\n" + text_ + calibrated_yaml(factors_at(at_));
  }
  const std::vector<double>& expected_us() const { return expected_us_; }
  double launch_us() const { return launch_us_; }
  double median_error(bool fitted) const {
    std::vector<double> errors;
    const std::vector<double>& us = fitted ? fitted_us_ : expected_us_;
    for (std::size_t i = 0; i < us.size(); ++i) errors.push_back(100 * std::abs(us[i] / results_.rows[i].us - 1));
    return median_of(std::move(errors));
  }

 private:
  Result<std::vector<double>> times_at(const Point& p) {
    Overrides catalog_only;
    catalog_only.catalog = options_.overrides.catalog;
    BUSBAR_ASSIGN(Cluster cluster,
                  parse_cluster(text_ + calibrated_yaml(factors_at(p)), options_.cluster, catalog_only));
    launch_us_ = cluster.protocol.launch.in_us();
    BUSBAR_ASSIGN(const auto machine, predictor_on(options_, std::move(cluster)));
    std::vector<double> out;
    for (const MeasuredResult& m : results_.rows) {
      BUSBAR_ASSIGN(const Prediction t,
                    machine->time(call_over(options_.op, Bytes{m.size_bytes}, machine->ranks()), kTimeAlone));
      out.push_back(t.time.in_us());
    }
    return out;
  }

  /// If latencies and bytes take longer by one factor, times grow by it. So one small change gives both slopes.
  Point step_from(const std::vector<double>& us, const std::vector<double>& later, double nudge) const {
    constexpr double kSmall = 1e-3;  // smaller errors have equal weight
    constexpr double kTie = 1e-3;    // relative to the weights: keeps unknowns equal that the results cannot separate
    std::array<Point, 3> a{};
    Point b{};
    double all = 0;
    for (std::size_t i = 0; i < us.size(); ++i) {
      const double error = std::log(results_.rows[i].us / us[i]), weight = 1 / std::max(std::abs(error), kSmall);
      const double latency = std::log(later[i] / us[i]) / nudge;
      const double launch = at_[2] * smallest_us_ / us[i];
      const Point slope{latency, 1 - latency - launch, smallest_us_ / us[i]};
      all += weight;
      for (std::size_t r = 0; r < 3; ++r) {
        b[r] += weight * slope[r] * error;
        for (std::size_t c = 0; c < 3; ++c) a[r][c] += weight * slope[r] * slope[c];
      }
    }
    const double tie = kTie * all, apart = at_[0] - at_[1];
    a[0][0] += tie, a[1][1] += tie, a[2][2] += tie;
    a[0][1] -= tie, a[1][0] -= tie;
    b[0] -= tie * apart, b[1] += tie * apart, b[2] -= tie * at_[2];
    Point step = solve(a, b, 3);
    if (at_[2] + step[2] >= 0) return step;
    for (std::size_t r = 0; r < 2; ++r) b[r] += a[r][2] * at_[2];  // launches are never below 0
    step = solve(a, b, 2);
    step[2] = -at_[2];
    return step;
  }

  const MeasuredResults& results_;
  ExpectOptions options_;
  std::string text_;
  CalibratedFactors start_;  ///< factors that the file already has
  Point at_{};
  std::vector<double> expected_us_, fitted_us_;
  double smallest_us_ = 1, launch_us_ = 0;
};

/// The first size with a time below the machine's floor; null: none.
const MeasuredResult* below_floor(const MeasuredResults& results, Predictor& machine, Collective op, Floor& floor) {
  constexpr double kRounding = 0.005;  // tables print four figures
  for (const MeasuredResult& m : results.rows) {
    floor = machine.floor(call_over(op, Bytes{m.size_bytes}, machine.ranks()));
    if (m.us < floor.time.in_us() * (1 - kRounding)) return &m;
  }
  return nullptr;
}

void judge(const MeasuredResults& results, const Fit& fit, Calibration& out) {
  const double smallest_more = results.rows.front().us - fit.expected_us().front();
  out.verdict = CalibrationVerdict::kDoesNotFit;
  if (out.share < kBrokenRate) {
    out.verdict = CalibrationVerdict::kBroken;
    out.why = fmt::format("rates are {:.0f} % of what this machine gives when it is well; find the fault first",
                          out.share * 100);
  } else if (out.latency > kBrokenLatency && smallest_more > kBrokenUs) {
    out.verdict = CalibrationVerdict::kBroken;
    out.why = fmt::format("small sizes take {:.0f} us longer than they should; find the fault first", smallest_more);
  } else if (out.share > kMostRate) {
    out.why =
        fmt::format("rates would have to be {:.0f} % of those of such a machine: is it another one?", out.share * 100);
  } else if (out.after_percent > kMostMedianPercent) {
    out.why = fmt::format("half of the sizes stay more than {:.0f} % off: times grow in another way with the size",
                          out.after_percent);
  } else {
    out.verdict = CalibrationVerdict::kFits;
    out.why = fmt::format("{:.0f} % of the expected rates, {:.0f} % of the latencies, {:.1f} us before the first byte",
                          out.share * 100, out.latency * 100, out.launch_us);
  }
}

}  // namespace

const char* name_of(CalibrationVerdict verdict) {
  constexpr const char* kNames[] = {"fits", "broken machine", "does not fit"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(CalibrationVerdict::kDoesNotFit) + 1);
  return kNames[static_cast<std::size_t>(verdict)];
}

Result<Calibration> calibrate(const MeasuredResults& results, const ExpectOptions& options) {
  BUSBAR_ASSIGN(const auto machine, predictor_of(options, options.overrides));
  BUSBAR_RETURN_IF_ERROR(check_ranks(results, *machine));
  Calibration out;
  out.inputs = machine->cluster().text;
  Fit fit(results, options);
  BUSBAR_RETURN_IF_ERROR(fit.open());
  out.before_percent = out.after_percent = fit.median_error(false);
  out.launch_us = fit.launch_us();
  Floor floor;
  if (const MeasuredResult* m = below_floor(results, *machine, options.op, floor)) {
    out.verdict = CalibrationVerdict::kDoesNotFit;
    out.why = fmt::format(
        "{} in {:.4g} us is faster than physics allows this machine, {:.4g} us ({}): is it another "
        "one?",
        format_binary_size(m->size_bytes), m->us, floor.time.in_us(), floor.cut);
    return out;
  }
  if (const Status done = fit.run(); !done.ok()) {
    out.verdict = CalibrationVerdict::kDoesNotFit;
    out.why = "no machine of this kind takes such times: " + done.error().message;
    return out;
  }
  out.after_percent = fit.median_error(true);
  out.latency = std::exp(fit.at()[0]);
  out.share = std::exp(-fit.at()[1]);
  out.launch_us = fit.launch_us();
  judge(results, fit, out);
  if (out.verdict != CalibrationVerdict::kFits) return out;
  out.overlay = fit.overlay();
  BUSBAR_ASSIGN(const Expectation expected, expect_results(results, options));
  if (expected.table.verdict == Verdict::kLow)
    out.why += "; slower than comparable machines: " + expected.table.why +
               "; the overlay takes this for normal, so look for a fault first";
  return out;
}

}  // namespace busbar
