#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "busbar/accuracy/measured_machine.h"
#include "busbar/accuracy/predictor.h"
#include "busbar/accuracy/validate.h"

namespace busbar {
namespace {

Error unsupported(std::string why) { return Error{ErrorCode::kUnsupported, std::move(why), {}}; }

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

Result<std::unique_ptr<Predictor>> build(const MeasuredMachine& m, const ValidateOptions& options, bool nvls,
                                         Duration launch) {
  BUSBAR_ASSIGN(Cluster cluster, parse_cluster(m.text, m.node, options.overrides));
  cluster.protocol.launch = launch;
  BUSBAR_ASSIGN(std::vector<DeviceId> gpus, taking_part(m, cluster.topology));
  return Predictor::make(std::move(cluster), std::move(gpus), options.engine, nvls);
}

/// Time of the row in us: as measured, or from a bandwidth. Source of the factors: nccl-tests, doc/PERFORMANCE.md.
Result<double> measured_us(const CsvTable& table, std::size_t row, Collective op, double bytes, double n) {
  BUSBAR_ASSIGN(const auto time, table.number(row, "time_us"));
  if (time && *time > 0) return *time;
  BUSBAR_ASSIGN(const auto alg, table.number(row, "algbw_GBps"));
  if (alg && *alg > 0) return bytes / *alg / 1e3;
  BUSBAR_ASSIGN(const auto bus, table.number(row, "busbw_GBps"));
  if (bus && *bus > 0) return bytes * bus_factor(op, n) / *bus / 1e3;
  return unsupported("no time and no bandwidth");
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
    BUSBAR_ASSIGN(Predictor* const machine,
                  machine_of(described, table_.cell(row, "nvls") != "off", table_.cell(row, "launch")));
    if (machine->ranks() < 2) return unsupported("fewer than two GPUs");
    BUSBAR_ASSIGN(out.measured, measured_us(table_, row, *op, *size, machine->ranks()));
    const std::string& algo = table_.cell(row, "algo");
    const Result<Protocol> protocol = parse_protocol(table_.cell(row, "proto"));
    BUSBAR_ASSIGN(const Prediction p, machine->predict(*op, out.size_bytes, algo.empty() ? "auto" : algo,
                                                       protocol.ok() ? *protocol : Protocol::kAuto));
    out.gpus = machine->ranks();
    out.predicted = p.us;
    out.how = p.how;
    out.bound_by = p.bound_by;
    return {};
  }

 private:
  /// From catalog/launches; a table without the column, or with a mode that nobody knows, says "unknown".
  Result<Duration> launch_of(const std::string& mode) {
    const std::string name = catalog_.has("launches", mode) ? mode : "unknown";
    BUSBAR_ASSIGN(const YamlDocument document, catalog_.load("launches", name));
    return document.root().find("launch")->as_duration();
  }
  Result<Predictor*> machine_of(const MeasuredMachine& m, bool nvls, const std::string& mode) {
    BUSBAR_ASSIGN(const Duration launch, launch_of(mode));
    std::string key = fmt::format("{}|{}|{}|{}", m.gpus_per_node, nvls, mode, m.text);
    for (const std::uint32_t id : m.gpu_ids) key += fmt::format(",{}", id);
    auto it = machines_.find(key);
    if (it == machines_.end()) {
      auto made = build(m, options_, nvls, launch);
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
  std::map<std::string, Result<std::unique_ptr<Predictor>>> machines_;
};

}  // namespace

Result<std::vector<ScoredRow>> validate_collectives(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                    const ValidateOptions& options) {
  std::vector<ScoredRow> out;
  Rows scorer(table, options);
  for (const std::size_t row : rows) {
    if (options.go_on && !options.go_on(out.size(), rows.size())) break;
    ScoredRow s = begin_scored_row(table, row);
    s.fabric = table.cell(row, "fabric");
    s.kind = table.cell(row, "collective");
    if (const Status done = scorer.score(row, s); !done.ok()) {
      if (done.error().code == ErrorCode::kInvalid) return done.error();
      s.unsupported = done.error().message;
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace busbar
