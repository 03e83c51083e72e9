#include "busbar/predict/call_chooser.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "busbar/choice/as_nccl.h"
#include "busbar/choice/rooted_sums.h"
#include "busbar/collectives/builders.h"
#include "busbar/lowering/channels.h"

namespace busbar::predict {
namespace {

std::optional<nccl::NcclProtocol> nccl_protocol(program::Protocol protocol) {
  switch (protocol) {
    case program::Protocol::kSimple:
      return nccl::NcclProtocol::kSimple;
    case program::Protocol::kLl128:
      return nccl::NcclProtocol::kLl128;
    case program::Protocol::kLl:
      return nccl::NcclProtocol::kLl;
    default:
      break;
  }
  return std::nullopt;
}

program::Protocol protocol_of(nccl::NcclProtocol protocol) {
  switch (protocol) {
    case nccl::NcclProtocol::kLl:
      return program::Protocol::kLl;
    case nccl::NcclProtocol::kLl128:
      return program::Protocol::kLl128;
    case nccl::NcclProtocol::kSimple:
      break;
  }
  return program::Protocol::kSimple;
}

/// Whether NCCL has a cost table for the collective.
bool is_tuned(collectives::Collective op) {
  return op == collectives::Collective::kAllReduce || op == collectives::Collective::kAllGather ||
         op == collectives::Collective::kReduceScatter || op == collectives::Collective::kBroadcast ||
         op == collectives::Collective::kReduce;
}

/// The algorithms of which a library without a table for the call runs the fastest.
std::vector<std::string> customary(const program::CollectiveCall& call) {
  if (call.algorithm != "auto") return {call.algorithm};
  return is_tuned(call.op) ? std::vector<std::string>{"ring", "tree"} : std::vector<std::string>{"direct"};
}

Result<nccl::NcclChoice> choice_of(const Communicator& comm, const program::CollectiveCall& call) {
  return nccl::choose_nccl(comm.schedules.comm(), comm.tuning, call.op, call.bytes,
                           {nccl::nccl_algorithm(call.algorithm), nccl_protocol(call.protocol)});
}

/// The schedule and protocol of a kernel for registered buffers. Multicast stores of flags count as sends to each peer,
/// which load the links to the receivers alike.
void run_kernel(nccl::NcclKernelWay way, program::CollectiveCall& call) {
  using enum nccl::NcclKernelWay;
  constexpr std::uint64_t kPiece = 4096, kMostPieces = 64;  // warps add and store what has arrived while more does
  const bool flags = way == kOneShot || way == kFlags;
  call.protocol = flags            ? program::Protocol::kSymmetricLl
                  : way == kCopies ? program::Protocol::kCopy
                                   : program::Protocol::kSymmetric;
  call.algorithm = way == kOneShot ? "one_shot" : way == kSwitch ? "nvls" : "direct";
  if (way == kOneShot)
    call.schedule = std::make_shared<const collectives::Schedule>(collectives::build_one_shot(call.groups.size()));
  if (way == kSwitch && call.chunks == 0)
    call.chunks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(count(call.bytes) / kPiece, 1, kMostPieces));
}

/// Whether the machine's file knows what the protocol costs.
bool has_costs(const program::ProtocolModel& m, program::Protocol protocol) {
  if (protocol == program::Protocol::kSymmetric) return m.symmetric.available;
  if (protocol == program::Protocol::kSymmetricLl) return m.symmetric_ll.available;
  return m.copy.available;
}

std::string_view kernel_of(const Result<nccl::NcclChoice>& choice) {
  return choice.ok() && choice->kernel ? choice->kernel->name : std::string_view();
}

/// Whether the library runs the call by one schedule and protocol over groups with these two communicators.
bool one_way(Communicator& a, Communicator& b, program::CollectiveCall call) {
  const Result<nccl::NcclChoice> x = choice_of(a, call), y = choice_of(b, call);
  if (kernel_of(x) != kernel_of(y)) return false;
  if (!is_tuned(call.op) || !kernel_of(x).empty()) return true;
  if (x.ok() != y.ok()) return false;
  if (x.ok()) {
    call.algorithm = nccl::schedule_name(x->algorithm);
    return x->algorithm == y->algorithm && x->protocol == y->protocol && x->channels == y->channels &&
           x->pieces == y->pieces && a.schedules.same_channels(b.schedules, call, x->channels);
  }
  const std::vector<std::string> names = customary(call);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    call.algorithm = name;
    return a.schedules.same_channels(b.schedules, call);
  });
}

}  // namespace

