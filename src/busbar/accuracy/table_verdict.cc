#include "busbar/accuracy/table_verdict.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "busbar/accuracy/summary.h"
#include "busbar/base/quantity.h"

namespace busbar::accuracy {
namespace {

constexpr double kWider = 2.054 / 1.645;  // quantiles 0.98 and 0.95 of the normal distribution

/// Largest credible time of a table whose row may take `high` times the expected time.
double widened(double high) { return std::pow(std::max(high, 1.0), kWider); }

double ratio(const ExpectedRow& r) { return r.measured_us / r.expected_us; }
double limit(const ExpectedRow& r) { return widened(r.high_us / r.expected_us); }

std::string range_of(std::uint64_t from, std::uint64_t to) {
  if (from == to) return format_binary_size(from) + " takes";
  return fmt::format("{} to {} take", format_binary_size(from), format_binary_size(to));
}

/// The rows that are beyond the threshold of a table although its plateau is not.
void find_odd_sizes(std::span<const ExpectedRow> rows, TableVerdict& out) {
  constexpr std::size_t kOneOf = 10, kFew = 3;  // one row in ten, and one row of more than three, may be an outlier
  std::vector<double> odd;
  for (const ExpectedRow& r : rows) {
    if (ratio(r) <= limit(r)) continue;
    odd.push_back(ratio(r));
    if (out.odd_from_bytes == 0) out.odd_from_bytes = r.size_bytes;
    out.odd_to_bytes = r.size_bytes;
  }
  const bool few = rows.size() <= kFew;
  if (odd.empty() || odd.size() * kOneOf <= rows.size() || (odd.size() == 1 && !few)) {
    out.odd_from_bytes = out.odd_to_bytes = 0;
    return;
  }
  out.verdict = Verdict::kLow;
  out.why = fmt::format("{} {:.3g} times the expected time, although the largest sizes are good",
                        range_of(out.odd_from_bytes, out.odd_to_bytes), median_of(odd));
}

/// Whether the largest size takes so little of its time to move bytes that a lower rate would not show in it.
bool tells_no_rate(const ExpectedRow& largest) {
  constexpr double kShare = 0.2;  // of the expected time, at the rates of the machine
  return largest.floor_us > 0 && largest.floor_us < kShare * largest.expected_us;
}

}  // namespace

const char* name_of(Verdict verdict) {
  constexpr const char* kNames[] = {"good", "low", "fast", "suspicious"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Verdict::kSuspicious) + 1);
  return kNames[static_cast<std::size_t>(verdict)];
}

TableVerdict judge_table(std::span<const ExpectedRow> rows) {
  TableVerdict out;
  const ExpectedRow* impossible = nullptr;
  std::vector<double> ratios, limits;
  const std::uint64_t largest = rows.back().size_bytes;
  for (const ExpectedRow& r : rows) {
    out.outside += r.verdict == Verdict::kLow || r.verdict == Verdict::kSuspicious;
    if (r.verdict == Verdict::kSuspicious) impossible = &r;
    if (r.size_bytes < largest / kPlateau) continue;
    if (ratios.empty()) out.plateau_from_bytes = r.size_bytes;
    ratios.push_back(ratio(r));
    limits.push_back(limit(r));
  }
  const double at = median_of(ratios), most = median_of(limits);
  out.plateau_percent = 100 * (at - 1);
  out.threshold_percent = 100 * (most - 1);
  if (impossible != nullptr) {
    out.verdict = Verdict::kSuspicious;
    out.why = fmt::format("{} less than physics allows: {:.4g} us against {:.4g} us",
                          range_of(impossible->size_bytes, impossible->size_bytes), impossible->measured_us,
                          impossible->floor_us);
  } else if (at > most) {
    out.verdict = Verdict::kLow;
    out.why = fmt::format("{} {:.3g} times the expected time", range_of(out.plateau_from_bytes, largest), at);
  } else {
    find_odd_sizes(rows, out);
    if (out.verdict == Verdict::kGood && tells_no_rate(rows.back()))
      out.why = fmt::format("sizes up to {} tell latencies and hardly any bandwidth: measure up to 8 GiB (-e 8G)",
                            format_binary_size(largest));
  }
  return out;
}

}  // namespace busbar::accuracy
