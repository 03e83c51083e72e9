#include "busbar/predict/predictor.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "busbar/base/cores.h"
#include "busbar/base/quantity.h"
#include "busbar/choice/as_nccl.h"
#include "busbar/collectives/builders.h"
#include "busbar/engine/engine.h"
#include "busbar/lowering/lowering.h"
#include "busbar/lowering/memory_limit.h"
#include "busbar/packet/collective_flows.h"
#include "busbar/predict/environment.h"
#include "busbar/predict/internal/cause.h"
#include "busbar/predict/machine_changes.h"
#include "busbar/routing/path_view.h"
#include "busbar/topology/gpu_memory.h"

namespace busbar::predict {
namespace {

/// What machines without software costs pipeline. As fluids finer pieces would be up to 3 % faster; as packets a tree
/// of 16 MiB over two nodes of eight GPUs is fastest with these (tests/cli/judges.test, --chunks).
constexpr Bytes kIdealPiece{64 << 10};

bool leaves_a_block(const topology::Topology& t, const routing::Placement& placement,
                    const collectives::GroupFamily& groups) {
  for (std::uint32_t g = 0; g < groups.groups(); ++g)
    for (std::uint32_t m = 1; m < groups.size(); ++m)
      if (t.block_of(placement.gpu(groups.actor(g, m))) != t.block_of(placement.gpu(groups.actor(g, 0)))) return true;
  return false;
}

/// Such kernels are chosen again for every call: their schedules have no name.
bool is_for_registered(program::Protocol p) {
  return p == program::Protocol::kSymmetric || p == program::Protocol::kSymmetricLl || p == program::Protocol::kCopy;
}

}  // namespace

program::CollectiveCall call_over(collectives::Collective op, Bytes bytes, std::uint32_t n) {
  program::CollectiveCall call;
  call.op = op;
  call.bytes = bytes;
  call.groups = collectives::one_group(n);
  call.algorithm = "auto";
  return call;
}

Predictor::Predictor(spec::Cluster cluster, PredictPolicy policy)
    : cluster_(std::move(cluster)),
      policy_(std::move(policy)),
      protocol_(cluster_.protocol),
      lowered_(std::make_shared<engine::LoweredCalls>()) {
  if (policy_.launch) protocol_.launch = *policy_.launch;
  if (cluster_.ideal && count(protocol_.chunk) == 0) protocol_.chunk = kIdealPiece;
  if (policy_.penalty) protocol_.share_network /= policy_.penalty->mean;
  if (!policy_.shortcuts.taken) policy_.shortcuts.taken = std::make_shared<std::atomic<std::uint64_t>>(0);
}
Predictor::~Predictor() = default;

Result<std::unique_ptr<Predictor>> Predictor::make(spec::Cluster machine, std::vector<topology::DeviceId> gpus,
                                                   PredictPolicy policy) {
  BUSBAR_ASSIGN(nccl::NcclSettings settings, apply_nccl_environment(machine, policy.nccl, policy.env));
  if (policy.graphs == nullptr) policy.graphs = std::make_shared<nccl::KeptGraphs>();
  std::unique_ptr<Predictor> out(new Predictor(std::move(machine), std::move(policy)));
  const spec::Cluster& cluster = out->cluster_;
  const PredictPolicy& p = out->policy_;
  if (p.engine != "analytic" && p.engine != "flow" && p.engine != "packet")
    return invalid(fmt::format("there is no engine '{}'; use analytic, flow or packet", p.engine),
                   {"", 0, 0, "--engine"});
  if (p.engine != "packet") BUSBAR_RETURN_IF_ERROR(spec::refuse_packet_lines(cluster.packet));
  if (gpus.empty()) gpus.assign(cluster.topology.gpus().begin(), cluster.topology.gpus().end());
  // Packets choose their paths themselves. Floors and closed forms, for comparison, use an even split.
  const topology::RoutingPolicy routing = p.engine == "packet" ? topology::RoutingPolicy::kSpray : cluster.routing;
  const bool pxn = gpus.empty() || nccl::has_pxn(settings, cluster.topology, gpus);
  out->router_ = std::make_unique<routing::Router>(cluster.topology, routing, cluster.seed, pxn);
  const auto another = [&t = cluster.topology, routing, seed = cluster.seed, pxn] {
    return std::make_unique<routing::Router>(t, routing, seed, pxn);
  };
  out->threads_ = {std::min(kMostIdleCores, idle_cores()) - 1, another};
  for (std::size_t r = 0, all = p.host_memory ? gpus.size() : 0; r < all; ++r) {
    gpus.push_back(routing::nearest_memory(*out->router_, gpus[r]));
    if (gpus.back() == kNone<topology::DeviceId>)
      return Error{
          ErrorCode::kUnreachable,
          fmt::format("no live path from {} to host memory, where it offloads to", cluster.topology.name(gpus[r])),
          {}};
  }
  out->placement_ = std::make_unique<routing::Placement>(*out->router_, gpus);
  settings.nvls = settings.nvls && p.nvls;
  settings.registered.registration = p.registration;
  settings.registered.elements = p.elements;
  settings.shortcuts = p.shortcuts;
  out->communicators_ = std::make_unique<Communicators>(cluster.topology, *out->placement_, settings, p.graphs.get());
  out->chooser_ = std::make_unique<CallChooser>(*out->router_, *out->placement_, *out->communicators_, out->protocol_,
                                                cluster.ideal);
  return out;
}

std::string Predictor::library(const collectives::GroupFamily& groups) {
  const auto all = communicators_->of(groups);
  return all.ok() ? nccl::library_name((*all)->first().schedules.comm()) : "";
}

bool Predictor::several_nodes(const collectives::GroupFamily& groups) const {
  return leaves_a_block(cluster_.topology, *placement_, groups);
}

bool Predictor::in_host_memory(const collectives::GroupFamily& groups) const {
  return std::max(groups.actor(0, 0), groups.actor(0, groups.size() - 1)) >= ranks();
}

std::string Predictor::words_of_auto(const collectives::GroupFamily& groups) {
  const auto all = communicators_->of(groups);
  if (!all.ok() && cluster_.ideal)
    return fmt::format("the fastest, pipelined in pieces of {} or more; {}", format_binary_size(count(kIdealPiece)),
                       all.error().message);
  if (!all.ok()) return "the fastest legal ones; " + all.error().message;
  return choice::words_of_choice((*all)->first().schedules.comm());
}

choice::LegalAlgorithms Predictor::legal(const program::CollectiveCall& call) const {
  return choice::legal_algorithms(call, *placement_, cluster_.topology, policy_.shortcuts);
}

engine::EngineOptions Predictor::engine_options() const {
  engine::EngineOptions options;
  options.protocol = protocol_;
  options.delays = policy_.delays;
  options.shortcuts = policy_.shortcuts;
  options.stop = policy_.stop;
  return options;
}

std::unique_ptr<engine::Engine> Predictor::open(engine::EngineOptions options, bool flow,
                                                const routing::Router* router) const {
  const routing::Router& over = router == nullptr ? *router_ : *router;
  return flow ? engine::make_flow_engine(over, *placement_, std::move(options))
              : engine::make_analytic_engine(over, *placement_, std::move(options));
}

/// Whether the kind of the limit is looked for.
bool Predictor::asks_limit(const program::CollectiveCall& call, const TimeAsk& ask) const {
  constexpr std::uint32_t kMostUnasked = 1024;  // ranks
  const bool few = call.groups.size() * call.groups.groups() <= kMostUnasked;
  return ask.jobs == 1 && (ask.explain || ((ask.relief || ask.limit) && few));
}

/// Relief of memory tells whether memory is the cause of the limit.
bool Predictor::asks_relief(const program::CollectiveCall& call, const TimeAsk& ask) const {
  return asks_limit(call, ask) &&
         (ask.explain || ask.relief || per_second(lowering::memory_limit(cluster_.topology, placement_->gpu(0))) > 0);
}

TrialEngines Predictor::open_trials(const program::CollectiveCall& call, const TimeAsk& ask) const {
  const bool keep_chains = asks_limit(call, ask);
  choice::TrialHelpers::Engines engines = trial_engines(*router_, call, keep_chains);
  TrialEngines out{std::move(engines.engine), std::move(engines.lower_bound)};
  if (!policy_.packets)
    out.helpers = {threads_,
                   [this, call, keep_chains](const routing::Router& r) { return trial_engines(r, call, keep_chains); }};
  return out;
}

choice::TrialHelpers::Engines Predictor::trial_engines(const routing::Router& router,
                                                       const program::CollectiveCall& call, bool keep_chains) const {
  choice::TrialHelpers::Engines out;
  engine::EngineOptions options = engine_options();
  options.keep_chains = keep_chains;
  if (policy_.engine == "flow" && may_be_made(call) && policy_.shortcuts.has(Shortcut::kBoundEngine)) {
    options.known = std::make_shared<engine::LoweredCalls>();
    out.lower_bound = open(options, false, &router);
  }
  out.engine = open(std::move(options), policy_.engine == "flow", &router);
  return out;
}

std::unique_ptr<engine::Engine> Predictor::open_engine(const lowering::WhatIf& what_if) const {
  engine::EngineOptions options = engine_options();
  options.what_if = what_if;
  if (what_if.link_classes.empty()) options.known = lowered_;
  return open(std::move(options), policy_.engine != "analytic");
}

lowering::WhatIf Predictor::late_transfers() const {
  lowering::WhatIf late;
  const auto classes = cluster_.topology.link_classes();
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (!topology::is_scale_up(classes[i].kind) && !topology::is_in_server(classes[i].kind))
      late.link_classes.push_back(static_cast<std::uint16_t>(i));
  late.rate_factor = policy_.penalty->mean / policy_.penalty->p99;
  return late;
}

std::unique_ptr<packet::PacketEngine> Predictor::open_packets() const {
  return packet::make_packet_engine(*router_, *placement_, engine_options(), *policy_.packets);
}

/// The choice for one call holds for all equal calls elsewhere on the machine.
Result<program::CollectiveCall> Predictor::prepare(const program::CollectiveCall& asked) {
  if (!trials_) {
    engine::EngineOptions options = engine_options();
    options.known = lowered_;
    trials_.emplace();
    trials_->engine = policy_.packets ? packet::make_packet_chooser(*router_, *placement_, std::move(options))
                                      : open(std::move(options), policy_.engine == "flow");
  }
  program::CollectiveCall call = asked;
  for (const auto& [known, prepared] : prepared_)
    if (known == asked) {
      return prepared;
    } else if (prepared.parts.empty() && !is_for_registered(prepared.protocol) &&
               policy_.shortcuts.has(Shortcut::kEqualCalls) && trials_->engine->alike(known, asked)) {
      policy_.shortcuts.take(Shortcut::kEqualCalls);
      call.algorithm = prepared.algorithm;
      call.protocol = prepared.protocol;
      break;
    }
  BUSBAR_ASSIGN(ChosenCall chosen, chooser_->choose(call, *trials_));
  prepared_.emplace_back(asked, chosen.call);
  return std::move(chosen.call);
}

Status Predictor::prepare(program::Program& program) {
  for (program::CollectiveCall& call : program.calls) {
    BUSBAR_ASSIGN(call, prepare(call));
  }
  return {};
}

/// The calls of all jobs. Each job has its own communicator.
Result<std::vector<program::CollectiveCall>> Predictor::jobs_of(const program::CollectiveCall& asked,
                                                                const ChosenCall& first, std::uint32_t jobs,
                                                                TrialEngines& trials) {
  std::vector<program::CollectiveCall> out{first.call};
  const bool library = first.nccl || first.call.schedule || !first.call.parts.empty();
  for (std::uint32_t j = 1; j < jobs; ++j) {
    program::CollectiveCall moved = library ? asked : first.call;
    moved.groups.base = asked.groups.base + j * asked.groups.size();
    if (library) {
      BUSBAR_ASSIGN(ChosenCall chosen, chooser_->choose(moved, trials));
      moved = std::move(chosen.call);
    }
    out.push_back(std::move(moved));
  }
  return out;
}

Status Predictor::run(const std::vector<program::CollectiveCall>& jobs, const TimeAsk& ask, TrialEngines& trials,
                      Prediction& out) {
  std::vector<program::CallId> ids;
  for (const program::CollectiveCall& call : jobs) {
    BUSBAR_ASSIGN(const program::CallId id, trials.engine->prepare(call));
    ids.push_back(id);
  }
  program::CallId last = ids.front();
  if (jobs.size() == 1) {
    out.jobs = {trials.engine->time_alone(last)};
  } else {
    for (std::uint32_t j = 0; j < ids.size(); ++j) trials.engine->start(ids[j], j, SimTime());
    while (const auto done = trials.engine->advance(SimTime::max())) {
      out.jobs.push_back(done->at - SimTime());
      last = ids[done->tag];
    }
    BUSBAR_CHECK(out.jobs.size() == ids.size()) << "a started call must end";
  }
  if (policy_.packets) {
    BUSBAR_ASSIGN(packet::PacketJobs run,
                  packet::run_packet_jobs(jobs, *router_, *placement_, protocol_, *policy_.packets,
                                          ask.explain ? &out.chain : nullptr));
    out.jobs = std::move(run.ends);
    out.packets = run.counts;
  }
  out.time = out.jobs.back();
  if (const lowering::LoweredCall* lowered = trials.engine->lowered(ids.front())) {
    out.traits = lowering::call_traits(*lowered, cluster_.topology, *placement_);
    out.measured_factor = lowered->time_factor;
  }
  if (jobs.size() == 1) wait_for_host(out);
  out.bound = trials.engine->bound_by(last);
  for (const program::CallId id : ids)
    if (const lowering::LoweredCall* lowered = trials.engine->lowered(id)) {
      out.channels = out.nccl ? out.nccl->channels : lowered->channels;
      out.chunks = lowered->chunks;
      for (const lowering::Stage& stage : lowered->stages)
        if (!policy_.packets) out.simplified.add(stage.simplified);
      out.algorithm_floor = std::max(out.algorithm_floor, floors::floor_from_ps(lowered->algorithm_floor_ps));
    }
  out.warning = below_floor(out.time, out.algorithm_floor, out.call.algorithm);
  return out.warning.empty() || ask.floor ? Status() : invalid(out.warning);
}

floors::Floor Predictor::floor(const program::CollectiveCall& call) {
  const auto known =
      std::find_if(floors_.begin(), floors_.end(), [&](const auto& f) { return same_shape(f.first, call); });
  if (known != floors_.end()) return known->second.at(call.bytes);
  if (!tiers_) tiers_.emplace(cluster_.topology);
  floors_.emplace_back(call, floors::MachineFloor(*router_, *placement_, call, *tiers_));
  return floors_.back().second.at(call.bytes);
}

/// Computes floors, relief and the chain.
Status Predictor::judge(const std::vector<program::CollectiveCall>& jobs, const TimeAsk& ask, TrialEngines& trials,
                        Prediction& out) {
  const program::CollectiveCall& call = jobs.front();
  if (ask.floor) {
    for (const program::CollectiveCall& job : jobs)
      if (const floors::Floor least = floor(job); &job == &jobs.front() || least.time > out.floor.time)
        out.floor = least;
    if (out.warning.empty()) out.warning = below_floor(out.time, out.floor.time, collectives::name_of(call.op));
  }
  if (jobs.size() > 1) return {};
  if (asks_relief(call, ask) && out.host_wait == Duration()) {
    BUSBAR_ASSIGN(out.relief, choice::find_relief(*router_, *placement_, protocol_, call, ask.explain, threads_));
  }
  BUSBAR_ASSIGN(const program::CallId id, trials.engine->prepare(call));
  const lowering::LoweredCall* lowered = trials.engine->lowered(id);
  if (!asks_limit(call, ask) || policy_.packets || lowered == nullptr) return {};
  return add_chain(*lowered, ask, out);
}

/// The kind of the limit, and the chain where it is asked for: that of the call without delays.
Status Predictor::add_chain(const lowering::LoweredCall& lowered, const TimeAsk& ask, Prediction& out) const {
  Shortcuts shortcuts = policy_.shortcuts;
  shortcuts.pairs_apart = 0;
  lowering::Lowering lowering(*router_, *placement_, protocol_, shortcuts);
  std::optional<std::vector<lowering::ChainPart>> kept;
  if (policy_.delays.empty()) kept = lowering.explain(lowered);
  if (!kept) {
    BUSBAR_ASSIGN(kept, lowering.explain(lowered.call));
  }
  std::vector<lowering::ChainPart>& chain = *kept;
  lowering::close_sum(chain, static_cast<double>((out.time - out.host_wait).in_ps()), out.bound.link, out.bound.phase);
  if (out.bound.link != kNone<topology::LinkId>) out.bound.kind = kind_of_chain(chain);
  if (out.host_wait > Duration())
    chain.push_back({lowering::ChainPartKind::kLaunch, "wait for the host", kNone32, kNone32, 0, 0,
                     kNone<topology::LinkId>, static_cast<double>(out.host_wait.in_ps())});
  if (ask.explain) out.chain = std::move(chain);
  return {};
}

/// Relief of damage, of memory and of features that are off. If at least half of the time depends on memory, it is the
/// cause.
Status Predictor::relieve_machine(const program::CollectiveCall& asked, Prediction& out) {
  constexpr double kHalfPercent = 4.5;  // half of the 9.1 % that 10 % more of the only limit saves
  if (!changed_) {
    changed_.emplace();
    PredictPolicy alone = policy_;
    alone.accuracy = nullptr;
    alone.delays.clear();
    alone.shortcuts.taken = nullptr;  // what another machine takes is no part of this answer
    std::vector<topology::DeviceId> gpus;
    for (std::uint32_t r = 0; r < ranks(); ++r) gpus.push_back(placement_->gpu(r));
    const bool memory = per_second(lowering::memory_limit(cluster_.topology, gpus.front())) > 0;
    for (MachineChange& c : machine_changes(cluster_, alone, memory)) {
      auto made = make(std::move(c.cluster), gpus, std::move(c.policy));
      if (made.ok()) changed_->push_back({c.what, c.memory, std::move(*made)});
    }
  }
  for (const Changed& c : *changed_) {
    const Result<Prediction> p = c.machine->time(asked, kTimeAlone);
    if (!p.ok()) continue;  // a limit of the engine that does not affect the machine itself
    const double gain =
        choice::gain_percent(static_cast<double>(out.time.in_ps()), static_cast<double>(p->time.in_ps()));
    out.relief.push_back({c.what, gain, 0, {}});
    if (c.memory && gain >= kHalfPercent)
      out.cause = topology::gpu_memory_in_words(cluster_.topology) + ": slower than the links";
  }
  if (!changed_->empty()) choice::sort_by_gain(out.relief);
  return {};
}

/// In a loop of collectives the host starts the next one while GPUs run this one: the longer of the two counts.
void Predictor::wait_for_host(Prediction& out) const {
  const topology::Topology& t = cluster_.topology;
  const collectives::GroupFamily& groups = out.call.groups;
  std::int64_t gpus = 0;  // of the first GPU's node
  for (std::uint32_t m = 0; m < groups.size(); ++m)
    gpus += t.block_of(placement_->gpu(groups.actor(0, m))) == t.block_of(placement_->gpu(groups.actor(0, 0)));
  const Duration host =
      duration_from_ps(static_cast<double>((policy_.host_per_gpu * gpus).in_ps()) * out.measured_factor);
  if (host <= out.time) return;
  out.host_wait = host - out.time;
  out.time = host;
}

/// The host, if GPUs wait for it. Far NICs explain a bandwidth limit on links outside the scale-up domain.
std::string Predictor::cause_of(const Prediction& p) {
  const topology::Topology& t = cluster_.topology;
  if (p.host_wait > Duration())
    return fmt::format("the host: it starts the GPUs of a node one after another, {} each",
                       format_duration(policy_.host_per_gpu.in_s()));
  if (p.bound.kind != lowering::BoundKind::kBandwidth || p.bound.link == kNone<topology::LinkId>) return {};
  if (topology::is_scale_up(t.link_class(p.bound.link).kind) || p.made) return {};
  const auto comms = communicators_->of(p.call.groups);
  return comms.ok() ? far_nics((*comms)->first().schedules.comm()) : std::string();
}

/// The time of one job is the expected time. Adds the time without delays and the spread.
Status Predictor::add_jitter(Prediction& out) const {
  engine::EngineOptions calm = engine_options();
  calm.delays.clear();
  const std::unique_ptr<engine::Engine> engine = open(std::move(calm), policy_.engine == "flow");
  BUSBAR_ASSIGN(const program::CallId id, engine->prepare(out.call));
  out.jitter = jitter_effect(engine->time_alone(id), out.time, policy_.delays);
  return {};
}

Result<Prediction> Predictor::time(const program::CollectiveCall& call, const TimeAsk& ask) {
  if (call.algorithm == "synthesized" && ask.jobs > 1)
    return Error{ErrorCode::kUnsupported, "schedules are synthesized for one job at a time", {}};
  TrialEngines trials = open_trials(call, ask);
  trials.alone = ask.jobs == 1;
  BUSBAR_ASSIGN(ChosenCall chosen, chooser_->choose(call, trials));
  BUSBAR_ASSIGN(const std::vector<program::CollectiveCall> jobs, jobs_of(call, chosen, ask.jobs, trials));
  Prediction out;
  out.call = chosen.call;
  out.algorithm = call.algorithm == "synthesized" ? call.algorithm : chosen.call.algorithm;
  out.chosen_by = chosen.by;
  out.nccl = chosen.nccl;
  out.made = std::move(chosen.made);
  BUSBAR_RETURN_IF_ERROR(run(jobs, ask, trials, out));
  if (policy_.accuracy != nullptr)
    out.band = policy_.accuracy->collective(
        cluster_, call.bytes, leaves_a_block(cluster_.topology, *placement_, call.groups), policy_.launch_mode);
  if (protocol_.measured && !policy_.packets) out.band = narrowed(out.band, *protocol_.measured, out.traits);
  BUSBAR_RETURN_IF_ERROR(judge(jobs, ask, trials, out));
  if (policy_.penalty && ask.jobs == 1) {
    const std::unique_ptr<engine::Engine> late = open_engine(late_transfers());
    BUSBAR_ASSIGN(const program::CallId id, late->prepare(out.call));
    out.p99 = std::max(late->time_alone(id), out.time);
  }
  out.cause = cause_of(out);
  if (!out.relief.empty() && ask.jobs == 1 && policy_.delays.empty() && !policy_.packets) {
    BUSBAR_RETURN_IF_ERROR(relieve_machine(call, out));
  }
  if (!policy_.delays.empty() && ask.jobs == 1) {
    BUSBAR_RETURN_IF_ERROR(add_jitter(out));
  }
  return out;
}

}  // namespace busbar::predict
