#include "busbar/choice/fastest.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "busbar/collectives/builders.h"
#include "busbar/engine/lowering.h"

namespace busbar {
namespace {

constexpr std::uint64_t kFewBytes = 512;  // nobody's time on a link, beside a step

/// With room for round-off.
double most_ps(Duration d) { return static_cast<double>(d.in_ps()) * (1 + 1e-9); }

ScheduleSpec spec_of(const CollectiveCall& call, const Placement& placement, const Topology& topology) {
  ScheduleSpec spec;
  spec.op = call.op;
  spec.ranks = call.groups.size();
  spec.ranks_per_group = ranks_per_domain(call, topology, placement);
  spec.root = call.root;
  spec.pairs = call.pairs;
  return spec;
}

/// Connections that have to be routed to time it, all groups together.
double routes(const std::string& name, const CollectiveCall& call) {
  const double n = call.groups.size(), groups = call.groups.groups();
  if (name == "direct" && call.pairs.equal()) return groups * n;  // the rest by classes
  if (name == "direct" && call.op == Collective::kAllToAllV) return groups * n * n / 4;  // all that can be laid out
  if (name == "direct" || name == "pairwise")
    return groups * (call.op == Collective::kGather || call.op == Collective::kScatter ? n : n * n);
  const bool halves = name == "halving_doubling" || name == "rabenseifner" || name == "bruck" || name == "pat";
  return groups * n * (halves ? std::bit_width(call.groups.size()) : 1);
}

bool in_network(const Placement& placement, const Topology& t, const CollectiveCall& call) {
  const DeviceId gpu = placement.gpu(call.groups.actor(0, 0));
  const auto reduces = [&](DeviceId d) { return t.device_class(d).reduces; };
  const auto links = t.out_links(gpu);
  return std::any_of(links.begin(), links.end(), [&](LinkId l) { return reduces(t.to(l)); }) ||
         std::any_of(t.fabric_switches().begin(), t.fabric_switches().end(), reduces);
}

bool ll_steps_are_shortest(const ProtocolModel& p) {
  const auto no_longer = [&](Duration scale_up, Duration server, Duration network) {
    return p.ll.step_scale_up <= scale_up && p.ll.step_server <= server && p.ll.step_network <= network;
  };
  const ProtocolCosts& o = p.ll128;
  return p.ll.available && no_longer(p.step_scale_up, p.step_server, p.step_network) &&
         (!o.available || no_longer(o.step_scale_up, o.step_server, o.step_network));
}

/// Those with flags among the data exist for rings and trees (NVIDIA NCCL, src/device); they save time per send and
/// cost bandwidth, so that large calls need not try them.
std::vector<Protocol> protocols_for(const std::string& algorithm, Protocol asked, Bytes bytes,
                                    const ProtocolModel* costs) {
  constexpr std::uint64_t kMostForFlags = 256 << 20;
  if (asked != Protocol::kAuto) return {asked};
  const bool flags = algorithm == "ring" || algorithm == "tree";
  if (flags && count(bytes) <= kFewBytes && costs != nullptr && ll_steps_are_shortest(*costs)) return {Protocol::kLl};
  if (flags && count(bytes) <= kMostForFlags) return {Protocol::kSimple, Protocol::kLl128, Protocol::kLl};
  return {Protocol::kSimple};
}

/// What the links alone take with `p`, as ps, where they take `simple_ps` with kSimple.
double links_ps(double simple_ps, Protocol p, const ProtocolModel* costs) {
  if (costs == nullptr || (p != Protocol::kLl && p != Protocol::kLl128)) return 0;
  const ProtocolCosts& of = p == Protocol::kLl ? costs->ll : costs->ll128;
  return of.available ? simple_ps / of.efficiency : simple_ps;
}

/// Link loads of all stages one after the other; 0 where the engine does not say.
double simple_links_ps(const LoweredCall* lowered) {
  double sum = 0;
  for (std::size_t s = 0; lowered != nullptr && s < lowered->stages.size(); ++s) sum += lowered->stages[s].load_ps;
  return sum;
}

/// What "auto" tries: the algorithms that every library has, where they exist for the collective.
std::vector<std::string> customary(const CollectiveCall& call, std::vector<std::string> names) {
  const bool has_ring = std::find(names.begin(), names.end(), "ring") != names.end();
  if (has_ring && call.op != Collective::kGather && call.op != Collective::kScatter)
    std::erase_if(names, [](const std::string& n) { return n != "ring" && n != "tree" && n != "hierarchical"; });
  return names;
}

}  // namespace

LegalAlgorithms legal_algorithms(const CollectiveCall& call, const Placement& placement, const Topology& topology) {
  constexpr double kMostRoutes = 1 << 19;
  LegalAlgorithms out;
  for (std::string& name : algorithms_for(spec_of(call, placement, topology), in_network(placement, topology, call))) {
    if (const double n = routes(name, call); n > kMostRoutes && name != "ring")
      out.left_out.push_back(fmt::format("{} ({:.0f} routes)", name, n));
    else
      out.names.push_back(std::move(name));
  }
  return out;
}

Result<CollectiveCall> resolve_algorithm(Engine& analytic, const Placement& placement, const Topology& topology,
                                         CollectiveCall call, Engine* sieve) {
  const bool given = call.algorithm != "auto" && call.algorithm != "fastest";
  if (given && call.protocol != Protocol::kAuto) return call;
  LegalAlgorithms legal;
  if (given)
    legal.names = {call.algorithm};
  else
    legal = legal_algorithms(call, placement, topology);
  if (call.algorithm == "auto") legal.names = customary(call, std::move(legal.names));
  if (!given && count(call.bytes) < call.groups.size() && legal.names.size() > 1)  // a ring's pieces would be empty
    std::erase(legal.names, "ring");
  Error last{ErrorCode::kUnsupported,
             fmt::format("no algorithm does {} over {} ranks here; name one with --algorithm to see why",
                         name_of(call.op), call.groups.size()),
             {}};
  Duration best = Duration::max();
  std::string chosen;
  Protocol chosen_protocol = Protocol::kSimple;
  for (const std::string& name : legal.names) {
    double simple_ps = 0;
    for (const Protocol protocol : protocols_for(name, call.protocol, call.bytes, analytic.protocol())) {
      CollectiveCall trial = call;
      trial.algorithm = name;
      trial.protocol = protocol;
      // What cannot be the best need not be lowered.
      if (!chosen.empty() && links_ps(simple_ps, protocol, analytic.protocol()) > most_ps(best)) continue;
      if (!chosen.empty() && count(call.bytes) <= kFewBytes && analytic.least_time(trial) > best) continue;
      if (sieve != nullptr && !chosen.empty()) {
        const Result<CallId> cheap = sieve->prepare(trial);
        if (cheap.ok() && sieve->time_alone(*cheap) > best) continue;
      }
      const Result<CallId> id = analytic.prepare(trial);
      if (!id.ok()) {
        last = id.error();
        continue;
      }
      const Duration time = analytic.time_alone(*id);
      if (protocol == Protocol::kSimple) simple_ps = simple_links_ps(analytic.lowered(*id));
      if (chosen.empty() || time < best) best = time, chosen = name, chosen_protocol = protocol;
    }
  }
  if (chosen.empty()) return last;
  call.algorithm = chosen;
  call.protocol = chosen_protocol;
  return call;
}

Status resolve_algorithms(Engine& analytic, const Placement& placement, const Topology& topology, Program& program) {
  std::vector<std::pair<CollectiveCall, std::uint32_t>> asked;  // of which none is alike another
  for (std::uint32_t i = 0; i < program.calls.size(); ++i) {
    CollectiveCall& call = program.calls[i];
    const auto known =
        std::find_if(asked.begin(), asked.end(), [&](const auto& a) { return analytic.alike(a.first, call); });
    if (known != asked.end()) {
      call.algorithm = program.calls[known->second].algorithm;
      call.protocol = program.calls[known->second].protocol;
      continue;
    }
    asked.emplace_back(call, i);
    BUSBAR_ASSIGN(call, resolve_algorithm(analytic, placement, topology, std::move(call)));
  }
  return {};
}

}  // namespace busbar
