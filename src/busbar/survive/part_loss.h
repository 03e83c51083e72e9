// The same step, or collective, with each kind of part of the machine lost or slow in turn (N-1).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/context.h"
#include "busbar/spec/cluster.h"
#include "busbar/survive/goodput_run.h"
#include "busbar/survive/part_classes.h"

namespace busbar::survive {

enum class PartState : std::uint8_t { kOut, kHalfRate };
const char* name_of(PartState state);  ///< "out", "half rate"

struct PartLoss {
  PartClass part;
  std::string selector;  ///< of the member that costs most
  PartState state{};
  std::optional<double> time_s;  ///< empty: nothing runs without the part, only on a spare server
  std::string why_not;           ///< then
  double cost_percent = 0;       ///< of the sound time
  double without_s = 0;          ///< the time without the same part
  bool switch_off = false;       ///< half rate is slower than without the part, after NCCL has chosen again
  std::optional<double> lost_h;  ///< of work, by one such event until the repair: stop, work again, slower state
};
struct PartLosses {
  std::string what;  ///< "step", "all_reduce of 1 GiB"
  double sound_s = 0;
  std::vector<PartLoss> rows;  ///< worst first
};

/// Seconds of the same thing on the same machine with more faults.
using TimeWith = std::function<Result<double>(const spec::Overrides& overrides)>;

/// Runs `time` with the named members of each class lost, and at half rate. Interrupted: the rows so far.
Result<PartLosses> lose_parts(std::string what, double sound_s, const std::vector<PartClass>& classes,
                              const spec::Overrides& overrides, const TimeWith& time, const Context& context);
/// Fills in lost_h.
void price_losses(const GoodputRun& goodput, double repair_hours, PartLosses& losses);

/// The stage of each rank's GPU, for part_classes(): first, last, or one in between.
std::vector<std::uint32_t> stage_colours(const workload::LayoutSpec& layout, std::uint32_t gpus);

}  // namespace busbar::survive