bool may_be_made(const program::CollectiveCall& call) {
  return call.algorithm == "synthesized" || call.algorithm == "fastest";
}

bool same_shape(const program::CollectiveCall& a, const program::CollectiveCall& b) {
  return a.op == b.op && a.root == b.root && a.groups == b.groups && a.pairs == b.pairs;
}

/// Maps each group of the call to the first `channels` channels (0: all) of its own communicator.
Result<program::CollectiveCall> CallChooser::lay(program::CollectiveCall call, const FamilyCommunicators& comms,
                                                 std::uint32_t channels) const {
  const collectives::GroupFamily groups = call.groups;
  const auto first_device = [&](std::uint32_t group, std::uint32_t member) {
    const topology::BlockId block = topology_.block_of(placement_.gpu(groups.actor(group, member)));
    return topology_.blocks()[index(block)].first_device;
  };
  return choice::NcclGroups([&](std::uint32_t group) -> choice::NcclSchedules& { return comms.of(group).schedules; },
                            first_device)
      .over_channels(std::move(call), channels);
}

/// The groups of the call by the way in which the library runs them, in order of their first groups.
std::vector<collectives::GroupFamily> CallChooser::ways(const program::CollectiveCall& call,
                                                        const FamilyCommunicators& comms) const {
  std::vector<std::uint32_t> way_of;    // per class
  std::vector<std::uint32_t> first_of;  // per way: its first class
  for (std::uint32_t c = 0; c < comms.classes.size(); ++c) {
    const auto same = std::find_if(first_of.begin(), first_of.end(), [&](std::uint32_t first) {
      return one_way(*comms.classes[first], *comms.classes[c], call);
    });
    way_of.push_back(static_cast<std::uint32_t>(same - first_of.begin()));
    if (same == first_of.end()) first_of.push_back(c);
  }
  if (first_of.size() == 1) return {call.groups};
  std::vector<collectives::GroupFamily> out(first_of.size());
  for (std::uint32_t g = 0; g < call.groups.groups(); ++g) {
    collectives::GroupFamily& way = out[way_of[comms.class_of[g]]];
    for (std::uint32_t m = 0; m < call.groups.size(); ++m) way.listed.push_back(call.groups.actor(g, m));
    ++way.listed_groups;
  }
  for (collectives::GroupFamily& way : out) way.order = call.groups.order;
  return out;
}

/// Each way is chosen and laid as if the others did not run.
Result<std::optional<ChosenCall>> CallChooser::in_parts(const program::CollectiveCall& call,
                                                        const std::vector<collectives::GroupFamily>& ways,
                                                        TrialEngines& trials) {
  std::optional<ChosenCall> out;
  std::vector<program::CollectiveCall> parts;
  for (const collectives::GroupFamily& groups : ways) {
    program::CollectiveCall part = call;
    part.groups = groups;
    BUSBAR_ASSIGN(auto chosen, as_library(part, trials));
    if (!chosen) return chosen;
    parts.push_back(chosen->call);
    if (!out) out = std::move(chosen);
  }
  out->call.groups = call.groups;
  out->call.schedule = nullptr;
  out->call.nics = nullptr;
  out->call.parts = std::move(parts);
  return out;
}

