#include <fmt/core.h>

#include <charconv>
#include <memory>

#include "busbar/accuracy/library_version.h"
#include "busbar/accuracy/machine_cache.h"
#include "busbar/accuracy/validate.h"
#include "busbar/predict/predictor.h"

namespace busbar {
namespace {

Result<std::unique_ptr<Predictor>> build(const MeasuredMachine& m, const ValidateOptions& options,
                                         const PredictPolicy& asked) {
  BUSBAR_ASSIGN(Cluster cluster, parse_cluster(m.text, m.node, options.overrides));
  BUSBAR_ASSIGN(std::vector<DeviceId> gpus, gpus_taking_part(m, cluster.topology));
  return Predictor::make(std::move(cluster), std::move(gpus), asked);
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

/// "8" is forced, ">=8" and "4..16" are limits, "auto" and what cannot be read are none.
void set_channels(const std::string& cell, PredictPolicy& out) {
  const char* at = cell.data();
  const char* const last = at + cell.size();
  const bool at_least = cell.starts_with(">=");
  std::uint32_t from = 0, to = 0;
  const auto first = std::from_chars(at + (at_least ? 2 : 0), last, from);
  if (first.ec != std::errc()) return;
  const std::string_view rest(first.ptr, static_cast<std::size_t>(last - first.ptr));
  if (rest.empty()) to = at_least ? 0 : from;
  if (!rest.empty() && (!rest.starts_with("..") || std::from_chars(first.ptr + 2, last, to).ec != std::errc())) return;
  out.min_channels = from;
  out.max_channels = to;
}

class CollectiveRows {
 public:
  CollectiveRows(const CsvTable& table, const ValidateOptions& options, const AccuracyTable& accuracy)
      : table_(table), options_(options), catalog_(options.overrides.catalog), accuracy_(accuracy) {}

  /// Fills `out`; an error of kind kUnsupported is the row's reason, any other ends the run.
  Status score(std::size_t row, ScoredRow& out) {
    BUSBAR_ASSIGN(const auto size, table_.number(row, "size_bytes"));
    if (!size || *size < 1) return unsupported("the size is not known");
    out.size_bytes = static_cast<std::uint64_t>(*size);
    const auto op = parse_collective(table_.cell(row, "collective"));
    if (!op.ok()) return unsupported(fmt::format("collective '{}'", table_.cell(row, "collective")));
    if (table_.cell(row, "algo") == "custom") return unsupported("kernels that are not NCCL's");
    BUSBAR_ASSIGN(const MeasuredMachine described, machine_of_row(table_, row, catalog_));
    const LibraryVersion library = library_version(table_.cell(row, "library_version"));
    out.library = library.words;
    PredictPolicy asked{.engine = options_.engine, .nccl = library.rules, .nvls = table_.cell(row, "nvls") != "off"};
    PredictOptions predict = options_.predict;
    if (predict.launch.empty()) predict.launch = launch_of(table_.cell(row, "launch"));
    BUSBAR_RETURN_IF_ERROR(read_predict_options(predict, catalog_, asked));
    if (!predict.nccl.empty()) out.library = "NCCL " + to_string(asked.nccl);
    set_channels(table_.cell(row, "channels"), asked);
    BUSBAR_ASSIGN(Predictor* const machine, machine_of(described, asked));
    if (const std::string name = machine->library(one_group(machine->ranks())); !name.starts_with("NCCL"))
      out.library = name;
    if (machine->ranks() < 2) return unsupported("fewer than two GPUs");
    BUSBAR_ASSIGN(out.measured, measured_us(table_, row, *op, *size, machine->ranks()));
    const Result<Protocol> protocol = parse_protocol(table_.cell(row, "proto"));
    CollectiveCall call = call_over(*op, Bytes{out.size_bytes}, machine->ranks());
    call.algorithm = algorithm_of(row, *op, described.nodes);
    if (protocol.ok()) call.protocol = *protocol;
    BUSBAR_ASSIGN(const Prediction p, machine->time(call, kTimeAlone));
    out.gpus = machine->ranks();
    out.gpu = machine->cluster().gpu_part;
    out.several_nodes = machine->several_nodes();
    out.joined = name_of(joined_by(machine->cluster().topology));
    out.band = accuracy_.collective(machine->cluster(), call.bytes, out.several_nodes);
    out.predicted = p.time.in_us();
    out.how = how_of(p);
    out.bound_by = limit_of(p, machine->cluster().topology);
    return {};
  }

 private:
  /// As NCCL names it. Where nothing but NVLS is named, it is what an all-reduce took.
  std::string algorithm_of(std::size_t row, Collective op, std::uint32_t nodes) {
    const std::string& named = table_.cell(row, "algo");
    if (!named.empty() && named != "auto") return named;
    if (table_.cell(row, "nvls") != "on" || op != Collective::kAllReduce) return "auto";
    return nodes == 1 ? "nvls" : "nvlstree";
  }

  /// A table without the column, or with a mode that nobody knows, says "unknown".
  std::string launch_of(const std::string& mode) { return catalog_.has("launches", mode) ? mode : "unknown"; }
  Result<Predictor*> machine_of(const MeasuredMachine& m, const PredictPolicy& asked) {
    const std::string more = fmt::format("{}|{}|{}|{}|{}", asked.nvls, asked.launch->in_ps(), to_string(asked.nccl),
                                         asked.min_channels, asked.max_channels);
    return machines_.of(m, more, [&] { return build(m, options_, asked); });
  }

  const CsvTable& table_;
  const ValidateOptions& options_;
  Catalog catalog_;
  const AccuracyTable& accuracy_;
  MachineCache<Predictor> machines_;
};

}  // namespace

Result<std::vector<ScoredRow>> validate_collectives(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                    const ValidateOptions& options) {
  std::vector<ScoredRow> out;
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(Catalog(options.overrides.catalog)));
  CollectiveRows scorer(table, options, accuracy);
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
