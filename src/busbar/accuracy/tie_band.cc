#include "busbar/accuracy/tie_band.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/accuracy/summary.h"

namespace busbar::accuracy {
namespace {

constexpr double kNamed = 1.03;  // as fast as the fastest
constexpr double kAlone = 2;     // the factor of a source that needs something where no other does

/// The share above the best prediction that holds a job.
double needed(const LayoutSweep& sweep) {
  double fastest = INFINITY, best = INFINITY, least = INFINITY;
  for (const auto& [predicted, measured, kernel_share] : sweep.layouts) {
    fastest = std::min(fastest, measured);
    best = std::min(best, predicted);
  }
  for (const auto& [predicted, measured, kernel_share] : sweep.layouts)
    if (measured <= kNamed * fastest) least = std::min(least, predicted / best - 1);
  return least;
}

struct TieJob {
  std::string source;
  double needed = 0, weight = 0;
};

/// The most that jobs of all sources but `left_out` need.
double needed_without(const std::vector<TieJob>& jobs, const std::string& left_out) {
  double most = 0;
  for (const TieJob& job : jobs)
    if (job.source != left_out) most = std::max(most, job.needed);
  return most;
}

std::vector<TieJob> jobs_of(const std::vector<LayoutSweep>& sweeps) {
  std::map<std::string, double> count;
  std::vector<TieJob> out;
  for (const LayoutSweep& s : sweeps) {
    if (s.layouts.size() < 2) continue;
    out.push_back({s.source, needed(s), 0});
    ++count[s.source];
  }
  for (TieJob& job : out) job.weight = 1 / std::sqrt(count[job.source]);
  return out;
}

double median_tied(const std::vector<LayoutSweep>& sweeps, double share) {
  std::vector<double> tied;
  for (const LayoutSweep& s : sweeps) {
    if (s.layouts.size() < 2) continue;
    double best = INFINITY;
    for (const LayoutTimes& l : s.layouts) best = std::min(best, l.predicted);
    tied.push_back(static_cast<double>(std::count_if(
        s.layouts.begin(), s.layouts.end(), [&](const LayoutTimes& l) { return l.predicted <= (1 + share) * best; })));
  }
  return median_of(std::move(tied));
}

}  // namespace

TieBand tie_band_of(const std::vector<LayoutSweep>& sweeps) {
  const std::vector<TieJob> jobs = jobs_of(sweeps);
  std::map<std::string, double> others;  // what the jobs of all others need, by source
  for (const TieJob& job : jobs) others.try_emplace(job.source, 0);
  TieBand out{jobs.size(), others.size()};
  if (others.size() < 2) return out;
  double wider = 1;
  for (auto& [source, most] : others) most = needed_without(jobs, source);
  for (const TieJob& job : jobs)
    if (job.needed > 0) wider = std::max(wider, others[job.source] > 0 ? job.needed / others[job.source] : kAlone);
  const double share = wider * needed_without(jobs, "");
  double held = 0, all = 0;
  for (const TieJob& job : jobs) {
    all += job.weight;
    held += job.needed <= wider * others[job.source] * (1 + 1e-12) ? job.weight : 0;
  }
  out.percent = 100 * share;
  out.held_percent = 100 * held / all;
  out.tied = median_tied(sweeps, share);
  return out;
}

}  // namespace busbar::accuracy
