#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "busbar/accuracy/internal/machine_cache.h"
#include "busbar/accuracy/library_version.h"
#include "busbar/accuracy/validate.h"
#include "busbar/predict/launch.h"
#include "busbar/predict/predictor.h"

namespace busbar::accuracy {
namespace {

struct RowMachine {
  std::unique_ptr<predict::Predictor> predictor;
  collectives::GroupFamily ranks;  ///< one group: the ranks that take part
};

Result<std::unique_ptr<RowMachine>> build(const MeasuredMachine& m, const ValidateOptions& options,
                                          const predict::PredictPolicy& asked) {
  BUSBAR_ASSIGN(spec::Cluster cluster, spec::parse_cluster(m.text, m.node, options.overrides));
  BUSBAR_ASSIGN(const std::vector<topology::DeviceId> gpus, gpus_taking_part(m, cluster.topology));
  auto out = std::make_unique<RowMachine>();
  const auto all = cluster.topology.gpus();
  for (const topology::DeviceId gpu : gpus)
    out->ranks.listed.push_back(static_cast<std::uint32_t>(std::find(all.begin(), all.end(), gpu) - all.begin()));
  out->ranks.listed_groups = 1;
  BUSBAR_ASSIGN(out->predictor, predict::Predictor::make(std::move(cluster), {}, asked));
  return out;
}

/// Time of the row in us, measured directly or as a bandwidth. Source of the factors: nccl-tests, doc/PERFORMANCE.md.
Result<double> measured_us(const CsvTable& table, std::size_t row, collectives::Collective op, double bytes, double n) {
  BUSBAR_ASSIGN(const auto time, table.number(row, "time_us"));
  if (time && *time > 0) return *time;
  BUSBAR_ASSIGN(const auto alg, table.number(row, "algbw_GBps"));
  if (alg && *alg > 0) return bytes / *alg / 1e3;
  BUSBAR_ASSIGN(const auto bus, table.number(row, "busbw_GBps"));
  if (bus && *bus > 0) return bytes * predict::bus_factor(op, n) / *bus / 1e3;
  return unsupported("no time and no bandwidth");
}

/// "8" sets the number, ">=8" and "4..16" limit it; "auto" and unreadable cells do not.
void limit_channels(const std::string& cell, std::vector<std::string>& env) {
  const char* at = cell.data();
  const char* const last = at + cell.size();
  const bool at_least = cell.starts_with(">=");
  std::uint32_t from = 0, to = 0;
  const auto first = std::from_chars(at + (at_least ? 2 : 0), last, from);
  if (first.ec != std::errc()) return;
  const std::string_view rest(first.ptr, static_cast<std::size_t>(last - first.ptr));
  if (rest.empty()) to = at_least ? 0 : from;
  if (!rest.empty() && (!rest.starts_with("..") || std::from_chars(first.ptr + 2, last, to).ec != std::errc())) return;
  if (from > 0) env.push_back(fmt::format("NCCL_MIN_NCHANNELS={}", from));
  if (to > 0) env.push_back(fmt::format("NCCL_MAX_NCHANNELS={}", to));
}

class CollectiveRows {
 public:
  CollectiveRows(const CsvTable& table, const ValidateOptions& options, const predict::AccuracyTable& accuracy)
      : table_(table), options_(options), catalog_(options.overrides.catalog), accuracy_(accuracy) {}