/// The fastest of `algorithms` over the channels of `comms`, each with its fastest protocol.
Result<program::CollectiveCall> CallChooser::over_channels(program::CollectiveCall call,
                                                           const std::vector<std::string>& algorithms,
                                                           const FamilyCommunicators& comms, TrialEngines& trials) {
  Error last{ErrorCode::kUnsupported, "no algorithm", {}};
  std::optional<program::CollectiveCall> best;
  Duration least = Duration::max();
  for (const std::string& name : algorithms) {
    call.algorithm = name;
    call.schedule = nullptr;
    BUSBAR_ASSIGN(program::CollectiveCall trial, lay(call, comms, 0));
    Result<program::CollectiveCall> resolved =
        choice::resolve_algorithm(*trials.engine, placement_, topology_, std::move(trial));
    const Result<program::CallId> id =
        resolved.ok() ? trials.engine->prepare(*resolved) : Result<program::CallId>(resolved.error());
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

/// What NCCL runs for registered buffers, if it runs anything else for them: the kernel's sends, without channels.
std::optional<ChosenCall> CallChooser::over_registered(const program::CollectiveCall& call,
                                                       const FamilyCommunicators& comms, TrialEngines& trials) const {
  if (call.algorithm != "auto" || call.protocol != program::Protocol::kAuto || call.root != 0) return std::nullopt;
  const auto choice = choice_of(comms.first(), call);
  if (!choice.ok() || !choice->kernel) return std::nullopt;
  ChosenCall out{call, ChosenBy::kNccl, *choice, {}};
  run_kernel(choice->kernel->way, out.call);
  if (!has_costs(protocol_, out.call.protocol) || !trials.engine->prepare(out.call).ok()) return std::nullopt;
  return out;
}

/// Empty if NCCL's tables have no entry for the call, or name an algorithm that this machine cannot run.
std::optional<ChosenCall> CallChooser::as_nccl(const program::CollectiveCall& call, const FamilyCommunicators& comms,
                                               TrialEngines& trials) {
  const auto choice = choice_of(comms.first(), call);
  if (!choice.ok()) return std::nullopt;
  ChosenCall out{call, nccl::nccl_algorithm(call.algorithm) ? ChosenBy::kGiven : ChosenBy::kNccl, *choice, {}};
  out.call.algorithm = nccl::schedule_name(choice->algorithm);
  out.call.protocol = protocol_of(choice->protocol);
  if (call.chunks == 0) out.call.chunks = choice->pieces;
  Result<program::CollectiveCall> laid = lay(out.call, comms, choice->channels);
  if (!laid.ok() || !trials.engine->prepare(*laid).ok()) return std::nullopt;
  out.call = std::move(*laid);
  return out;
}

/// Empty if neither NCCL nor RCCL covers the call.
Result<std::optional<ChosenCall>> CallChooser::as_library(const program::CollectiveCall& call, TrialEngines& trials) {
  const bool is_auto = call.algorithm == "auto";
  if (!is_auto && !nccl::nccl_algorithm(call.algorithm)) return std::optional<ChosenCall>();
  const auto found = communicators_.of(call.groups, call.channels);
  if (!found.ok() && found.error().code != ErrorCode::kUnsupported) return found.error();
  if (!found.ok()) return std::optional<ChosenCall>();
  const FamilyCommunicators& comms = **found;
  if (comms.classes.size() > 1)
    if (const auto apart = ways(call, comms); apart.size() > 1) return in_parts(call, apart, trials);
  if (auto chosen = over_registered(call, comms, trials)) return chosen;
  if (is_tuned(call.op))
    if (auto chosen = as_nccl(call, comms, trials)) return chosen;
  Result<program::CollectiveCall> best = over_channels(call, customary(call), comms, trials);
  if (!best.ok() && !is_auto) return best.error();
  if (!best.ok()) return std::optional<ChosenCall>();
  ChosenCall out{std::move(*best), is_auto ? ChosenBy::kFastest : ChosenBy::kGiven, {}, {}};
  if (is_auto && !is_tuned(call.op)) {
    out.by = ChosenBy::kNccl;  // for grouped sends and receives
    if (const auto choice = choice_of(comms.first(), call); choice.ok()) out.nccl = *choice;
  }
  return std::optional<ChosenCall>(std::move(out));
}

/// Schedules for calls of this shape and any size; null, with the reason in `refused`, if there are none.
const std::vector<choice::Synthesized>* CallChooser::schedules_for(const program::CollectiveCall& call,
                                                                   const TrialEngines& trials,
                                                                   std::optional<Error>& refused) {
  if (!made_ || !same_shape(made_->first, call)) {
    Result<std::vector<choice::Synthesized>> made =
        choice::synthesize(router_, placement_, call, trials.engine->shortcuts());
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
Result<ChosenCall> CallChooser::fastest_of_all(const program::CollectiveCall& call, TrialEngines& trials) {
  const bool only = call.algorithm == "synthesized";
  program::CollectiveCall plain = call;
  plain.algorithm = "fastest";
  BUSBAR_ASSIGN(program::CollectiveCall textbook,
                choice::resolve_algorithm(*trials.engine, placement_, topology_, plain, trials.lower_bound.get(),
                                          &trials.helpers));
  plain.algorithm = "auto";
  BUSBAR_ASSIGN(auto library, as_library(plain, trials));
  ChosenCall out{textbook, only ? ChosenBy::kGiven : ChosenBy::kFastest, {}, {}};
  if (library) {
    BUSBAR_ASSIGN(const program::CallId ours, trials.engine->prepare(textbook));
    BUSBAR_ASSIGN(const program::CallId theirs, trials.engine->prepare(library->call));
    if (trials.engine->time_alone(theirs) < trials.engine->time_alone(ours)) textbook = std::move(library->call);
    out.call = textbook;
  }
  if (!trials.alone) return out;
  std::optional<Error> refused;
  const std::vector<choice::Synthesized>* made = schedules_for(call, trials, refused);
  if (made == nullptr && only) return *refused;
  if (made == nullptr || (made->empty() && !only)) return out;
  choice::CutTime cut(topology_, placement_);
  BUSBAR_ASSIGN(choice::SynthesizedCall best,
                choice::pick_fastest(*trials.engine, trials.lower_bound.get(), cut, *made, plain, textbook));
  if (!only && best.call.algorithm != "synthesized") return out;
  out.call = std::move(best.call);
  out.made = MadeSchedule{best.what, best.textbook.algorithm, best.textbook_alone, best.ring_alone};
  return out;
}

/// A broadcast or reduce takes the schedule of the customary all-reduce if that is faster: it moves no less.
Status CallChooser::shorten_by_all_reduce(const program::CollectiveCall& asked, TrialEngines& trials,
                                          ChosenCall& best) {
  program::CollectiveCall sums = asked;
  sums.op = collectives::Collective::kAllReduce;
  sums.root = 0;
  const Result<program::CollectiveCall> found = choice::resolve_algorithm(*trials.engine, placement_, topology_, sums);
  if (!found.ok()) return trials.engine->status();
  const std::uint32_t domain = lowering::ranks_per_domain(*found, topology_, placement_);
  BUSBAR_ASSIGN(const collectives::Schedule schedule,
                lowering::build_for_call(*found, topology_, placement_, domain, asked.channels));
  std::optional<collectives::Schedule> alone = choice::rooted_sums(schedule, asked.op, asked.root);
  if (!alone) return {};
  program::CollectiveCall rooted = asked;
  rooted.algorithm = "synthesized";
  rooted.protocol = found->protocol;
  rooted.schedule = std::make_shared<const collectives::Schedule>(*std::move(alone));
  BUSBAR_ASSIGN(const program::CallId ours, trials.engine->prepare(best.call));
  const Result<program::CallId> theirs = trials.engine->prepare(rooted);
  if (!theirs.ok() || trials.engine->time_alone(*theirs) >= trials.engine->time_alone(ours)) return {};
  best.made = MadeSchedule{found->algorithm + ", an all-reduce for the root alone",
                           best.call.algorithm,
                           trials.engine->time_alone(ours),
                           {}};
  best.call = std::move(rooted);
  return {};
}

/// "auto" where neither NCCL nor RCCL runs. A search among all schedules is bounded to few ranks, and to machines
/// whose software is unknown: the others run what their libraries have.
Result<ChosenCall> CallChooser::without_library(program::CollectiveCall call, TrialEngines& trials) {
  constexpr std::uint32_t kMostSearched = 64;  // ranks
  if (ideal_ && trials.alone && call.groups.groups() == 1 && call.groups.size() <= kMostSearched) {
    call.algorithm = "fastest";
    return fastest_of_all(call, trials);
  }
  ChosenCall out{call, ChosenBy::kFastest, {}, {}};
  BUSBAR_ASSIGN(out.call,
                choice::resolve_algorithm(*trials.engine, placement_, topology_, call, nullptr, &trials.helpers));
  if (call.op == collectives::Collective::kBroadcast || call.op == collectives::Collective::kReduce)
    BUSBAR_RETURN_IF_ERROR(shorten_by_all_reduce(call, trials, out));
  return out;
}

Result<ChosenCall> CallChooser::choose(const program::CollectiveCall& asked, TrialEngines& trials) {
  program::CollectiveCall call = asked;
  if (const auto named = nccl::nccl_algorithm(call.algorithm)) call.algorithm = nccl::schedule_name(*named);
  if (!call.schedule) {
    if (may_be_made(call)) return fastest_of_all(call, trials);
    BUSBAR_ASSIGN(auto chosen, as_library(call, trials));
    if (chosen) return *std::move(chosen);
    if (call.algorithm == "auto") return without_library(std::move(call), trials);
  }
  ChosenCall out{call, call.algorithm == "auto" ? ChosenBy::kFastest : ChosenBy::kGiven, {}, {}};
  BUSBAR_ASSIGN(out.call, choice::resolve_algorithm(*trials.engine, placement_, topology_, std::move(call), nullptr,
                                                    &trials.helpers));
  return out;
}

}  // namespace busbar::predict
