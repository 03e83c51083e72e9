#include "busbar/cli/collective_row.h"

#include <algorithm>

#include "busbar/choice/fastest.h"
#include "busbar/engine/lowering.h"
#include "busbar/engine/packet/collective_flows.h"

namespace busbar {

bool may_synthesize(const CollectiveOptions& o) { return o.algorithm == "synthesized" || o.algorithm == "fastest"; }

namespace {

/// The call with its algorithm chosen: a synthesized schedule only where that is faster than all textbook algorithms.
Result<SynthesizedCall> choose(const CollectiveOptions& o, const Cluster& cluster, const Router& router,
                               const Placement& placement, Engine& engine, const CollectiveCall& call,
                               SharedByRows& shared) {
  SynthesizedCall chosen;
  const bool only = o.algorithm == "synthesized";
  if (only && o.jobs > 1) return Error{ErrorCode::kUnsupported, "schedules are synthesized for one job at a time", {}};
  chosen.call = call;
  if (only) chosen.call.algorithm = "fastest";
  BUSBAR_ASSIGN(chosen.call, resolve_algorithm(engine, placement, cluster.topology, chosen.call, shared.sieve.get()));
  if (!may_synthesize(o) || o.jobs > 1) return chosen;
  if (!shared.schedules) {
    Result<std::vector<Synthesized>> made = synthesize(router, placement, call);
    if (!made.ok() && only) return made.error();
    shared.schedules = made.ok() ? std::move(*made) : std::vector<Synthesized>();
  }
  if (!only && shared.schedules->empty()) return chosen;
  BUSBAR_ASSIGN(SynthesizedCall best, pick_fastest(engine, shared.sieve.get(), *shared.schedules, call, chosen.call));
  return only || best.call.schedule ? best : chosen;
}

/// The calls of all jobs, which start at once: job j on ranks [j n, (j + 1) n).
Result<std::vector<CallId>> prepare_jobs(const CollectiveOptions& o, Engine& engine, CollectiveCall call) {
  std::vector<CallId> ids;
  for (std::uint32_t j = 0; j < o.jobs; ++j) {
    call.groups.base = j * call.groups.size();
    BUSBAR_ASSIGN(const CallId id, engine.prepare(call));
    ids.push_back(id);
  }
  return ids;
}

bool several_blocks(const Topology& t, const Placement& placement) {
  for (std::uint32_t r = 1; r < placement.ranks(); ++r)
    if (t.block_of(placement.gpu(r)) != t.block_of(placement.gpu(0))) return true;
  return false;
}

}  // namespace

Result<CollectiveRow> predict_row(const CollectiveOptions& o, const Cluster& cluster, const Router& router,
                                  const Placement& placement, const NcclChooser* nccl, Engine& engine,
                                  CollectiveCall call, SharedByRows& shared) {
  CollectiveRow row;
  if (nccl != nullptr) {
    BUSBAR_ASSIGN(row.nccl, nccl->choose(call.op, call.bytes));
    call.algorithm = schedule_name(row.nccl->algorithm);
    if (call.chunks == 0) call.chunks = row.nccl->pieces;
    if (call.protocol == Protocol::kAuto && call.algorithm != "fastest") {
      BUSBAR_ASSIGN(call.protocol, parse_protocol(protocol_name(row.nccl->protocol)));
    }
  }
  BUSBAR_ASSIGN(SynthesizedCall chosen, choose(o, cluster, router, placement, engine, call, shared));
  call = std::move(chosen.call);
  BUSBAR_ASSIGN(const std::vector<CallId> ids, prepare_jobs(o, engine, call));
  row.size = call.bytes;
  row.algorithm = o.algorithm == "synthesized" ? o.algorithm : call.algorithm;
  row.protocol = name_of(call.protocol == Protocol::kAuto ? Protocol::kSimple : call.protocol);
  row.synthesized = chosen.what;
  row.ring = chosen.ring_alone;
  row.textbook = chosen.textbook.algorithm;
  row.textbook_time = chosen.textbook_alone;
  for (std::uint32_t j = 0; j < o.jobs; ++j) engine.start(ids[j], j, SimTime());
  std::uint64_t last = 0;
  while (const auto done = engine.advance(SimTime::max())) {
    row.jobs.push_back(done->at - SimTime());
    last = done->tag;
  }
  BUSBAR_CHECK(row.jobs.size() == o.jobs) << "a started call must end";
  if (shared.packets) {
    BUSBAR_ASSIGN(row.jobs, run_packet_jobs(call, o.jobs, router, placement, cluster.protocol, *shared.packets));
  }
  row.time = row.jobs.back();
  row.bound = engine.bound_by(ids[last]);
  row.band = shared.accuracy.collective(cluster, call.bytes, several_blocks(cluster.topology, placement));
  for (std::uint32_t j = 0; j < o.jobs; ++j) {
    if (const LoweredCall* lowered = engine.lowered(ids[j])) {
      row.channels = lowered->channels;
      row.chunks = lowered->chunks;
      if (row.nccl) row.channels = row.nccl->channels;
      row.algorithm_floor = std::max(row.algorithm_floor, duration_from_ps(lowered->algorithm_floor_ps));
    }
    call.groups.base = j * call.groups.size();
    if (!shared.tiers) shared.tiers.emplace(router.topology());
    if (shared.floors.size() == j) shared.floors.emplace_back(router, placement, call, *shared.tiers);
    const Floor floor = shared.floors[j].at(call.bytes);
    if (j == 0 || floor.time > row.floor.time) row.floor = floor;
  }
  call.groups.base = 0;
  row.call = call;
  BUSBAR_RETURN_IF_ERROR(check_floor(row.time, row.floor.time, name_of(call.op)));
  BUSBAR_RETURN_IF_ERROR(check_floor(row.time, row.algorithm_floor, call.algorithm));
  const std::uint32_t ranks = call.groups.size();
  if (o.jobs == 1 && (o.common.explain || ranks <= 1024)) {  // re-lowers the call: too dear unasked on large machines
    BUSBAR_ASSIGN(row.relief, find_relief(router, placement, cluster.protocol, call, o.common.explain));
  }
  if (o.jobs == 1 && o.common.explain && !shared.packets && engine.lowered(ids[0]) != nullptr) {
    Lowering lowering(router, placement, cluster.protocol, true, 0);
    BUSBAR_ASSIGN(row.chain, lowering.explain(call));
    close_sum(row.chain, static_cast<double>(row.time.in_ps()), row.bound.link, row.bound.phase);
  }
  return row;
}

Status add_jitter(const CollectiveOptions& o, const Router& router, const Placement& placement, EngineOptions options,
                  CollectiveRow& row) {
  if (options.delays.empty() || o.jobs > 1) return {};
  const std::vector<LinkDelay> delays = std::move(options.delays);
  options.delays.clear();
  BUSBAR_ASSIGN(const std::unique_ptr<Engine> calm, make_engine(o.common.engine, router, placement, options));
  BUSBAR_ASSIGN(const CallId id, calm->prepare(row.call));
  row.jitter = jitter_effect(calm->time_alone(id), row.time, delays);
  return {};
}

}  // namespace busbar