  /// Fills `out`. An error of kind kUnsupported is the row's reason; any other error ends the run.
  Status score(std::size_t row, ScoredRow& out) {
    BUSBAR_ASSIGN(const auto size, table_.number(row, "size_bytes"));
    if (!size || *size < 1) return unsupported("the size is not known");
    out.size_bytes = static_cast<std::uint64_t>(*size);
    const auto op = collectives::parse_collective(table_.cell(row, "collective"));
    if (!op.ok()) return unsupported(fmt::format("collective '{}'", table_.cell(row, "collective")));
    if (table_.cell(row, "algo") == "custom") return unsupported("kernels that are not NCCL's");
    BUSBAR_ASSIGN(const MeasuredMachine described, machine_of_row(table_, row, catalog_));
    const LibraryVersion library = library_version(table_.cell(row, "library_version"));
    out.library = library.words;
    predict::CollectiveRequest asked{described.text, options_.overrides, options_.engine, {}, options_.predict};
    if (asked.predict.nccl.empty()) asked.predict.nccl = nccl::to_string(library.rules);
    if (asked.predict.nccl != nccl::to_string(library.rules)) out.library = "NCCL " + asked.predict.nccl;
    if (asked.predict.launch.empty()) asked.predict.launch = predict::launch_mode(table_.cell(row, "launch"));
    asked.predict.env = env_of(row);
    if (asked.predict.registration.empty()) asked.predict.registration = table_.cell(row, "registration");
    BUSBAR_ASSIGN(RowMachine* const machine, machine_of(described, asked.predict));
    const std::uint32_t ranks = machine->ranks.size();
    if (const std::string name = machine->predictor->library(machine->ranks); !name.starts_with("NCCL"))
      out.library = name;
    if (ranks < 2) return unsupported("fewer than two GPUs");
    BUSBAR_ASSIGN(out.measured, measured_us(table_, row, *op, *size, ranks));
    const Result<program::Protocol> protocol = program::parse_protocol(table_.cell(row, "proto"));
    program::CollectiveCall& call = asked.call = predict::call_over(*op, Bytes{out.size_bytes}, ranks);
    call.groups = machine->ranks;
    call.algorithm = algorithm_of(row, *op, described.nodes);
    if (protocol.ok()) call.protocol = *protocol;
    BUSBAR_ASSIGN(const predict::Prediction p, machine->predictor->time(call, predict::kTimeAlone));
    out.gpus = ranks;
    out.gpu = machine->predictor->cluster().gpu_part;
    out.several_nodes = machine->predictor->several_nodes(call.groups);
    out.joined = predict::name_of(predict::joined_by(machine->predictor->cluster().topology));
    out.p2p = predict::reaches_peers(machine->predictor->cluster());
    out.band = p.band;
    out.predicted = p.time.in_us();
    out.traits = p.traits;
    out.how = predict::how_of(p);
    out.bound_by = predict::limit_of(p, machine->predictor->cluster().topology);
    out.asked = std::move(asked);
    return {};
  }

 private:
  /// By NCCL's name. If only NVLS is named, it is the algorithm of an all-reduce.
  std::string algorithm_of(std::size_t row, collectives::Collective op, std::uint32_t nodes) {
    const std::string& named = table_.cell(row, "algo");
    if (!named.empty() && named != "auto") return named;
    if (table_.cell(row, "nvls") != "on" || op != collectives::Collective::kAllReduce) return "auto";
    return nodes == 1 ? "nvls" : "nvlstree";
  }

  /// The variables of the row, then those of the user.
  std::vector<std::string> env_of(std::size_t row) const {
    std::vector<std::string> out;
    if (table_.cell(row, "nvls") == "off") out.emplace_back("NCCL_NVLS_ENABLE=0");
    limit_channels(table_.cell(row, "channels"), out);
    out.insert(out.end(), options_.predict.env.begin(), options_.predict.env.end());
    return out;
  }
  Result<RowMachine*> machine_of(const MeasuredMachine& m, const predict::PredictOptions& asked) {
    std::string more = asked.launch + "|" + asked.nccl + "|" + asked.registration;
    for (const std::string& variable : asked.env) more += "|" + variable;
    return machines_.of(m, more, [&]() -> Result<std::unique_ptr<RowMachine>> {
      predict::PredictPolicy policy{.engine = options_.engine, .stop = options_.stop, .accuracy = &accuracy_};
      BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(asked, catalog_, policy));
      return build(m, options_, policy);
    });
  }

  const CsvTable& table_;
  const ValidateOptions& options_;
  spec::Catalog catalog_;
  const predict::AccuracyTable& accuracy_;
  MachineCache<RowMachine> machines_;
};

}  // namespace

Result<std::vector<ScoredRow>> validate_collectives(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                    const ValidateOptions& options) {
  std::vector<ScoredRow> out;
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy,
                predict::AccuracyTable::load(spec::Catalog(options.overrides.catalog)));
  CollectiveRows scorer(table, options, accuracy);
  for (const std::size_t row : rows) {
    if (options.go_on && !options.go_on(out.size(), rows.size())) break;
    ScoredRow s = begin_scored_row(table, row);
    s.fabric = table.cell(row, "fabric");
    s.kind = table.cell(row, "collective");
    const Status done = scorer.score(row, s);
    if (stops(options.stop)) break;
    if (!done.ok()) {
      if (done.error().code == ErrorCode::kInvalid) return done.error();
      s.unsupported = done.error().message;
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace busbar::accuracy
