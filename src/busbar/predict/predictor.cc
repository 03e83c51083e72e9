#include "busbar/predict/predictor.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "busbar/choice/as_nccl.h"
#include "busbar/engine/lowering.h"
#include "busbar/engine/packet/collective_flows.h"

namespace busbar {
namespace {

std::optional<NcclAlgorithm> nccl_algorithm(const std::string& name) {
  constexpr NcclAlgorithm kAll[] = {NcclAlgorithm::kRing, NcclAlgorithm::kTree, NcclAlgorithm::kNvls,
                                    NcclAlgorithm::kNvlsTree, NcclAlgorithm::kPat};
  for (const NcclAlgorithm a : kAll)
    if (name == schedule_name(a)) return a;
  return std::nullopt;
}

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

/// Collectives for which NCCL has a table of costs.
bool is_tuned(Collective op) {
  return op == Collective::kAllReduce || op == Collective::kAllGather || op == Collective::kReduceScatter ||
         op == Collective::kBroadcast || op == Collective::kReduce;
}

/// Whether schedules made for the machine are among the candidates.
bool may_be_made(const CollectiveCall& call) { return call.algorithm == "synthesized" || call.algorithm == "fastest"; }

bool same_shape(const CollectiveCall& a, const CollectiveCall& b) {
  return a.op == b.op && a.root == b.root && a.groups == b.groups && a.pairs == b.pairs;
}

bool leaves_a_block(const Topology& t, const Placement& placement, const GroupFamily& groups) {
  for (std::uint32_t g = 0; g < groups.groups(); ++g)
    for (std::uint32_t m = 1; m < groups.size(); ++m)
      if (t.block_of(placement.gpu(groups.actor(g, m))) != t.block_of(placement.gpu(groups.actor(g, 0)))) return true;
  return false;
}

}  // namespace

CollectiveCall call_over(Collective op, Bytes bytes, std::uint32_t n) {
  CollectiveCall call;
  call.op = op;
  call.bytes = bytes;
  call.groups = one_group(n);
  call.algorithm = "auto";
  return call;
}

Predictor::Predictor(Cluster cluster, PredictPolicy policy)
    : cluster_(std::move(cluster)), policy_(std::move(policy)), protocol_(cluster_.protocol) {
  if (policy_.launch) protocol_.launch = *policy_.launch;
}
Predictor::~Predictor() = default;

Result<std::unique_ptr<Predictor>> Predictor::make(Cluster machine, std::vector<DeviceId> gpus,
                                                   PredictPolicy policy) {
  std::unique_ptr<Predictor> out(new Predictor(std::move(machine), std::move(policy)));
  const Cluster& cluster = out->cluster_;
  const PredictPolicy& p = out->policy_;
  if (p.engine != "analytic" && p.engine != "flow" && p.engine != "packet")
    return invalid(fmt::format("there is no engine '{}'; use analytic, flow or packet", p.engine),
                   {"", 0, 0, "--engine"});
  if (gpus.empty()) gpus.assign(cluster.topology.gpus().begin(), cluster.topology.gpus().end());
  // Packets choose their paths themselves. What they are compared with, floors and closed forms, is an even split.
  const RoutingPolicy routing = p.engine == "packet" ? RoutingPolicy::kSpray : cluster.routing;
  out->router_ = std::make_unique<Router>(cluster.topology, routing, cluster.seed);
  out->placement_ = std::make_unique<Placement>(*out->router_, gpus);
  const FabricSummary& fabric = cluster.fabric;
  NcclSettings settings =
      nccl_settings({fabric.kind, cluster.gpudirect, cluster.p2p, fabric.merges_nics}, p.nccl);
  settings.nvls = p.nvls;
  settings.min_channels = p.min_channels;
  if (p.max_channels > 0) settings.max_channels = p.max_channels;
  out->communicators_ = std::make_unique<Communicators>(cluster.topology, *out->placement_, settings);
  return out;
}

bool Predictor::follows_nccl(const GroupFamily& groups) {
  const auto all = communicators_->of(groups);
  return all.ok() && all->front()->tuning.has_value();
}

bool Predictor::several_nodes() const {
  return leaves_a_block(cluster_.topology, *placement_, one_group(ranks()));
}

std::string Predictor::words_of_auto(const GroupFamily& groups) {
  const auto all = communicators_->of(groups);
  if (!all.ok()) return "the fastest legal ones; " + all.error().message;
  if (!all->front()->tuning) return "the fastest of RCCL's rings and trees; its tables of costs are not known";
  return fmt::format("as NCCL {} chooses", to_string(policy_.nccl));
}

LegalAlgorithms Predictor::legal(const CollectiveCall& call) const {
  return legal_algorithms(call, *placement_, cluster_.topology);
}

EngineOptions Predictor::engine_options() const {
  EngineOptions options;
  options.protocol = protocol_;
  options.delays = policy_.delays;
  return options;
}

Predictor::Trials Predictor::open_trials(const CollectiveCall& call) const {
  Trials out;
  EngineOptions options = engine_options();
  if (policy_.engine == "flow" && may_be_made(call)) {
    options.known = std::make_shared<LoweredCalls>();
    out.sieve = make_analytic_engine(*router_, *placement_, options);
  }
  out.engine = policy_.engine == "flow" ? make_flow_engine(*router_, *placement_, options)
                                        : make_analytic_engine(*router_, *placement_, options);
  return out;
}

/// The fastest of `algorithms` over the channels of `comm`, each with the protocol that suits it best.
Result<CollectiveCall> Predictor::over_channels(CollectiveCall call, const std::vector<std::string>& algorithms,
                                                Communicator& comm, Trials& trials) {
  Error last{ErrorCode::kUnsupported, "no algorithm", {}};
  std::optional<CollectiveCall> best;
  Duration least = Duration::max();
  for (const std::string& name : algorithms) {
    call.algorithm = name;
    call.schedule = nullptr;
    BUSBAR_ASSIGN(CollectiveCall trial, comm.schedules.over_channels(call));
    Result<CollectiveCall> resolved =
        resolve_algorithm(*trials.engine, *placement_, cluster_.topology, std::move(trial));
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

/// Empty where NCCL's tables hold nothing for the call, or name what cannot be laid on this machine.
std::optional<Predictor::Chosen> Predictor::as_nccl(const CollectiveCall& call, Communicator& comm, Trials& trials) {
  if (!comm.tuning) return std::nullopt;
  const auto named = nccl_algorithm(call.algorithm);
  const auto choice = choose_nccl(comm.schedules.comm(), *comm.tuning, call.op, call.bytes,
                                  {named, nccl_protocol(call.protocol)});
  if (!choice.ok()) return std::nullopt;
  Chosen out{call, named ? ChosenBy::kGiven : ChosenBy::kNccl, *choice, {}};
  out.call.algorithm = schedule_name(choice->algorithm);
  out.call.protocol = protocol_of(choice->protocol);
  if (call.chunks == 0) out.call.chunks = choice->pieces;
  Result<CollectiveCall> laid = comm.schedules.over_channels(out.call);
  if (!laid.ok() || !trials.engine->prepare(*laid).ok()) return std::nullopt;
  out.call = std::move(*laid);
  return out;
}

/// Empty where neither NCCL nor RCCL has anything to say.
Result<std::optional<Predictor::Chosen>> Predictor::as_library(const CollectiveCall& call, Trials& trials) {
  const bool is_auto = call.algorithm == "auto";
  if (!is_auto && !nccl_algorithm(call.algorithm)) return std::optional<Chosen>();
  const auto classes = communicators_->of(call.groups, call.channels);
  if (!classes.ok() && classes.error().code != ErrorCode::kUnsupported) return classes.error();
  if (!classes.ok()) return std::optional<Chosen>();
  Communicator& comm = *classes->front();
  if (is_tuned(call.op))
    if (auto chosen = as_nccl(call, comm, trials)) return chosen;
  std::vector<std::string> names{call.algorithm};
  if (is_auto) names = is_tuned(call.op) ? std::vector<std::string>{"ring", "tree"} : std::vector<std::string>{"direct"};
  Result<CollectiveCall> best = over_channels(call, names, comm, trials);
  if (!best.ok() && !is_auto) return best.error();
  if (!best.ok()) return std::optional<Chosen>();
  Chosen out{std::move(*best), is_auto ? ChosenBy::kFastest : ChosenBy::kGiven, {}, {}};
  if (is_auto && !is_tuned(call.op)) {
    out.by = ChosenBy::kNccl;  // grouped sends and receives
    if (comm.tuning)
      if (const auto choice = choose_nccl(comm.schedules.comm(), *comm.tuning, call.op, call.bytes); choice.ok())
        out.nccl = *choice;
  }
  return std::optional<Chosen>(std::move(out));
}

/// Schedules for calls of this shape and any size; null where none can be made, which `refused` says.
const std::vector<Synthesized>* Predictor::schedules_for(const CollectiveCall& call, std::optional<Error>& refused) {
  if (!made_ || !same_shape(made_->first, call)) {
    Result<std::vector<Synthesized>> made = synthesize(*router_, *placement_, call);
    if (!made.ok()) {
      refused = made.error();
      return nullptr;
    }
    made_.emplace(call, std::move(*made));
  }
  return &made_->second;
}

/// The fastest of all textbook algorithms, of what NCCL takes, and of schedules made for the machine; "synthesized":
/// the fastest of the last, with the fastest of the others beside it.
Result<Predictor::Chosen> Predictor::fastest_of_all(const CollectiveCall& call, Trials& trials) {
  const bool only = call.algorithm == "synthesized";
  CollectiveCall plain = call;
  plain.algorithm = "fastest";
  BUSBAR_ASSIGN(CollectiveCall textbook, resolve_algorithm(*trials.engine, *placement_, cluster_.topology, plain,
                                                           trials.sieve.get()));
  plain.algorithm = "auto";
  BUSBAR_ASSIGN(auto library, as_library(plain, trials));
  Chosen out{textbook, only ? ChosenBy::kGiven : ChosenBy::kFastest, {}, {}};
  if (library) {
    BUSBAR_ASSIGN(const CallId ours, trials.engine->prepare(textbook));
    BUSBAR_ASSIGN(const CallId theirs, trials.engine->prepare(library->call));
    if (trials.engine->time_alone(theirs) < trials.engine->time_alone(ours)) textbook = std::move(library->call);
    out.call = textbook;
  }
  if (!trials.alone) return out;
  std::optional<Error> refused;
  const std::vector<Synthesized>* made = schedules_for(call, refused);
  if (made == nullptr && only) return *refused;
  if (made == nullptr || (made->empty() && !only)) return out;
  BUSBAR_ASSIGN(SynthesizedCall best, pick_fastest(*trials.engine, trials.sieve.get(), *made, plain, textbook));
  if (!only && best.call.algorithm != "synthesized") return out;
  out.call = std::move(best.call);
  out.made = MadeSchedule{best.what, best.textbook.algorithm, best.textbook_alone, best.ring_alone};
  return out;
}

Result<Predictor::Chosen> Predictor::choose(const CollectiveCall& asked, Trials& trials) {
  CollectiveCall call = asked;
  if (call.algorithm == "nvlstree") call.algorithm = schedule_name(NcclAlgorithm::kNvlsTree);  // as NCCL calls it
  if (!call.schedule) {
    if (may_be_made(call)) return fastest_of_all(call, trials);
    BUSBAR_ASSIGN(auto chosen, as_library(call, trials));
    if (chosen) return *std::move(chosen);
  }
  Chosen out{call, call.algorithm == "auto" ? ChosenBy::kFastest : ChosenBy::kGiven, {}, {}};
  BUSBAR_ASSIGN(out.call, resolve_algorithm(*trials.engine, *placement_, cluster_.topology, std::move(call)));
  return out;
}

/// The calls of all jobs. Each job has a communicator of its own.
Result<std::vector<CollectiveCall>> Predictor::jobs_of(const CollectiveCall& asked, const Chosen& first,
                                                       std::uint32_t jobs, Trials& trials) {
  std::vector<CollectiveCall> out{first.call};
  const bool library = first.nccl || first.call.schedule;
  for (std::uint32_t j = 1; j < jobs; ++j) {
    CollectiveCall moved = library ? asked : first.call;
    moved.groups.base = asked.groups.base + j * asked.groups.size();
    if (library) {
      BUSBAR_ASSIGN(Chosen chosen, choose(moved, trials));
      moved = std::move(chosen.call);
    }
    out.push_back(std::move(moved));
  }
  return out;
}

Status Predictor::run(const std::vector<CollectiveCall>& jobs, Trials& trials, Prediction& out) {
  std::vector<CallId> ids;
  for (const CollectiveCall& call : jobs) {
    BUSBAR_ASSIGN(const CallId id, trials.engine->prepare(call));
    ids.push_back(id);
  }
  CallId last = ids.front();
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
    BUSBAR_ASSIGN(out.jobs, run_packet_jobs(jobs.front(), static_cast<std::uint32_t>(jobs.size()), *router_,
                                            *placement_, protocol_, *policy_.packets));
  }
  out.time = out.jobs.back();
  out.bound = trials.engine->bound_by(last);
  for (const CallId id : ids)
    if (const LoweredCall* lowered = trials.engine->lowered(id)) {
      out.channels = out.nccl ? out.nccl->channels : lowered->channels;
      out.chunks = lowered->chunks;
      out.algorithm_floor = std::max(out.algorithm_floor, duration_from_ps(lowered->algorithm_floor_ps));
    }
  return check_floor(out.time, out.algorithm_floor, out.call.algorithm);
}

Floor Predictor::floor(const CollectiveCall& call) {
  const auto known =
      std::find_if(floors_.begin(), floors_.end(), [&](const auto& f) { return same_shape(f.first, call); });
  if (known != floors_.end()) return known->second.at(call.bytes);
  if (!tiers_) tiers_.emplace(cluster_.topology);
  floors_.emplace_back(call, MachineFloor(*router_, *placement_, call, *tiers_));
  return floors_.back().second.at(call.bytes);
}

/// Floors, relief and the chain.
Status Predictor::judge(const std::vector<CollectiveCall>& jobs, const TimeAsk& ask, Trials& trials, Prediction& out) {
  constexpr std::uint32_t kMostUnasked = 1024;  // ranks
  const CollectiveCall& call = jobs.front();
  if (ask.floor) {
    for (const CollectiveCall& job : jobs)
      if (const Floor least = floor(job); &job == &jobs.front() || least.time > out.floor.time) out.floor = least;
    BUSBAR_RETURN_IF_ERROR(check_floor(out.time, out.floor.time, name_of(call.op)));
  }
  if (jobs.size() > 1) return {};
  if (ask.explain || (ask.relief && call.groups.size() <= kMostUnasked)) {
    BUSBAR_ASSIGN(out.relief, find_relief(*router_, *placement_, protocol_, call, ask.explain));
  }
  BUSBAR_ASSIGN(const CallId id, trials.engine->prepare(call));
  if (ask.explain && !policy_.packets && trials.engine->lowered(id) != nullptr) {
    Lowering lowering(*router_, *placement_, protocol_, true, 0);
    BUSBAR_ASSIGN(out.chain, lowering.explain(call));
    close_sum(out.chain, static_cast<double>(out.time.in_ps()), out.bound.link, out.bound.phase);
  }
  return {};
}

/// The time of one job is the expected one; adds what it is without hold-ups and how they are spread.
Status Predictor::add_jitter(Prediction& out) const {
  EngineOptions calm = engine_options();
  calm.delays.clear();
  const std::unique_ptr<Engine> engine = policy_.engine == "flow" ? make_flow_engine(*router_, *placement_, calm)
                                                                  : make_analytic_engine(*router_, *placement_, calm);
  BUSBAR_ASSIGN(const CallId id, engine->prepare(out.call));
  out.jitter = jitter_effect(engine->time_alone(id), out.time, policy_.delays);
  return {};
}

Result<Prediction> Predictor::time(const CollectiveCall& call, const TimeAsk& ask) {
  if (call.algorithm == "synthesized" && ask.jobs > 1)
    return Error{ErrorCode::kUnsupported, "schedules are synthesized for one job at a time", {}};
  Trials trials = open_trials(call);
  trials.alone = ask.jobs == 1;
  BUSBAR_ASSIGN(Chosen chosen, choose(call, trials));
  BUSBAR_ASSIGN(const std::vector<CollectiveCall> jobs, jobs_of(call, chosen, ask.jobs, trials));
  Prediction out;
  out.call = chosen.call;
  out.algorithm = call.algorithm == "synthesized" ? call.algorithm : chosen.call.algorithm;
  out.chosen_by = chosen.by;
  out.nccl = chosen.nccl;
  out.made = std::move(chosen.made);
  BUSBAR_RETURN_IF_ERROR(run(jobs, trials, out));
  if (policy_.accuracy != nullptr)
    out.band = policy_.accuracy->collective(cluster_, call.bytes,
                                            leaves_a_block(cluster_.topology, *placement_, call.groups));
  BUSBAR_RETURN_IF_ERROR(judge(jobs, ask, trials, out));
  if (!policy_.delays.empty() && ask.jobs == 1) {
    BUSBAR_RETURN_IF_ERROR(add_jitter(out));
  }
  return out;
}

}  // namespace busbar
