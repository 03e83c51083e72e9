#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "busbar/accuracy/measured_machine.h"
#include "busbar/accuracy/validate.h"
#include "busbar/choice/fastest.h"
#include "busbar/engine/lowering.h"
#include "busbar/topology/path_type.h"

namespace busbar {
namespace {

Error unsupported(std::string why) { return Error{ErrorCode::kUnsupported, std::move(why), {}}; }

/// A machine of the table, ready to time calls on. Rows of one configuration share it.
struct Machine {
  Cluster cluster;
  std::unique_ptr<Router> router;
  std::unique_ptr<Placement> placement;
  std::unique_ptr<Engine> engine;
};

Result<std::vector<DeviceId>> taking_part(const MeasuredMachine& m, const Topology& t) {
  const auto all = t.gpus();
  const std::size_t per_block = all.size() / m.nodes;
  if (per_block * m.nodes != all.size() || m.gpus_per_node > per_block)
    return unsupported(fmt::format("{} GPUs a node, the board has {}", m.gpus_per_node, per_block));
  std::vector<DeviceId> out;
  for (std::uint32_t b = 0; b < m.nodes; ++b)
    for (std::uint32_t g = 0; g < m.gpus_per_node; ++g) {
      const std::uint32_t id = g < m.gpu_ids.size() ? m.gpu_ids[g] : g;
      if (id >= per_block) return unsupported(fmt::format("there is no GPU {} on the board", id));
      out.push_back(all[b * per_block + id]);
    }
  return out;
}

Result<std::unique_ptr<Machine>> build(const MeasuredMachine& m, const ValidateOptions& options) {
  auto out = std::make_unique<Machine>();
  BUSBAR_ASSIGN(out->cluster, parse_cluster(m.text, m.node, options.overrides));
  out->router = std::make_unique<Router>(out->cluster.topology, out->cluster.routing, out->cluster.seed);
  BUSBAR_ASSIGN(const std::vector<DeviceId> gpus, taking_part(m, out->cluster.topology));
  out->placement = std::make_unique<Placement>(*out->router, gpus);
  EngineOptions engine;
  engine.protocol = out->cluster.protocol;
  out->engine = options.engine == "flow" ? make_flow_engine(*out->router, *out->placement, engine)
                                         : make_analytic_engine(*out->router, *out->placement, engine);
  return out;
}

/// Time of the row in us: as measured, or from a bandwidth. Source of the factors: nccl-tests, doc/PERFORMANCE.md.
Result<double> measured_us(const CsvTable& table, std::size_t row, Collective op, double bytes, double n) {
  BUSBAR_ASSIGN(const auto time, table.number(row, "time_us"));
  if (time && *time > 0) return *time;
  BUSBAR_ASSIGN(const auto alg, table.number(row, "algbw_GBps"));
  if (alg && *alg > 0) return bytes / *alg / 1e3;
  BUSBAR_ASSIGN(const auto bus, table.number(row, "busbw_GBps"));
  const bool all_reduce = op == Collective::kAllReduce;
  const bool whole = op == Collective::kBroadcast || op == Collective::kReduce || op == Collective::kSendRecv;
  const double factor = whole ? 1 : (all_reduce ? 2 : 1) * (n - 1) / n;
  if (bus && *bus > 0) return bytes * factor / *bus / 1e3;
  return unsupported("no time and no bandwidth");
}

struct Timed {
  double us = 0;
  std::string how, bound_by;
};

Result<Timed> time_row(Machine& m, const CsvTable& table, std::size_t row, Collective op, double bytes) {
  CollectiveCall call;
  call.op = op;
  call.bytes = static_cast<Bytes>(static_cast<std::uint64_t>(bytes));
  call.groups = one_group(m.placement->ranks());
  const std::string& algo = table.cell(row, "algo");
  call.algorithm = algo.empty() || algo == "auto" ? "auto" : algo;
  BUSBAR_ASSIGN(call, resolve_algorithm(*m.engine, *m.placement, m.cluster.topology, std::move(call)));
  BUSBAR_ASSIGN(const CallId id, m.engine->prepare(call));
  const Bound bound = m.engine->bound_by(id);
  return Timed{m.engine->time_alone(id).in_us(), call.algorithm,
               bound.link == kNone<LinkId>
                   ? ""
                   : fmt::format("{} of {}", bound.kind == BoundKind::kBandwidth ? "bandwidth" : "latency",
                                 m.cluster.topology.link_class(bound.link).part)};
}

class Rows {
 public:
  Rows(const CsvTable& table, const ValidateOptions& options)
      : table_(table), options_(options), catalog_(options.overrides.catalog) {}

  /// Fills `out`; an error of kind kUnsupported is the row's reason, any other ends the run.
  Status score(std::size_t row, ScoredRow& out) {
    BUSBAR_ASSIGN(const auto size, table_.number(row, "size_bytes"));
    if (!size || *size < 1) return unsupported("the size is not known");
    out.size_bytes = static_cast<std::uint64_t>(*size);
    const auto op = parse_collective(table_.cell(row, "collective"));
    if (!op.ok()) return unsupported(fmt::format("collective '{}'", table_.cell(row, "collective")));
    if (table_.cell(row, "algo") == "custom") return unsupported("kernels that are not NCCL's");
    BUSBAR_ASSIGN(const MeasuredMachine described, machine_of_row(table_, row, catalog_));
    BUSBAR_ASSIGN(Machine* const machine, machine_of(described));
    if (machine->placement->ranks() < 2) return unsupported("fewer than two GPUs");
    BUSBAR_ASSIGN(out.measured, measured_us(table_, row, *op, *size, machine->placement->ranks()));
    BUSBAR_ASSIGN(const Timed timed, time_row(*machine, table_, row, *op, *size));
    out.gpus = machine->placement->ranks();
    out.predicted = timed.us;
    out.how = timed.how;
    out.bound_by = timed.bound_by;
    return {};
  }

 private:
  Result<Machine*> machine_of(const MeasuredMachine& m) {
    std::string key = fmt::format("{}|{}", m.gpus_per_node, m.text);
    for (const std::uint32_t id : m.gpu_ids) key += fmt::format(",{}", id);
    auto it = machines_.find(key);
    if (it == machines_.end()) {
      auto made = build(m, options_);
      if (!made.ok() && made.error().code != ErrorCode::kUnsupported) {
        // The row's board cannot be built as described: its reason, not the end of the run.
        made = unsupported(made.error().message);
      }
      it = machines_.emplace(std::move(key), std::move(made)).first;
    }
    if (!it->second.ok()) return it->second.error();
    return it->second->get();
  }

  const CsvTable& table_;
  const ValidateOptions& options_;
  Catalog catalog_;
  std::map<std::string, Result<std::unique_ptr<Machine>>> machines_;
};

}  // namespace

Result<std::vector<ScoredRow>> validate_collectives(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                    const ValidateOptions& options) {
  std::vector<ScoredRow> out;
  Rows scorer(table, options);
  for (const std::size_t row : rows) {
    ScoredRow s;
    s.row = row;
    s.id = s.configuration = table.cell(row, "source_id");
    s.node = table.cell(row, "node");
    s.fabric = table.cell(row, "fabric");
    s.kind = table.cell(row, "collective");
    const std::string& use = table.cell(row, "use");
    s.counts = use.empty() || use == "accuracy";
    if (const Status done = scorer.score(row, s); !done.ok()) {
      if (done.error().code == ErrorCode::kInvalid) return done.error();
      s.unsupported = done.error().message;
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace busbar
