// Training steps of a measured table, each predicted from the columns of its row.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "busbar/accuracy/internal/machine_cache.h"
#include "busbar/accuracy/internal/training_layout.h"
#include "busbar/accuracy/validate.h"
#include "busbar/predict/launch.h"
#include "busbar/predict/predictor.h"
#include "busbar/routing/path_view.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/step/jitter.h"
#include "busbar/step/simulate.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/memory.h"

namespace busbar {
namespace {

constexpr double kChipToChip = 200e9;  // bytes/s: NVLink-C2C has 450 GB/s, PCIe 5 less than 64

/// Columns that determine a step: rows equal in all of them are one configuration.
constexpr const char* kInputs[] = {"node",         "node_variant",
                                   "gpus_total",   "nics_per_node",
                                   "nic_gbps",     "fabric",
                                   "framework",    "layers",
                                   "hidden",       "ffn_hidden",
                                   "heads",        "kv_heads",
                                   "head_dim",     "gated_mlp",
                                   "seq_len",      "vocab",
                                   "precision",    "TP",
                                   "PP",           "VPP",
                                   "DP",           "CP",
                                   "EP",           "zero_fsdp",
                                   "recompute",    "micro_batch",
                                   "global_batch", "overlap",
                                   "moe",          "sequence_parallel",
                                   "moe_experts"};

std::string configuration_of(const CsvTable& table, std::size_t row) {
  std::string out = table.cell(row, "model") + " on " + table.cell(row, "gpus_total") + " " + table.cell(row, "gpu");
  std::string rest;
  for (const char* column : kInputs) rest += '|' + table.cell(row, column);
  return out + rest;
}

/// The job, the machine and who measured: all inputs but the layout.
std::string sweep_of(const CsvTable& table, std::size_t row) {
  constexpr std::string_view kLayout[] = {
      "TP", "PP", "VPP", "DP", "CP", "EP", "zero_fsdp", "recompute", "micro_batch", "overlap", "sequence_parallel"};
  std::string out = table.cell(row, "source_id");
  for (const char* column : kInputs)
    if (std::find(std::begin(kLayout), std::end(kLayout), column) == std::end(kLayout))
      out += '|' + table.cell(row, column);
  return out;
}

struct Machine {
  std::unique_ptr<Predictor> predictor;
  KernelTable kernels;
};

/// What decides how the calls of a layout run on one machine.
struct Use {
  bool cuda_graphs = false, offloads = false;
};

Use use_of(const LayoutSpec& l) { return {l.cuda_graphs, l.offload_activations || l.offload_optimizer}; }

Result<std::unique_ptr<Machine>> build(const MeasuredMachine& m, const ValidateOptions& options, Use use) {
  auto out = std::make_unique<Machine>();
  BUSBAR_ASSIGN(Cluster cluster, parse_cluster(m.text, m.node, options.overrides));
  BUSBAR_ASSIGN(std::vector<DeviceId> gpus, gpus_taking_part(m, cluster.topology));
  const Catalog catalog(options.overrides.catalog);
  BUSBAR_ASSIGN(out->kernels, load_kernels(cluster, catalog));
  for (MatrixRates* const rates : {&out->kernels.bf16, &out->kernels.fp8, &out->kernels.fp4})
    rates->sustained_share *= options.factors.held_share;
  PredictOptions predict = options.predict;
  if (predict.launch.empty()) predict.launch = launch_of_framework(cluster, use.cuda_graphs);
  PredictPolicy policy{.engine = options.engine, .stop = options.stop};
  BUSBAR_RETURN_IF_ERROR(read_predict_options(predict, catalog, policy));
  policy.host_memory = use.offloads && has_host_memory(cluster.topology);
  BUSBAR_ASSIGN(out->predictor, Predictor::make(std::move(cluster), std::move(gpus), std::move(policy)));
  out->kernels.host_bytes_per_s = host_rate(out->predictor->router());
  if (out->predictor->policy().host_memory) out->kernels.host_ranks = out->predictor->ranks();
  return out;
}

Result<StepResult> simulate(const Machine& m, const ModelSpec& model, const LayoutSpec& layout) {
  BUSBAR_ASSIGN(Program program, build_program(model, layout, m.kernels));
  BUSBAR_RETURN_IF_ERROR(m.predictor->prepare(program));
  const auto engine = m.predictor->open_engine();
  return simulate_step(program, *engine, {.contention = m.kernels.contention, .timeline = false});
}

std::string in_words(const LayoutSpec& l) {
  return fmt::format("TP {} PP {} x{} CP {} DP {}, ZeRO-{} over {}, {}, attention {}, recompute {}{}", l.tp, l.pp,
                     l.vpp, l.cp, l.dp, l.zero, l.shard_ranks(), name_of(l.precision), name_of(l.attention),
                     name_of(l.recompute), l.recompute_layers > 0 ? fmt::format(" of {}", l.recompute_layers) : "");
}

double memory_share(const Machine& m, const ModelSpec& model, const LayoutSpec& layout) {
  return static_cast<double>(count(memory_use(model, layout).total())) /
         static_cast<double>(count(gpu_memory(m.predictor->cluster().topology)));
}

/// Activations that do not fit are recomputed, or kept in host memory if a chip-to-chip link reaches it.
void choose_recompute(const Machine& m, const ModelSpec& model, LayoutSpec& layout) {
  const Bytes capacity = gpu_memory(m.predictor->cluster().topology);
  const bool fits = count(memory_use(model, layout).total()) <= count(capacity);
  if (!fits && m.kernels.host_bytes_per_s >= kChipToChip) {
    layout.offload_activations = true;
    if (count(memory_use(model, layout).total()) <= count(capacity)) return;
    layout.offload_activations = false;
  }
  layout = least_recomputation(model, layout, capacity);
}

class TrainingRows {
 public:
  TrainingRows(const CsvTable& table, const ValidateOptions& options, const AccuracyTable& accuracy)
      : table_(table), options_(options), files_(options.overrides.catalog), accuracy_(accuracy) {}

