#include "busbar/accuracy/predictor.h"

#include <fmt/core.h>

#include "busbar/choice/as_nccl.h"
#include "busbar/choice/fastest.h"
#include "busbar/engine/floor.h"

namespace busbar {

Predictor::Predictor(Cluster cluster) : cluster_(std::move(cluster)) {}
Predictor::~Predictor() = default;

Result<std::unique_ptr<Predictor>> Predictor::make(Cluster cluster, std::vector<DeviceId> gpus,
                                                   const PredictorOptions& asked) {
  std::unique_ptr<Predictor> out(new Predictor(std::move(cluster)));
  const Cluster& c = out->cluster_;
  if (gpus.empty()) gpus.assign(c.topology.gpus().begin(), c.topology.gpus().end());
  out->router_ = std::make_unique<Router>(c.topology, c.routing, c.seed);
  out->placement_ = std::make_unique<Placement>(*out->router_, gpus);
  EngineOptions options;
  options.protocol = c.protocol;
  out->engine_ = asked.engine == "flow" ? make_flow_engine(*out->router_, *out->placement_, options)
                                        : make_analytic_engine(*out->router_, *out->placement_, options);
  NcclSettings settings = nccl_settings({c.fabric.kind, c.gpudirect, c.p2p}, asked.version);
  settings.nvls = asked.nvls;
  settings.min_channels = asked.min_channels;
  if (asked.max_channels > 0) settings.max_channels = asked.max_channels;
  if (Result<NcclComm> comm = build_nccl_comm(c.topology, gpus, settings); comm.ok()) {
    if (!comm->shapes.front().system.amd_gpus) out->tuning_ = tune_nccl(*comm);
    out->nccl_ = std::make_unique<NcclSchedules>(std::move(*comm));
  }
  return out;
}

Result<Prediction> Predictor::predict(Collective op, std::uint64_t bytes, const std::string& algorithm,
                                      Protocol protocol) {
  Prediction out;
  CollectiveCall call;
  call.op = op;
  call.bytes = static_cast<Bytes>(bytes);
  call.groups = one_group(ranks());
  if (op == Collective::kSendRecv) call.groups = border_pair();
  call.algorithm = algorithm;
  call.protocol = protocol;
  BUSBAR_ASSIGN(call, choose(std::move(call)));
  BUSBAR_ASSIGN(const CallId id, engine_->prepare(call));
  out.us = engine_->time_alone(id).in_us();
  out.how = fmt::format("{}, {}", call.algorithm, name_of(call.protocol));
  const Bound bound = engine_->bound_by(id);
  if (bound.link != kNone<LinkId>) {
    const LinkClass& c = cluster_.topology.link_class(bound.link);
    out.bound_by = fmt::format("{} of {}", bound.kind == BoundKind::kBandwidth ? "bandwidth" : "latency",
                               c.part.empty() ? name_of(c.kind) : c.part);
  }
  out.call = std::move(call);
  return out;
}

namespace {

std::optional<NcclAlgorithm> nccl_name(const std::string& algorithm) {
  if (algorithm == "ring") return NcclAlgorithm::kRing;
  if (algorithm == "tree") return NcclAlgorithm::kTree;
  if (algorithm == "nvls") return NcclAlgorithm::kNvls;
  if (algorithm == "nvlstree") return NcclAlgorithm::kNvlsTree;
  return std::nullopt;
}

std::optional<NcclProtocol> nccl_name(Protocol protocol) {
  if (protocol == Protocol::kSimple) return NcclProtocol::kSimple;
  if (protocol == Protocol::kLl128) return NcclProtocol::kLl128;
  if (protocol == Protocol::kLl) return NcclProtocol::kLl;
  return std::nullopt;
}

Protocol our_name(NcclProtocol protocol) {
  return protocol == NcclProtocol::kLl      ? Protocol::kLl
         : protocol == NcclProtocol::kLl128 ? Protocol::kLl128
                                            : Protocol::kSimple;
}

}  // namespace

/// nccl-tests lets every rank send to the next: the last of a server to the first of the next one has the longest way.
GroupFamily Predictor::border_pair() const {
  GroupFamily pair = one_group(2);
  const Topology& t = cluster_.topology;
  for (std::uint32_t r = 0; r + 1 < ranks(); ++r)
    if (t.block_of(placement_->gpu(r)) != t.block_of(placement_->gpu(r + 1))) {
      pair.base = r;
      break;
    }
  return pair;
}

/// The first of `algorithms`, over NCCL's channels, that is fastest with a protocol of its own.
Result<CollectiveCall> Predictor::fastest(const CollectiveCall& call, const std::vector<std::string>& algorithms) {
  Error last{ErrorCode::kUnsupported, "no algorithm", {}};
  std::optional<CollectiveCall> best;
  Duration least = Duration::max();
  for (const std::string& name : algorithms) {
    CollectiveCall trial = call;
    trial.algorithm = name;
    if (nccl_) {
      BUSBAR_ASSIGN(trial, nccl_->over_channels(std::move(trial)));
    }
    Result<CollectiveCall> resolved = resolve_algorithm(*engine_, *placement_, cluster_.topology, std::move(trial));
    const Result<CallId> id = resolved.ok() ? engine_->prepare(*resolved) : Result<CallId>(resolved.error());
    if (!id.ok()) {
      last = id.error();
      continue;
    }
    if (!best || engine_->time_alone(*id) < least) {
      least = engine_->time_alone(*id);
      best = std::move(*resolved);
    }
  }
  if (!best) return last;
  return *std::move(best);
}

Result<CollectiveCall> Predictor::choose(CollectiveCall call) {
  const bool tuned = call.op == Collective::kAllReduce || call.op == Collective::kAllGather ||
                     call.op == Collective::kReduceScatter || call.op == Collective::kBroadcast ||
                     call.op == Collective::kReduce;
  const auto named = nccl_name(call.algorithm);
  if (tuned && tuning_ && (named || call.algorithm == "auto")) {
    const Result<NcclChoice> choice =
        choose_nccl(nccl_->comm(), *tuning_, call.op, call.bytes, {named, nccl_name(call.protocol)});
    if (choice.ok()) {
      CollectiveCall chosen = call;
      chosen.algorithm = schedule_name(choice->algorithm);
      chosen.protocol = our_name(choice->protocol);
      chosen.chunks = choice->pieces;
      BUSBAR_ASSIGN(chosen, nccl_->over_channels(std::move(chosen)));
      if (engine_->prepare(chosen).ok()) return chosen;
    }
  }
  if (call.algorithm == "nvlstree") call.algorithm = schedule_name(NcclAlgorithm::kNvlsTree);
  if (call.algorithm != "auto") return fastest(call, {call.algorithm});
  if (tuned && nccl_) return fastest(call, {"ring", "tree"});
  if (nccl_ && call.op == Collective::kAllToAll) return fastest(call, {"direct"});  // grouped sends and receives
  return resolve_algorithm(*engine_, *placement_, cluster_.topology, std::move(call));
}

bool Predictor::several_nodes() const {
  const Topology& t = cluster_.topology;
  for (std::uint32_t r = 1; r < ranks(); ++r)
    if (t.block_of(placement_->gpu(r)) != t.block_of(placement_->gpu(0))) return true;
  return false;
}

double Predictor::floor_us(Collective op, std::uint64_t bytes) const {
  CollectiveCall call;
  call.op = op;
  call.bytes = static_cast<Bytes>(bytes);
  call.groups = op == Collective::kSendRecv ? border_pair() : one_group(ranks());
  return machine_floor(*router_, *placement_, call).time.in_us();
}

double bus_factor(Collective op, double n) {
  switch (op) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace busbar
