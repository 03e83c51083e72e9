#include "busbar/predict/call_chooser.h"

#include <string>
#include <utility>
#include <vector>

#include "busbar/choice/as_nccl.h"

namespace busbar {
namespace {

std::optional<NcclProtocol> nccl_protocol(Protocol protocol) {
  switch (protocol) {
    case Protocol::kSimple:
      return NcclProtocol::kSimple;
    case Protocol::kLl128:
      return NcclProtocol::kLl128;
    case Protocol::kLl:
      return NcclProtocol::kLl;
    case Protocol::kAuto:
      break;
  }
  return std::nullopt;
}

Protocol protocol_of(NcclProtocol protocol) {
  switch (protocol) {
    case NcclProtocol::kLl:
      return Protocol::kLl;
    case NcclProtocol::kLl128:
      return Protocol::kLl128;
    case NcclProtocol::kSimple:
      break;
  }
  return Protocol::kSimple;
}

/// Whether NCCL has a cost table for the collective.
bool is_tuned(Collective op) {
  return op == Collective::kAllReduce || op == Collective::kAllGather || op == Collective::kReduceScatter ||
         op == Collective::kBroadcast || op == Collective::kReduce;
}

}  // namespace

bool may_be_made(const CollectiveCall& call) { return call.algorithm == "synthesized" || call.algorithm == "fastest"; }

bool same_shape(const CollectiveCall& a, const CollectiveCall& b) {
  return a.op == b.op && a.root == b.root && a.groups == b.groups && a.pairs == b.pairs;
}

/// Maps each group of the call to the first `channels` channels (0: all) of its own communicator.
Result<CollectiveCall> CallChooser::lay(CollectiveCall call, const FamilyCommunicators& comms,
                                        std::uint32_t channels) const {
  const GroupFamily groups = call.groups;
  const auto first_device = [&](std::uint32_t group, std::uint32_t member) {
    const BlockId block = topology_.block_of(placement_.gpu(groups.actor(group, member)));
    return topology_.blocks()[index(block)].first_device;
  };
  return NcclGroups([&](std::uint32_t group) -> NcclSchedules& { return comms.of(group).schedules; }, first_device)
      .over_channels(std::move(call), channels);
}

/// The fastest of `algorithms` over the channels of `comms`, each with its fastest protocol.
Result<CollectiveCall> CallChooser::over_channels(CollectiveCall call, const std::vector<std::string>& algorithms,
                                                const FamilyCommunicators& comms, TrialEngines& trials) {
  Error last{ErrorCode::kUnsupported, "no algorithm", {}};
  std::optional<CollectiveCall> best;
  Duration least = Duration::max();
  for (const std::string& name : algorithms) {
    call.algorithm = name;
    call.schedule = nullptr;
    BUSBAR_ASSIGN(CollectiveCall trial, lay(call, comms, 0));
    Result<CollectiveCall> resolved =
        resolve_algorithm(*trials.engine, placement_, topology_, std::move(trial));
    const Result<CallId> id = resolved.ok() ? trials.engine->prepare(*resolved) : Result<CallId>(resolved.error());
    if (!id.ok()) {
      last = id.error();
      continue;
    }
    if (best && trials.engine->time_alone(*id) >= least) continue;
    least = trials.engine->time_alone(*id);
    best = std::move(*resolved);
  }
  if (!best) return last;
  return *std::move(best);
}

/// Empty if NCCL's tables have no entry for the call, or name an algorithm that this machine cannot run.
std::optional<ChosenCall> CallChooser::as_nccl(const CollectiveCall& call, const FamilyCommunicators& comms,
                                                TrialEngines& trials) {
  const Communicator& comm = comms.first();
  const auto named = nccl_algorithm(call.algorithm);
  const auto choice = choose_nccl(comm.schedules.comm(), comm.tuning, call.op, call.bytes,
                                  {named, nccl_protocol(call.protocol)});
  if (!choice.ok()) return std::nullopt;
  ChosenCall out{call, named ? ChosenBy::kGiven : ChosenBy::kNccl, *choice, {}};
  out.call.algorithm = schedule_name(choice->algorithm);
  out.call.protocol = protocol_of(choice->protocol);
  if (call.chunks == 0) out.call.chunks = choice->pieces;
  Result<CollectiveCall> laid = lay(out.call, comms, choice->channels);
  if (!laid.ok() || !trials.engine->prepare(*laid).ok()) return std::nullopt;
  out.call = std::move(*laid);
  return out;
}

/// Empty if neither NCCL nor RCCL covers the call.
Result<std::optional<ChosenCall>> CallChooser::as_library(const CollectiveCall& call, TrialEngines& trials) {
  const bool is_auto = call.algorithm == "auto";
  if (!is_auto && !nccl_algorithm(call.algorithm)) return std::optional<ChosenCall>();
  const auto found = communicators_.of(call.groups, call.channels);
  if (!found.ok() && found.error().code != ErrorCode::kUnsupported) return found.error();
  if (!found.ok()) return std::optional<ChosenCall>();
  const FamilyCommunicators& comms = **found;
  const Communicator& comm = comms.first();
  if (is_tuned(call.op))
    if (auto chosen = as_nccl(call, comms, trials)) return chosen;
  std::vector<std::string> names{call.algorithm};
  if (is_auto && is_tuned(call.op)) names = {"ring", "tree"};
  if (is_auto && !is_tuned(call.op)) names = {"direct"};
  Result<CollectiveCall> best = over_channels(call, names, comms, trials);
  if (!best.ok() && !is_auto) return best.error();
  if (!best.ok()) return std::optional<ChosenCall>();
  ChosenCall out{std::move(*best), is_auto ? ChosenBy::kFastest : ChosenBy::kGiven, {}, {}};
  if (is_auto && !is_tuned(call.op)) {
    out.by = ChosenBy::kNccl;  // for grouped sends and receives
    if (const auto choice = choose_nccl(comm.schedules.comm(), comm.tuning, call.op, call.bytes); choice.ok())
      out.nccl = *choice;
  }
  return std::optional<ChosenCall>(std::move(out));
}

/// Schedules for calls of this shape and any size; null, with the reason in `refused`, if there are none.
const std::vector<Synthesized>* CallChooser::schedules_for(const CollectiveCall& call, const TrialEngines& trials,
                                                           std::optional<Error>& refused) {
  if (!made_ || !same_shape(made_->first, call)) {
    Result<std::vector<Synthesized>> made = synthesize(router_, placement_, call, trials.engine->shortcuts());
    if (!made.ok()) {
      refused = made.error();
      return nullptr;
    }
    made_.emplace(call, std::move(*made));
  }
  return &made_->second;
}

/// The fastest of all textbook algorithms, NCCL's choice, and schedules made for the machine; for "synthesized": the
/// fastest of these schedules, and for comparison the fastest of the others.
Result<ChosenCall> CallChooser::fastest_of_all(const CollectiveCall& call, TrialEngines& trials) {
  const bool only = call.algorithm == "synthesized";
  CollectiveCall plain = call;
  plain.algorithm = "fastest";
  BUSBAR_ASSIGN(CollectiveCall textbook,
                resolve_algorithm(*trials.engine, placement_, topology_, plain, trials.lower_bound.get()));
  plain.algorithm = "auto";
  BUSBAR_ASSIGN(auto library, as_library(plain, trials));
  ChosenCall out{textbook, only ? ChosenBy::kGiven : ChosenBy::kFastest, {}, {}};
  if (library) {
    BUSBAR_ASSIGN(const CallId ours, trials.engine->prepare(textbook));
    BUSBAR_ASSIGN(const CallId theirs, trials.engine->prepare(library->call));
    if (trials.engine->time_alone(theirs) < trials.engine->time_alone(ours)) textbook = std::move(library->call);
    out.call = textbook;
  }
  if (!trials.alone) return out;
  std::optional<Error> refused;
  const std::vector<Synthesized>* made = schedules_for(call, trials, refused);
  if (made == nullptr && only) return *refused;
  if (made == nullptr || (made->empty() && !only)) return out;
  CutTime cut(topology_, placement_);
  BUSBAR_ASSIGN(SynthesizedCall best,
                pick_fastest(*trials.engine, trials.lower_bound.get(), cut, *made, plain, textbook));
  if (!only && best.call.algorithm != "synthesized") return out;
  out.call = std::move(best.call);
  out.made = MadeSchedule{best.what, best.textbook.algorithm, best.textbook_alone, best.ring_alone};
  return out;
}

Result<ChosenCall> CallChooser::choose(const CollectiveCall& asked, TrialEngines& trials) {
  CollectiveCall call = asked;
  if (const auto named = nccl_algorithm(call.algorithm)) call.algorithm = schedule_name(*named);
  if (!call.schedule) {
    if (may_be_made(call)) return fastest_of_all(call, trials);
    BUSBAR_ASSIGN(auto chosen, as_library(call, trials));
    if (chosen) return *std::move(chosen);
  }
  ChosenCall out{call, call.algorithm == "auto" ? ChosenBy::kFastest : ChosenBy::kGiven, {}, {}};
  BUSBAR_ASSIGN(out.call, resolve_algorithm(*trials.engine, placement_, topology_, std::move(call)));
  return out;
}

}  // namespace busbar