  Status score(std::size_t row, ScoredRow& out) {
    BUSBAR_ASSIGN(const auto measured, table_.number(row, "step_time_s"));
    if (!measured || *measured <= 0) return unsupported("no step time");
    out.measured = *measured;
    if (table_.cell(row, "layout_complete") == "no") return unsupported("the layout is not complete");
    BUSBAR_ASSIGN(const ModelSpec model, model_of_row(table_, row, files_));
    BUSBAR_ASSIGN(MeasuredLayout asked, layout_of_row(table_, row, model, files_, options_.expert_launch));
    BUSBAR_ASSIGN(const MeasuredMachine described, machine_of_row(table_, row, files_.catalog()));
    BUSBAR_ASSIGN(asked.layout.kernel_time,
                  kernel_time_of(table_.cell(row, "framework"), release_of(table_.cell(row, "source")), files_));
    asked.layout.kernel_time *= options_.factors.kernel_time;
    BUSBAR_ASSIGN(const Machine* machine, machine_for(described, use_of(asked.layout)));
    const auto resolved = resolve_layout(asked.layout, model, machine->predictor->ranks());
    if (!resolved.ok()) return unsupported(resolved.error().message);
    LayoutSpec layout = *resolved;
    if (asked.chooses_recompute) choose_recompute(*machine, model, layout);
    BUSBAR_ASSIGN(machine, machine_for(described, use_of(layout)));
    const auto step = simulate(*machine, model, layout);
    if (!step.ok()) return unsupported(step.error().message);
    out.gpus = layout.ranks();
    out.gpu = machine->predictor->cluster().gpu_part;
    out.band = accuracy_.training(machine->predictor->cluster(), model.moe.experts > 0);
    out.predicted = step->step_time.in_s() * expected_slowest(machine->kernels.jitter_share, layout.ranks());
    out.how = in_words(layout);
    out.memory_share = memory_share(*machine, model, layout);
    const Breakdown& b = step->breakdown;
    const auto share = [&](Duration d) { return 100 * d.in_s() / step->step_time.in_s(); };
    out.bound_by = fmt::format(
        "compute {:.0f} %, tp {:.0f}, dp {:.0f}, pp {:.0f}, cp {:.0f}, ep {:.0f}, bubble {:.0f}, rest {:.0f}",
        share(b.compute), share(b.exposed_tp), share(b.exposed_dp), share(b.exposed_pp), share(b.exposed_cp),
        share(b.exposed_ep), share(b.bubble), share(b.optimizer + b.other));
    return {};
  }

