// Training steps of a measured table, each predicted from the columns of its row.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>

#include "busbar/accuracy/internal/machine_cache.h"
#include "busbar/accuracy/internal/training_row.h"
#include "busbar/accuracy/validate.h"
#include "busbar/base/text.h"
#include "busbar/step/machine.h"
#include "busbar/step/train_run.h"

namespace busbar::accuracy {
namespace {

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

std::string in_words(const workload::LayoutSpec& l) {
  return fmt::format("TP {} PP {} x{} CP {} DP {}, ZeRO-{} over {}, {}, attention {}, recompute {}{}", l.tp, l.pp,
                     l.vpp, l.cp, l.dp, l.sharding.zero, l.shard_ranks(), workload::name_of(l.precision),
                     workload::name_of(l.attention), workload::name_of(l.recomputation.kind),
                     l.recomputation.layers > 0 ? fmt::format(" of {}", l.recomputation.layers) : "");
}

/// All that decides the time of a question, as a key.
std::string key_of(const StepQuestion& q) {
  const spec::LayoutFlags& d = q.scenario.degrees;
  std::string out = fmt::format("{}|{}|{}|{}|{}", q.scenario.cluster, q.scenario.model, q.scenario.framework,
                                d.precision.value_or(""), d.recompute.value_or(""));
  for (const auto& v : {d.tp, d.pp, d.vpp, d.dp, d.cp, d.ep, d.seq, d.micro_batch, d.global_batch, d.zero})
    out += fmt::format("|{}", v.value_or(-1));
  for (const std::string& set : q.overrides.set) out += '|' + set;
  return out;
}

std::string shares_in_words(const step::StepResult& step) {
  const step::Breakdown& b = step.breakdown;
  const auto share = [&](Duration d) { return 100 * d.in_s() / step.step_time.in_s(); };
  return fmt::format(
      "compute {:.0f} %, tp {:.0f}, dp {:.0f}, pp {:.0f}, cp {:.0f}, ep {:.0f}, bubble {:.0f}, rest {:.0f}, slowest "
      "GPU {:.0f}",
      share(b.compute), share(b.exposed_tp), share(b.exposed_dp), share(b.exposed_pp), share(b.exposed_cp),
      share(b.exposed_ep), share(b.bubble), share(b.optimizer + b.other), share(b.slowest_gpu));
}

double kernel_share(const step::StepResult& step) {
  const step::Breakdown& b = step.breakdown;
  return (b.compute + b.bubble + b.optimizer).in_s() / step.step_time.in_s();
}

/// "dense", "experts"; with links between the GPUs other than NVLink "dense, ici".
std::string class_of(const std::string& layers, const topology::Topology& t) {
  if (t.gpus().empty()) return layers;
  for (const topology::LinkId l : t.out_links(t.gpus().front())) {
    const topology::LinkKind kind = t.link_class(l).kind;
    if (topology::is_scale_up(kind) && kind != topology::LinkKind::kNvlink && kind != topology::LinkKind::kC2c)
      return layers + ", " + topology::name_of(kind);
  }
  return layers;
}

class TrainingRows {
 public:
  TrainingRows(const CsvTable& table, const ValidateOptions& options)
      : table_(table), options_(options), files_(options.overrides.catalog) {}

  /// The measured time into `out`, and the question of the row.
  Status ask(std::size_t row, ScoredRow& out) {
    BUSBAR_ASSIGN(const auto measured, table_.number(row, "step_time_s"));
    if (!measured || *measured <= 0) return unsupported("no step time");
    out.measured = *measured;
    if (table_.cell(row, "layout_complete") == "no") return unsupported("the layout is not complete");
    BUSBAR_ASSIGN(StepQuestion question, question_of_row(table_, row, files_));
    BUSBAR_ASSIGN(const MeasuredMachine described, machine_of_row(table_, row, files_.catalog()));
    BUSBAR_ASSIGN(const std::uint32_t* const part, part_of_machine(described));
    if (*part > 0) question.overrides.set.push_back(fmt::format("layout.gpus={}", *part));
    question.scenario.cluster = described.text;
    question.engine = options_.engine;
    question.predict = options_.predict;
    const std::vector<std::string> sets = std::move(question.overrides.set);
    question.overrides = options_.overrides;
    question.overrides.set.insert(question.overrides.set.end(), sets.begin(), sets.end());
    out.step = std::move(question);
    return {};
  }

