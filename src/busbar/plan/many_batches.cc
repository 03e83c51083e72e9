#include "busbar/plan/many_batches.h"

namespace busbar::plan {
namespace {

constexpr std::uint32_t kMany = 64;   ///< micro-batches for each stage; above, not all are timed
constexpr std::uint32_t kTimed = 16;  ///< that are, in the longer of the two steps

workload::LayoutSpec with_micro_batches(workload::LayoutSpec layout, std::uint32_t n) {
  layout.batch.global = n * layout.dp * layout.batch.micro;
  return layout;
}

}  // namespace

Result<Duration> time_of_many(const workload::LayoutSpec& layout, const LayoutTime& time) {
  const std::uint32_t all = layout.micro_batches();
  if (all <= kMany * layout.pp) return time(layout);
  const std::uint32_t more = kTimed * layout.pp, few = more / 2;
  BUSBAR_ASSIGN(const Duration short_step, time(with_micro_batches(layout, few)));
  BUSBAR_ASSIGN(const Duration long_step, time(with_micro_batches(layout, more)));
  const double added = static_cast<double>(all - more) / (more - few);
  return long_step + duration_from_ps(added * static_cast<double>((long_step - short_step).in_ps()));
}

}  // namespace busbar::plan