 private:
  Result<Machine*> machine_for(const MeasuredMachine& described, Use use) {
    const std::string key = std::string(use.cuda_graphs ? "graphs" : "") + (use.offloads ? " offloads" : "");
    return machines_.of(described, key, [&] { return build(described, options_, use); });
  }

  const CsvTable& table_;
  const ValidateOptions& options_;
  RowCatalog files_;
  const AccuracyTable& accuracy_;
  MachineCache<Machine> machines_;
};

/// Of the rows of one configuration, scores the newest release: the highest container version, or the last row.
void score_newest_only(const CsvTable& table, std::vector<ScoredRow>& rows) {
  std::map<std::string, std::pair<std::string, std::size_t>> newest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].counts) continue;
    const std::string release = release_of(table.cell(rows[i].row, "source"));
    const auto it = newest.find(rows[i].configuration);
    if (it == newest.end() || release >= it->second.first) newest[rows[i].configuration] = {release, i};
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto it = newest.find(rows[i].configuration);
    rows[i].counts = rows[i].counts && it->second.second == i;
  }
}

}  // namespace

Result<std::vector<ScoredRow>> validate_training(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                 const ValidateOptions& options) {
  std::vector<ScoredRow> out;
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(Catalog(options.overrides.catalog)));
  TrainingRows scorer(table, options, accuracy);
  std::map<std::string, std::size_t> done;  // configurations (and recipes of experts) already predicted
  for (const std::size_t row : rows) {
    if (options.go_on && !options.go_on(out.size(), rows.size())) break;
    ScoredRow s = begin_scored_row(table, row);
    s.id_key = "row_id";
    s.unit = "s";
    s.id = table.cell(row, "row_id");
    s.configuration = configuration_of(table, row);
    s.fabric = table.cell(row, "fabric");
    s.kind = table.cell(row, "framework");
    s.model = table.cell(row, "model");
    s.sweep = sweep_of(table, row);
    s.layers = table.cell(row, "moe") == "yes" ? "experts" : "dense";
    const std::string inputs = s.configuration + (s.layers == "experts" ? '|' + table.cell(row, "source") : "");
    if (const auto same = done.find(inputs); same != done.end() && out[same->second].unsupported.empty()) {
      const ScoredRow& twin = out[same->second];
      BUSBAR_ASSIGN(const auto measured, table.number(row, "step_time_s"));
      if (!measured || *measured <= 0) {
        s.unsupported = "no step time";
      } else {
        s.measured = *measured;
        s.predicted = twin.predicted;
        s.gpus = twin.gpus;
        s.gpu = twin.gpu;
        s.band = twin.band;
        s.how = twin.how;
        s.memory_share = twin.memory_share;
        s.bound_by = twin.bound_by;
      }
    } else if (const Status status = scorer.score(row, s); !status.ok()) {
      if (stops(options.stop)) break;
      if (status.error().code == ErrorCode::kInvalid) return status.error();
      s.unsupported = status.error().message;
    } else {
      done[inputs] = out.size();
    }
    out.push_back(std::move(s));
  }
  score_newest_only(table, out);
  return out;
}

}  // namespace busbar