  /// The answer to out.step.
  Status answer(ScoredRow& out) {
    const StepQuestion& q = *out.step;
    BUSBAR_ASSIGN(spec::Scenario scenario,
                  spec::scenario_from_flags(q.scenario, q.overrides, files_.catalog(), step::gpu_of_machine));
    scenario.layout.kernel_time *= options_.factors.kernel_time;
    if (options_.expert_launch && scenario.layout.experts.launch > Duration{})
      scenario.layout.experts.launch = *options_.expert_launch;
    step::Ask ask;
    ask.engine = q.engine;
    ask.timeline = ask.scaling = false;
    ask.predict = q.predict;
    ask.held_share = options_.factors.held_share;
    ask.stop = options_.stop;
    ask.kept = &machines_;
    BUSBAR_ASSIGN(const step::Prediction run, step::predict(std::move(scenario), ask));
    out.gpus = run.layout.ranks();
    out.gpu = run.cluster().gpu_part;
    out.band = run.band;
    out.band_class = class_of(out.layers, run.cluster().topology);
    out.predicted = run.step.step_time.in_s();
    out.how = in_words(run.layout);
    out.memory_share = static_cast<double>(count(run.memory.total())) / static_cast<double>(count(run.memory_capacity));
    out.bound_by = shares_in_words(run.step);
    out.kernel_share = kernel_share(run.step);
    return {};
  }

  /// Call after answer().
  void fit() { machines_.fit(); }

 private:
  /// How many GPUs take part; 0: all of the machine.
  Result<std::uint32_t*> part_of_machine(const MeasuredMachine& described) {
    return parts_.of(described, "", [&]() -> Result<std::unique_ptr<std::uint32_t>> {
      BUSBAR_ASSIGN(const spec::Cluster cluster,
                    spec::parse_cluster(described.text, described.node, options_.overrides));
      BUSBAR_ASSIGN(const std::vector<topology::DeviceId> gpus, gpus_taking_part(described, cluster.topology));
      const auto all = cluster.topology.gpus();
      if (gpus.size() == all.size()) return std::make_unique<std::uint32_t>(0);
      if (!std::equal(gpus.begin(), gpus.end(), all.begin()))
        return unsupported("the GPUs that take part are not the first of the machine");
      return std::make_unique<std::uint32_t>(static_cast<std::uint32_t>(gpus.size()));
    });
  }

  const CsvTable& table_;
  const ValidateOptions& options_;
  RowCatalog files_;
  MachineCache<std::uint32_t> parts_;
  step::KeptMachines machines_;
};

void take_answer(const ScoredRow& twin, ScoredRow& out) {
  out.predicted = twin.predicted;
  out.gpus = twin.gpus;
  out.gpu = twin.gpu;
  out.band = twin.band;
  out.band_class = twin.band_class;
  out.how = twin.how;
  out.memory_share = twin.memory_share;
  out.bound_by = twin.bound_by;
  out.kernel_share = twin.kernel_share;
}

constexpr const char* kNewest = "~";  // after all numbers: a release that is not stated counts as the newest

/// Among the rows of one configuration, scores the newest release: the highest framework_release, or the last row.
void score_newest_only(const CsvTable& table, std::vector<ScoredRow>& rows) {
  std::map<std::string, std::pair<std::string, std::size_t>> newest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].counts) continue;
    const std::string& stated = table.cell(rows[i].row, "framework_release");
    const std::string release = stated.empty() ? kNewest : stated;
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
  TrainingRows scorer(table, options);
  std::map<std::string, std::size_t> done;  // questions that are answered
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
    Status status = scorer.ask(row, s);
    const auto same = status.ok() ? done.find(key_of(*s.step)) : done.end();
    if (same != done.end()) {
      take_answer(out[same->second], s);
    } else if (status.ok()) {
      status = scorer.answer(s);
      scorer.fit();
      if (status.ok()) done[key_of(*s.step)] = out.size();
    }
    if (!status.ok()) {
      if (stops(options.stop)) break;
      if (status.error().code == ErrorCode::kInvalid && !s.step) return status.error();  // the table is wrong
      s.unsupported = status.error().message;
    }
    out.push_back(std::move(s));
  }
  score_newest_only(table, out);
  return out;
}

}  // namespace busbar::accuracy
