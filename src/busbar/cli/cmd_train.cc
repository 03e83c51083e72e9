#include <fmt/core.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>

#include "busbar/base/id.h"
#include "busbar/base/input.h"
#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/checkpoint_report.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/fit_report.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/scenario_flags.h"
#include "busbar/cli/session.h"
#include "busbar/cli/step_ask.h"
#include "busbar/cli/train_batches.h"
#include "busbar/cli/train_beside.h"
#include "busbar/cli/train_compression.h"
#include "busbar/cli/train_lists.h"
#include "busbar/cli/train_measured.h"
#include "busbar/cli/train_report.h"
#include "busbar/cli/train_scale.h"
#include "busbar/cli/train_traced.h"
#include "busbar/plan/default_plan.h"
#include "busbar/predict/packet_words.h"
#include "busbar/questions/step_request.h"
#include "busbar/report/plain.h"
#include "busbar/step/machine.h"
#include "busbar/trace/perfetto.h"

namespace busbar {
namespace {

struct TrainFlags {
  CommonOptions common;
  std::string scenario, trace, scale, scaling = "both", batches, measured;
  double usd_per_gpu_hour = 0, patience_s = 1800;
  std::optional<std::int64_t> threads;
  bool brief = false;
  std::string transport, balance;
  std::vector<std::string> besides;
  PredictOptions predict;
  StepSettings settings;
  CheckpointAsk checkpoint;
  bool compressions = false;
  std::uint32_t checkpoint_every = kNone32;  // steps; kNone32: none
  std::uint32_t gpus = 0;
  ScenarioFlags flags;
  PlanLists lists;
};

Result<int> run_sizes(const TrainFlags& o, const std::vector<TrainVariant>& variants, const TrainAsk& ask) {
  BUSBAR_ASSIGN(ScaleAsk scale, parse_scale(o.scale, o.scaling));
  scale.usd_per_gpu_hour = o.usd_per_gpu_hour;
  LongRun watch("sizes");
  std::vector<ScaleRun> runs;
  for (const TrainVariant& v : variants) {
    TrainAsk mine = ask;
    mine.fold = v.fold;
    Result<ScaleRun> run = run_scale(v.scenario, mine, scale, watch);
    if (!run.ok()) return v.change.empty() ? run.error() : with_change(run.error(), v.change);
    run->change = v.change;
    scale.base_gpus = run->base_gpus;  // so that all machines of one size have one batch
    if (!run->points.empty()) runs.push_back(std::move(*run));
    if (watch.interrupted()) break;
  }
  watch.report_interruption();
  if (runs.empty()) return watch.status();
  Json j = scale_json(runs.front());
  for (std::size_t i = 1; i < runs.size(); ++i) {  // all points in one list, as --csv needs them
    Json other = scale_json(runs[i]);
    for (const Json& p : other["points"].values()) j["points"].push_back(p);
    other.erase("schema");
    other.erase("points");
    j["beside"].push_back(std::move(other));
  }
  j["engine"] = o.common.engine;
  j["complete"] = !watch.interrupted();
  return deliver(o.common, j, scale_document(runs, o.common.typed), watch.status());
}

Result<int> run_over_batches(const TrainFlags& o, const std::vector<TrainVariant>& variants, const TrainAsk& ask) {
  BUSBAR_ASSIGN(const BatchAsk batches, parse_batches(o.batches));
  BUSBAR_ASSIGN(const YamlDocument said, Catalog(o.common.overrides.catalog).load("claims", "training"));
  BUSBAR_ASSIGN(const Claims claims, read_claims(said));
  LongRun watch("machines");
  BUSBAR_ASSIGN(const BatchesRun run, run_batches(variants, ask, batches, claims, watch));
  watch.report_interruption();
  if (run.machines.empty()) return watch.status();
  Json j = batches_json(run);
  j["engine"] = o.common.engine;
  j["complete"] = !watch.interrupted();
  return deliver(o.common, j, batches_document(run, o.common.typed), watch.status());
}

/// Refuses what concerns one step.
Status only_lists(const TrainFlags& o) {
  const std::pair<const char*, bool> others[] = {{"--beside", !o.besides.empty()},    {"--scale", !o.scale.empty()},
                                                 {"--batches", !o.batches.empty()},   {"--trace", !o.trace.empty()},
                                                 {"--measured", !o.measured.empty()}, {"--explain", o.common.explain}};
  for (const auto& [flag, given] : others)
    if (given) return flag_error(flag, "excludes lists of degrees; give one layout, such as --tp 8");
  return {};
}

/// Every combination of the lists in one table.
Result<int> run_combinations(const TrainFlags& o, Scenario scenario, const TrainAsk& ask) {
  BUSBAR_ASSIGN(const ListsRun run, run_lists(std::move(scenario), o.lists, ask, o.common.typed));
  Json j = lists_json(run, o.common);
  return deliver(o.common, j, lists_document(run, o.common.typed), run.status);
}

constexpr std::uint32_t kQuickGpus = 4096;  // above this, the page has relief and sizes only with --explain

std::uint32_t gpus_of(const Scenario& scenario) {
  const Result<Cluster> own = load_machine(scenario.cluster, scenario.cluster_overrides);
  return own.ok() ? static_cast<std::uint32_t>(own->topology.gpus().size()) : 0;
}

/// Weak scaling from one replica to twice the machine; nothing for machines with a fixed size.
std::optional<ScaleRun> sizes_for_page(const Scenario& scenario, const TrainAsk& ask, std::uint32_t gpus) {
  const Result<LayoutSpec> layout = resolve_layout(scenario.layout, scenario.model, gpus);
  if (!layout.ok()) return std::nullopt;
  ScaleAsk scale;
  scale.from = layout->ranks() / layout->dp;
  scale.to = 2 * gpus;
  scale.strong = false;
  LongRun watch("sizes");
  Result<ScaleRun> run = run_scale(scenario, ask, scale, watch);
  if (!run.ok() || watch.interrupted()) return std::nullopt;
  return std::move(*run);
}

/// What --measured gave: a time, or the file of a trace.
struct Measured {
  Gap gap;
  std::optional<TracedStepGap> traced;
};

Result<Measured> read_measured(const std::string& text, const TrainRun& run) {
  Measured out;
  Duration time;
  std::error_code unknown;
  if (const Result<Duration> d = parse_duration(text); d.ok() && *d > Duration()) {
    time = *d;
  } else if (!std::filesystem::is_regular_file(text, unknown)) {
    return flag_error(
        "--measured",
        fmt::format("'{}' is not the time of a step or the file of a trace; write for example 21s, 950ms or "
                    "rank0.json.gz",
                    text));
  } else {
    BUSBAR_ASSIGN(out.traced, read_traced(run, text));
    time = duration_from_ps(out.traced->measured_s() * 1e12);
  }
  LongRun causes("causes");
  BUSBAR_ASSIGN(out.gap, explain_gap(run, time, causes));
  causes.report_interruption();
  return out;
}

void add_measured(const Measured& m, Document& d) {
  std::vector<DocumentBlock> blocks{{gap_verdict(m.gap, m.traced.has_value()), Audience::kBoth}};
  if (m.traced) {
    blocks.push_back({traced_verdict(*m.traced), Audience::kBoth});
    for (Table& t : traced_tables(*m.traced)) blocks.push_back({std::move(t), Audience::kBoth});
  }
  if (!m.gap.causes.empty()) blocks.push_back({gap_table(m.gap), Audience::kBoth});
  d.blocks.insert(d.blocks.begin(), blocks.begin(), blocks.end());
}

/// Levers, where the steps for them are asked for, and for a document the published runs like this one.
Result<TrainExtras> extras_of(const TrainRun& run, const TrainAsk& ask, bool levers, bool document) {
  TrainExtras out;
  if (run.does_not_fit) {
    BUSBAR_ASSIGN(out.fits, changes_that_fit(run, ask));
  } else if (levers && run.engine != "packet") {
    LongRun watch("changes");
    BUSBAR_ASSIGN(out.levers, find_levers(run, watch));
  }
  if (!document) return out;
  BUSBAR_ASSIGN(const std::vector<PublishedRun> published,
                load_published_runs(Catalog(run.scenario.cluster_overrides.catalog)));
  out.like = runs_like(published, run, 5);
  return out;
}

/// One step, and its variants in columns.
Result<int> run_step(const TrainFlags& o, std::vector<TrainVariant> variants, TrainAsk ask) {
  const bool page = !o.common.html.empty();
  Scenario scenario = std::move(variants.front().scenario);
  variants.erase(variants.begin());
  const std::uint32_t gpus = o.gpus > 0 ? o.gpus : page ? gpus_of(scenario) : 0;
  const bool whole = o.common.explain || (page && gpus <= kQuickGpus);
  ask.relief = whole;
  const bool document = !o.common.for_programs() || page;
  ask.timeline = page || !o.trace.empty();
  const bool open =
      o.scenario.empty() && o.flags.layout.empty() && variants.empty() && !names_a_layout(scenario.layout);
  BUSBAR_ASSIGN(const TrainRun run, run_named_step(std::move(scenario), ask, open));
  const std::optional<ScaleRun> sizes = page && whole ? sizes_for_page(run.scenario, ask, gpus) : std::nullopt;
  BUSBAR_ASSIGN(TrainExtras extras, extras_of(run, ask, whole, document));
  extras.sizes = sizes ? &*sizes : nullptr;
  LongRun watch("columns");
  const std::size_t columns = 1 + variants.size();
  std::vector<BesideRun>& besides = extras.besides;
  for (TrainVariant& v : variants) {
    if (!watch.go_on(1 + besides.size(), columns)) break;
    Result<BesideRun> beside = run_beside(std::move(v), ask);
    if (!beside.ok() && watch.interrupted()) break;
    if (!beside.ok()) return beside.error();
    besides.push_back(std::move(*beside));
  }
  watch.go_on(1 + besides.size(), columns);
  watch.report_interruption();
  if (!o.trace.empty()) BUSBAR_RETURN_IF_ERROR(write_perfetto(run.step.timeline, o.trace));
  std::optional<CompressionTable> compressed;
  if (o.compressions) {
    LongRun rates("rates");
    BUSBAR_ASSIGN(compressed, compare_compressions(run, rates));
    rates.report_interruption();
  }
  std::optional<CheckpointRun> saved;
  if (o.checkpoint_every != kNone32) {
    Result<CheckpointRun> found = run_checkpoint(run, o.checkpoint);
    if (!found.ok()) return as_flag(found.error());
    saved = std::move(*found);
  }
  std::optional<Measured> measured;
  if (!o.measured.empty()) {
    BUSBAR_ASSIGN(measured, read_measured(o.measured, run));
  }
  Json j = train_json(run, o.common);
  if (!extras.levers.empty()) j["levers"] = levers_json(run, extras.levers);
  if (run.does_not_fit) j["would_fit"] = fit_changes_json(extras.fits);
  if (compressed) j["compressions"] = compression_json(*compressed);
  if (saved) j["checkpoint"] = checkpoint_json(*saved, o.checkpoint_every, step_spread(run).expected_s);
  if (measured) j["measured"] = gap_json(measured->gap);
  if (measured && measured->traced) j["measured"]["trace"] = traced_json(*measured->traced);
  if (!besides.empty()) j["beside"] = beside_json(besides, o.common);
  if (columns > 1) j["complete"] = 1 + besides.size() == columns;
  if (run.engine == "packet") {
    j["run"] = o.common.clock.to_json();
    j["run"]["threads"] = run.packet_threads;
  }
  Document d = document ? train_document(run, o.common.typed, extras) : Document{};
  if (compressed && document) d.add(compression_table(*compressed));
  if (saved && document) d.add(checkpoint_facts(*saved, o.checkpoint_every, step_spread(run).expected_s));
  if (measured && document) add_measured(*measured, d);
  if (o.common.explain) explain_shortcuts(run.machine->policy().shortcuts, j, d);
  BUSBAR_ASSIGN(const int status, deliver(o.common, j, d, watch.status(run.does_not_fit ? 1 : 0)));
  if (run.does_not_fit && o.common.for_programs()) report_error(*run.does_not_fit);
  if (o.trace.empty() || o.common.for_programs()) return status;
  return print_out(fmt::format("trace: {} (open it in ui.perfetto.dev)\n", escape_terminal(o.trace, true)), status);
}

Result<int> run(TrainFlags o) {
  questions::sort_scenario_words(o.scenario, o.flags);
  if (o.checkpoint_every == 0) return flag_error("--checkpoint-every", "0 is no interval; use 1 step or more");
  BUSBAR_ASSIGN(std::vector<TrainVariant> variants,
                read_variants({o.scenario, o.flags,
                               o.common.engine == "packet" ? without_packets(o.common.overrides) : o.common.overrides},
                              o.besides));
  for (TrainVariant& v : variants)
    BUSBAR_RETURN_IF_ERROR(take_servers(o.gpus, v.scenario.cluster, v.scenario.cluster_overrides));
  TrainAsk ask;
  join_command(ask);
  ask.gpus = o.gpus;
  ask.packet_settings = o.common.overrides;
  ask.engine = o.common.engine;
  ask.transport = o.transport;
  ask.balance = o.balance;
  ask.patience_s = o.patience_s;
  BUSBAR_ASSIGN(ask.packet_threads, packet_threads(o.threads));
  ask.predict = o.predict;
  ask.settings = o.settings;
  ask.scaling = !o.brief;
  if (names_a_list(o.lists)) {
    BUSBAR_RETURN_IF_ERROR(only_lists(o));
    return run_combinations(o, std::move(variants.front().scenario), ask);
  }
  if (!o.scale.empty() && !o.batches.empty()) return flag_error("--batches", "excludes --scale; use one of them");
  if (!o.batches.empty()) return run_over_batches(o, variants, ask);
  if (!o.scale.empty()) return run_sizes(o, variants, ask);
  return run_step(o, std::move(variants), ask);
}

}  // namespace

Command train_command(const std::string& typed) {
  const auto o = std::make_shared<TrainFlags>();
  Command c = new_command(o->common, typed, "train",
                          "one training step: time, breakdown, memory, money, and the link that limits it");
  c.examples =
      "  busbar train examples/llama3-70b-512xh100.yaml\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --html step.html --trace step.perfetto-trace\n"
      "  busbar train dgx-h100:8 llama3-70b --global-batch 256\n"
      "  busbar train --cluster dgx-h100:16 --model llama3-8b --tp 2 --global-batch 256 --json\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --degrade 'node3.nic*=0.5' --explain\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --beside cluster=dgx-b200:64 --beside layout.zero=3\n"
      "  busbar train dgx-h100:8 llama3-70b --global-batch 256 --tp 2,4,8 --pp 1,2 --zero 1..3\n"
      "  busbar train examples/llama3-8b-64xcards-100g.yaml --batches 64..4096 --beside cluster=dgx-h100:8\n"
      "  busbar train dgx-h100:8 llama3-70b --tp 8 --global-batch 256 --measured rank0.json.gz\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --scale 8..16384 --usd-per-gpu-hour 3\n";
  c.positionals = scenario_words(o->scenario, o->flags);
  c.flags = scenario_flags(o->flags);
  take_lists(o->lists, c.flags);
  c.flags.push_back(without({"--scale", "--batches", "--jobs"}, gpus_flag(o->gpus)));
  c.add({
      {"--beside", "CHANGES",
       "also run the step with these changes, in another column: 'cluster.routing=static unfolded', "
       "'cluster=dgx-b200:64 layout.tp=4'",
       "Scenario", &o->besides},
      without({"--scale", "--batches"},
              {"--measured", "TIME|TRACE",
               "a measured step, such as 21s, or a trace of it (Kineto or Chakra, also .gz): where the difference is",
               "Scenario", &o->measured}),
      without({"--scale", "--batches"}, {"--compressions", "",
                                         "also the step with gradients in bf16, 8, 4 and 1 bits, top-k and PowerSGD, "
                                         "and the network rate up to which each pays",
                                         "Communication", &o->compressions}),
      {"--algorithm", "PURPOSE=NAME",
       "algorithm of the calls of tp, dp, cp or ep that it can run, e.g. dp=tree, dp=sharp, tp=nvls (default auto)",
       "Communication", &o->settings.algorithms},
      without({"--scale", "--batches"},
              {"--jobs", "N", "N equal jobs at the same time, each on its share of the nodes (default 1)",
               "Communication", &o->settings.jobs}),
      with("--jobs", {"--placement", "HOW", "nodes of the jobs: packed (default), interleaved, random or random:SEED",
                      "Communication", &o->settings.placement}),
      {"--jitter", "SELECTOR=P%xDELAY",
       "links that delay P % of their messages, e.g. node3.nic2=1%x50us: changes the spread of steps", "Communication",
       &o->settings.jitter},
      {"--stragglers", "P%xFACTOR",
       "each GPU takes FACTOR times as long in P % of the steps, e.g. 0.01%x1.3: changes the spread of steps",
       "Communication", &o->settings.stragglers},
      {"--scale", "FROM..TO", "run the same layout on machines of FROM to TO GPUs, doubling: 8..131072", "Scaling",
       &o->scale},
      with("--scale", {"--scaling", "KIND", "weak (the batch grows), strong (the batch stays) or both (default)",
                       "Scaling", &o->scaling, one_of("weak", "strong", "both")}),
      {"--batches", "FROM..TO",
       "run the same step with batches of FROM to TO sequences, and check published claims: 64..4096", "Scaling",
       &o->batches},
      with("--scale", {"--usd-per-gpu-hour", "USD", "price (default: the machine's)", "Scaling", &o->usd_per_gpu_hour}),
      without(
          {"--beside", "--scale", "--batches"},
          {"--brief", "", "leave out the comparison with one replica, which takes another step", "Scaling", &o->brief}),
      without({"--scale", "--batches"}, {"--trace", "FILE", "also write a Perfetto trace", "Output", &o->trace}),
      without({"--scale", "--batches"},
              {"--checkpoint-every", "STEPS",
               "also what a checkpoint every STEPS steps costs, over the servers' links and the storage", "Checkpoints",
               &o->checkpoint_every}),
  });
  for (Flag& f : checkpoint_flags(o->checkpoint, "Checkpoints")) {
    f.needs = "--checkpoint-every";
    c.flags.push_back(std::move(f));
  }
  c.add(packet_run_flags(o->transport, o->balance, o->patience_s));
  c.flags.push_back(packet_threads_flag(o->threads));
  c.add(predict_flags(o->predict, "as the framework: process, or graph with layout.cuda_graphs"));
  add_common_flags(c, o->common, Engines::kAll);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
