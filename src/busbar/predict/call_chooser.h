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

namespace busbar::predict {

/// Engines for candidates. A candidate lowered there once is not lowered again.
struct TrialEngines {
  std::unique_ptr<engine::Engine> engine;
  std::unique_ptr<engine::Engine>
      lower_bound;                 ///< closed forms that are cheaper and never above the engine's times; or null
  choice::TrialHelpers helpers{};  ///< more of the same, for other threads
  bool alone = true;               ///< no other job runs at the same time: schedules may be made for the machine
};

struct ChosenCall {
  program::CollectiveCall call;
  ChosenBy by = ChosenBy::kGiven;
  std::optional<nccl::NcclChoice> nccl;
  std::optional<MadeSchedule> made;
};

/// Whether the candidates include schedules made for the machine.
bool may_be_made(const program::CollectiveCall& call);
/// Whether two calls differ only in size and algorithm.
bool same_shape(const program::CollectiveCall& a, const program::CollectiveCall& b);

/// Predictor's choice of algorithms for a call.
class CallChooser {
 public:
  /// All arguments must outlive this object. `ideal`: the machine's software costs nothing.
  CallChooser(const routing::Router& router, const routing::Placement& placement, Communicators& communicators,
              const program::ProtocolModel& protocol, bool ideal = false)
      : topology_(router.topology()),
        router_(router),
        placement_(placement),
        communicators_(communicators),
        protocol_(protocol),
        ideal_(ideal) {}

  Result<ChosenCall> choose(const program::CollectiveCall& asked, TrialEngines& trials);

 private:
  Result<std::optional<ChosenCall>> as_library(const program::CollectiveCall& call, TrialEngines& trials);
  std::vector<collectives::GroupFamily> ways(const program::CollectiveCall& call,
                                             const FamilyCommunicators& comms) const;
  Result<std::optional<ChosenCall>> in_parts(const program::CollectiveCall& call,
                                             const std::vector<collectives::GroupFamily>& ways, TrialEngines& trials);
  std::optional<ChosenCall> over_registered(const program::CollectiveCall& call, const FamilyCommunicators& comms,
                                            TrialEngines& trials) const;
  std::optional<ChosenCall> as_nccl(const program::CollectiveCall& call, const FamilyCommunicators& comms,
                                    TrialEngines& trials);
  Result<ChosenCall> without_library(program::CollectiveCall call, TrialEngines& trials);
  Status shorten_by_all_reduce(const program::CollectiveCall& asked, TrialEngines& trials, ChosenCall& best);
  Result<ChosenCall> fastest_of_all(const program::CollectiveCall& call, TrialEngines& trials);
  Result<program::CollectiveCall> over_channels(program::CollectiveCall call,
                                                const std::vector<std::string>& algorithms,
                                                const FamilyCommunicators& comms, TrialEngines& trials);
  Result<program::CollectiveCall> lay(program::CollectiveCall call, const FamilyCommunicators& comms,
                                      std::uint32_t channels) const;
  const std::vector<choice::Synthesized>* schedules_for(const program::CollectiveCall& call, const TrialEngines& trials,
                                                        std::optional<Error>& refused);

  const topology::Topology& topology_;
  const routing::Router& router_;
  const routing::Placement& placement_;
  Communicators& communicators_;
  const program::ProtocolModel& protocol_;
  bool ideal_;
  std::optional<std::pair<program::CollectiveCall, std::vector<choice::Synthesized>>>
      made_;  ///< for the last such call, for any size
};

}  // namespace busbar::predict
