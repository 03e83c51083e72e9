// The price of fewer channels than NCCL would take.
#include <fmt/core.h>

#include "busbar/doctor/internal/logged_job.h"
#include "busbar/nccl/channel_limit.h"
#include "busbar/predict/prediction.h"

namespace busbar::doctor {
namespace {

/// A time that fewer channels do not exceed, and why.
struct LongestTime {
  double us = 0;
  std::string why;
};

/// The channels carry at least what they carry next to more of them. If NCCL's limit allows more than that, it counts.
LongestTime bound_of(const LoggedJob& job, const nccl::NcclChoice& all, const nccl::NcclChoice& few,
                     double expected_us) {
  LongestTime out{expected_us * all.channels / few.channels,
                  fmt::format("if {} channels of {} carry what {} of {} do", few.channels, nccl::name_of(few.algorithm),
                              few.channels, all.channels)};
  const auto limit = nccl::nccl_channel_limit(job.comm, few.algorithm, few.protocol);
  if (!limit) return out;
  // All-reduce by a tree sends the data up and down.
  const double sent =
      few.algorithm == nccl::NcclAlgorithm::kTree ? 2 : predict::bus_factor(job.options.op, job.comm.ranks);
  const double us = static_cast<double>(kPricedBytes) * sent / (few.channels * limit->GBps * 1e3);
  if (us >= out.us) return out;
  return {us, fmt::format("if {} channels of {} carry {:.4g} GB/s each, half of NCCL's {}", few.channels,
                          nccl::name_of(few.algorithm), limit->GBps, limit->constant)};
}

}  // namespace

void price_channels(const LoggedJob& job, LogDifference& d, const nccl::NcclComm& logged,
                    const std::vector<std::string>& variables) {
  const std::optional<double> expected_us = price(job, d, variables);
  const auto all = nccl::choose_nccl(job.comm, job.tuning, job.options.op, Bytes{kPricedBytes});
  const auto few = nccl::choose_nccl(logged, job.tuning, job.options.op, Bytes{kPricedBytes});
  if (!expected_us || !all.ok() || !few.ok() || few->channels == 0 || few->channels >= all->channels) return;
  const LongestTime bound = bound_of(job, *all, *few, *expected_us);
  const double most = 100 * (bound.us / *expected_us - 1);
  if (most <= *d.cost_percent + 1) return;
  d.most_percent = most;
  d.cost_of += fmt::format("; the model has no rate per channel, so at most {:.4g} ms, {}", bound.us / 1e3, bound.why);
}

}  // namespace busbar::doctor
