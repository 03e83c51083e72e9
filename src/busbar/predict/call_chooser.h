// What a call runs: the schedule behind "auto", "ring", "fastest" and "synthesized" on a machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/choice/fastest.h"
#include "busbar/choice/synthesis.h"
#include "busbar/choice/trial_times.h"
#include "busbar/predict/communicators.h"
#include "busbar/predict/prediction.h"

namespace busbar {

/// Engines for candidates. A candidate lowered there once is not lowered again.
struct TrialEngines {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Engine> lower_bound;  ///< closed forms that are cheaper and never above the engine's times; or null
  TrialHelpers helpers{};               ///< more of the same, for other threads
  bool alone = true;                    ///< no other job runs at the same time: schedules may be made for the machine
};

struct ChosenCall {
  CollectiveCall call;
  ChosenBy by = ChosenBy::kGiven;
  std::optional<NcclChoice> nccl;
  std::optional<MadeSchedule> made;
};

/// Whether the candidates include schedules made for the machine.
bool may_be_made(const CollectiveCall& call);
/// Whether two calls differ only in size and algorithm.
bool same_shape(const CollectiveCall& a, const CollectiveCall& b);

/// Predictor's choice of algorithms for a call.
class CallChooser {
 public:
  /// All arguments must outlive this object. `ideal`: the machine's software costs nothing.
  CallChooser(const Router& router, const Placement& placement, Communicators& communicators, bool ideal = false)
      : topology_(router.topology()),
        router_(router),
        placement_(placement),
        communicators_(communicators),
        ideal_(ideal) {}

  Result<ChosenCall> choose(const CollectiveCall& asked, TrialEngines& trials);

 private:
  Result<std::optional<ChosenCall>> as_library(const CollectiveCall& call, TrialEngines& trials);
  std::vector<GroupFamily> ways(const CollectiveCall& call, const FamilyCommunicators& comms) const;
  Result<std::optional<ChosenCall>> in_parts(const CollectiveCall& call, const std::vector<GroupFamily>& ways,
                                             TrialEngines& trials);
  std::optional<ChosenCall> as_nccl(const CollectiveCall& call, const FamilyCommunicators& comms, TrialEngines& trials);
  Result<ChosenCall> without_library(CollectiveCall call, TrialEngines& trials);
  Status shorten_by_all_reduce(const CollectiveCall& asked, TrialEngines& trials, ChosenCall& best);
  Result<ChosenCall> fastest_of_all(const CollectiveCall& call, TrialEngines& trials);
  Result<CollectiveCall> over_channels(CollectiveCall call, const std::vector<std::string>& algorithms,
                                       const FamilyCommunicators& comms, TrialEngines& trials);
  Result<CollectiveCall> lay(CollectiveCall call, const FamilyCommunicators& comms, std::uint32_t channels) const;
  const std::vector<Synthesized>* schedules_for(const CollectiveCall& call, const TrialEngines& trials,
                                                std::optional<Error>& refused);

  const Topology& topology_;
  const Router& router_;
  const Placement& placement_;
  Communicators& communicators_;
  bool ideal_;
  std::optional<std::pair<CollectiveCall, std::vector<Synthesized>>> made_;  ///< for the last such call, for any size
};

}  // namespace busbar
