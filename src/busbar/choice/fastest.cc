#include "busbar/choice/fastest.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/choice/cut_time.h"
#include "busbar/choice/trial_times.h"
#include "busbar/collectives/builders.h"
#include "busbar/collectives/sends.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/channels.h"
#include "busbar/lowering/lowering.h"

namespace busbar::choice {
namespace {

constexpr std::uint64_t kFewBytes = 512;  // their time on a link is negligible next to the time of a step

/// With a margin for rounding errors.
double most_ps(Duration d) { return static_cast<double>(d.in_ps()) * (1 + 1e-9); }

collectives::ScheduleSpec spec_of(const program::CollectiveCall& call, const routing::Placement& placement,
                                  const topology::Topology& topology) {
  collectives::ScheduleSpec spec;
  spec.op = call.op;
  spec.ranks = call.groups.size();
  spec.ranks_per_group = lowering::ranks_per_domain(call, topology, placement);
  spec.root = call.root;
  spec.pairs = call.pairs;
  spec.dimensions = lowering::torus_dimensions(call, topology, placement);
  return spec;
}

/// Connections of one group that must be routed to time the phase. Equal pairs are routed by classes.
double routes(const collectives::Phase& phase, std::uint32_t n, bool equal_pairs) {
  const double pairs = double{1} * n * n;
  switch (phase.pattern) {
    case collectives::Pattern::kDirectAllToAll:
      return equal_pairs ? n : pairs / 4;  // no schedule can have more
    case collectives::Pattern::kPairwiseAllToAll:
      return pairs;
    default:
      return double{1} * n *
             (collectives::is_stepwise(phase.pattern) ? collectives::stepwise_rounds(phase.pattern, n) : 1);
  }
}

/// The connections of all groups together, in the phase that has the most.
double routes(std::string algorithm, const program::CollectiveCall& call, collectives::ScheduleSpec spec) {
  spec.algorithm = std::move(algorithm);
  spec.pairs = {};
  const Result<collectives::Schedule> s = collectives::build_schedule(spec);
  double most = 0;
  for (const collectives::Phase& phase : s.ok() ? s->phases : std::vector<collectives::Phase>()) {
    const collectives::GroupFamily& family = s->families[phase.family];
    most = std::max(most, family.groups() * routes(phase, family.size(), call.pairs.equal()));
  }
  return most * call.groups.groups();
}

bool in_network(const routing::Placement& placement, const topology::Topology& t, const program::CollectiveCall& call) {
  const topology::DeviceId gpu = placement.gpu(call.groups.actor(0, 0));
  const auto reduces = [&](topology::DeviceId d) { return t.device_class(d).reduces; };
  const auto links = t.out_links(gpu);
  return std::any_of(links.begin(), links.end(), [&](topology::LinkId l) { return reduces(t.to(l)); }) ||
         std::any_of(t.fabric_switches().begin(), t.fabric_switches().end(), reduces);
}

bool ll_steps_are_shortest(const program::ProtocolModel& p) {
  const auto no_longer = [&](Duration scale_up, Duration server, Duration network) {
    return p.ll.step_scale_up <= scale_up && p.ll.step_server <= server && p.ll.step_network <= network;
  };
  const program::ProtocolCosts& o = p.ll128;
  return p.ll.available && no_longer(p.step_scale_up, p.step_server, p.step_network) &&
         (!o.available || no_longer(o.step_scale_up, o.step_server, o.step_network));
}

/// LL and LL128 save time per send but cost bandwidth, so they are not tried for large calls.
std::vector<program::Protocol> protocols_for(const std::string& algorithm, program::Protocol asked, Bytes bytes,
                                             const program::ProtocolModel* costs, const Shortcuts& shortcuts) {
  constexpr std::uint64_t kMostForFlags = 256 << 20;
  if (asked != program::Protocol::kAuto) return {asked};
  const bool flags = collectives::traits_of(algorithm).sends_flags;
  if (!flags) return {program::Protocol::kSimple};
  const bool small = count(bytes) <= kFewBytes && costs != nullptr && ll_steps_are_shortest(*costs);
  const bool large = count(bytes) > kMostForFlags;
  if ((small || large) && shortcuts.take(Shortcut::kProtocolsBySize))
    return {small ? program::Protocol::kLl : program::Protocol::kSimple};
  return {program::Protocol::kSimple, program::Protocol::kLl128, program::Protocol::kLl};
}

/// Time on the links alone with protocol `p`, in ps, if it is `simple_ps` with kSimple.
double links_ps(double simple_ps, program::Protocol p, const program::ProtocolModel* costs) {
  if (costs == nullptr || (p != program::Protocol::kLl && p != program::Protocol::kLl128)) return 0;
  const program::ProtocolCosts& of = p == program::Protocol::kLl ? costs->ll : costs->ll128;
  return of.available ? simple_ps / of.efficiency : simple_ps;
}

/// The algorithms that "auto" tries: the customary ones, if the collective has any.
std::vector<std::string> customary(const program::CollectiveCall& call, std::vector<std::string> names) {
  const auto rare = [](const std::string& name) { return !collectives::traits_of(name).customary; };
  const bool some = !std::all_of(names.begin(), names.end(), rare);
  if (some && call.op != collectives::Collective::kGather && call.op != collectives::Collective::kScatter)
    std::erase_if(names, rare);
  return names;
}

/// A candidate for the fastest algorithm.
struct Trial {
  std::size_t place = 0;  ///< index of the algorithm in docs/collectives.md
  program::CollectiveCall call;
  Duration at_least;
  Shortcut by{};  ///< that says so
};

/// Bytes on a link per byte of payload.
double sent_per_byte(program::Protocol p, const program::ProtocolModel* costs) {
  if (costs == nullptr) return 1;
  const program::ProtocolCosts* of = p == program::Protocol::kLl      ? &costs->ll
                                     : p == program::Protocol::kLl128 ? &costs->ll128
                                                                      : nullptr;
  return of != nullptr && of->available ? 1 / of->efficiency : 1;
}

/// Every algorithm with its protocols, in ascending order of lower bounds, so that few need to be lowered.
std::vector<Trial> trials_of(const program::CollectiveCall& call, const std::vector<std::string>& names,
                             engine::Engine& analytic, const routing::Placement& placement,
                             const topology::Topology& topology) {
  std::vector<Trial> out;
  const program::ProtocolModel* costs = analytic.protocol();
  const Shortcuts shortcuts = analytic.shortcuts();
  const std::uint32_t per_domain = lowering::ranks_per_domain(call, topology, placement);
  CutTime cut(topology, placement);
  for (std::size_t i = 0; i < names.size() && analytic.status().ok(); ++i) {
    program::CollectiveCall named = call;
    named.algorithm = names[i];
    double cut_ps = 0;
    if (names.size() > 1 && !call.schedule && shortcuts.has(Shortcut::kCutTime))
      if (const auto s = lowering::build_for_call(named, topology, placement, per_domain, 0); s.ok())
        cut_ps = cut.least_ps(named, *s);
    for (const program::Protocol protocol : protocols_for(names[i], call.protocol, call.bytes, costs, shortcuts)) {
      out.push_back({i, named, Duration(), {}});
      Trial& t = out.back();
      t.call.protocol = protocol;
      if (names.size() == 1) continue;
      const double launch_ps = costs == nullptr ? 0 : static_cast<double>(costs->launch.in_ps());
      const Duration cables =  // without end where a part of the call has no link left
          duration_from_ps(launch_ps + cut_ps * sent_per_byte(protocol, costs) * (1 - 1e-9));
      const Duration chain = shortcuts.has(Shortcut::kLeastTime) ? analytic.least_time(t.call) : Duration();
      t.at_least = std::max(cables, chain);
      t.by = cables > chain ? Shortcut::kCutTime : Shortcut::kLeastTime;
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Trial& a, const Trial& b) { return a.at_least < b.at_least; });
  return out;
}

}  // namespace

LegalAlgorithms legal_algorithms(const program::CollectiveCall& call, const routing::Placement& placement,
                                 const topology::Topology& topology, const Shortcuts& shortcuts) {
  constexpr double kMostRoutes = 1 << 19;
  LegalAlgorithms out;
  const collectives::ScheduleSpec spec = spec_of(call, placement, topology);
  for (std::string& name : collectives::algorithms_for(spec, in_network(placement, topology, call))) {
    const double n = routes(name, call, spec);
    const bool many = n > kMostRoutes && n > call.groups.groups() * double{1} * call.groups.size();
    if (many && shortcuts.take(Shortcut::kWorkLimit))
      out.left_out.push_back(fmt::format("{} ({:.0f} routes)", name, n));
    else
      out.names.push_back(std::move(name));
  }
  return out;
}

std::vector<std::string> fastest_names(const program::CollectiveCall& call, const routing::Placement& placement,
                                       const topology::Topology& topology, const Shortcuts& shortcuts) {
  std::vector<std::string> names = legal_algorithms(call, placement, topology, shortcuts).names;
  for (std::string& form :
       collectives::nested_forms(spec_of(call, placement, topology), in_network(placement, topology, call)))
    names.push_back(std::move(form));
  return names;
}

Result<program::CollectiveCall> resolve_algorithm(engine::Engine& analytic, const routing::Placement& placement,
                                                  const topology::Topology& topology, program::CollectiveCall call,
                                                  engine::Engine* lower_bound, const TrialHelpers* helpers) {
  const bool given = call.algorithm != "auto" && call.algorithm != "fastest";
  if (given && call.protocol != program::Protocol::kAuto) return call;
  std::vector<std::string> names{call.algorithm};
  const Shortcuts shortcuts = analytic.shortcuts();
  if (call.algorithm == "auto") names = customary(call, legal_algorithms(call, placement, topology, shortcuts).names);
  if (call.algorithm == "fastest") names = fastest_names(call, placement, topology, shortcuts);
  Error last{ErrorCode::kUnsupported,
             fmt::format("no algorithm does {} over {} ranks here; name one with --algorithm to see why",
                         collectives::name_of(call.op), call.groups.size()),
             {}};
  Duration best = Duration::max();
  const Trial* chosen = nullptr;
  std::vector<double> simple_ps(names.size(), 0.0);
  const std::vector<Trial> trials = trials_of(call, names, analytic, placement, topology);
  std::vector<TrialTimes::Candidate> candidates;
  for (const Trial& t : trials) candidates.push_back({t.place, &t.call});
  TrialTimes times({&analytic, lower_bound}, helpers, std::move(candidates));
  const auto best_time = [&] { return chosen ? std::optional<Duration>(best) : std::nullopt; };
  const auto too_many_bytes = [&](const Trial& t) {
    return links_ps(simple_ps[t.place], t.call.protocol, analytic.protocol()) > most_ps(best);
  };
  const auto wanted = [&](std::size_t j) { return !(too_many_bytes(trials[j]) || trials[j].at_least > best); };
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial& t = trials[i];
    BUSBAR_RETURN_IF_ERROR(analytic.status());
    // A trial whose bound is above the best time is not lowered.
    if (chosen && too_many_bytes(t) && shortcuts.take(Shortcut::kProtocolBytes)) continue;
    if (chosen && t.at_least > best && shortcuts.take(t.by)) continue;
    const TimedTrial& timed = times.of(i, best_time(), wanted);
    if (chosen && timed.at_least && *timed.at_least > best && shortcuts.take(Shortcut::kBoundEngine)) continue;
    if (!timed.status.ok()) {
      last = timed.status.error();
      continue;
    }
    if (t.call.protocol == program::Protocol::kSimple) simple_ps[t.place] = timed.links_ps;
    if (!chosen || timed.time < best || (timed.time == best && t.place < chosen->place)) best = timed.time, chosen = &t;
  }
  BUSBAR_RETURN_IF_ERROR(analytic.status());
  if (!chosen) return last;
  return chosen->call;
}

}  // namespace busbar::choice
