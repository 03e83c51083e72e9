#include "busbar/questions/train_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/plan/default_plan.h"
#include "busbar/predict/packet_words.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/predict_request.h"
#include "busbar/questions/question.h"
#include "busbar/questions/row_command.h"
#include "busbar/questions/step_ask.h"
#include "busbar/questions/step_request.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/claims_file.h"
#include "busbar/step/machine.h"
#include "busbar/trace/perfetto.h"

namespace busbar::step {

const Record& record_of(const StepSettings*) {
  using S = StepSettings;
  static const Record record(
      "settings",
      {Field("algorithm", &S::algorithms, "",
             "algorithm of the calls of tp, dp, cp or ep that it can run, e.g. dp=tree, dp=sharp, tp=nvls (default "
             "auto)")
           .takes("PURPOSE=NAME")
           .of("Communication"),
       Field("jobs", &S::jobs, "", "N equal jobs at the same time, each on its share of the nodes (default 1)")
           .takes("N")
           .of("Communication"),
       Field("placement", &S::placement, "", "nodes of the jobs: packed (default), interleaved, random or random:SEED")
           .takes("HOW")
           .of("Communication")
           .with("jobs"),
       Field("jitter", &S::jitter, "",
             "links that delay P % of their messages, e.g. node3.nic2=1%x50us: changes the spread of steps")
           .takes("SELECTOR=P%xDELAY")
           .of("Communication"),
       Field("stragglers", &S::stragglers, "",
             "each GPU takes FACTOR times as long in P % of the steps, e.g. 0.01%x1.3: changes the spread of steps")
           .takes("P%xFACTOR")
           .of("Communication")});
  return record;
}

}  // namespace busbar::step

namespace busbar::questions {

namespace {

/// The lists stand behind the fields whose flags also take one.
std::vector<Field> scenario_fields_with_lists() {
  using Lists = plan::PlanLists;
  const std::pair<const char*, std::string Lists::*> lists[] = {{"tp", &Lists::tp},
                                                                {"pp", &Lists::pp},
                                                                {"vpp", &Lists::vpp},
                                                                {"dp", &Lists::dp},
                                                                {"cp", &Lists::cp},
                                                                {"ep", &Lists::ep},
                                                                {"micro_batch", &Lists::micro_batch},
                                                                {"zero", &Lists::zero},
                                                                {"recompute", &Lists::recompute}};
  static const TrainRequest prototype{};
  const std::size_t offset = static_cast<std::size_t>(reinterpret_cast<const char*>(&prototype.lists) -
                                                      reinterpret_cast<const char*>(&prototype));
  std::vector<Field> out;
  for (Field& f : fields_inside(&TrainRequest::flags)) {
    const auto list =
        std::find_if(std::begin(lists), std::end(lists), [&](const auto& l) { return f.name == l.first; });
    if (list == std::end(lists)) {
      out.push_back(std::move(f));
      continue;
    }
    f.meaning += "; or a list";
    Field values = Field(list->first, list->second, "", "").listing(list->first);
    values.name += "_list";
    values.meaning = "values of " + f.name + " to try, 2,4,8 or 1..4: every combination of the lists";
    values.offset += offset;
    out.push_back(std::move(f));
    out.push_back(std::move(values));
  }
  return out;
}

/// `fields`, without effect where sizes or batches are asked for.
std::vector<Field> of_one_step(std::vector<Field> fields, const std::vector<std::string>& names) {
  for (Field& f : fields)
    if (std::find(names.begin(), names.end(), f.name) != names.end()) f.useless_with = {"scale", "batches"};
  return fields;
}

std::vector<Field> checkpoint_fields() {
  std::vector<Field> out = fields_inside(&TrainRequest::checkpoint);
  for (Field& f : out) f.needs = "checkpoint_every";
  return out;
}

}  // namespace

const Record& record_of(const TrainRequest*) {
  using T = TrainRequest;
  static const Record record(
      "train request",
      joined(
          {{scenario_field(&T::scenario)},
           scenario_fields_with_lists(),
           {from_field(&T::from), gpus_field(&T::gpus).without({"scale", "batches", "jobs"}),
            Field("beside", &T::beside, "",
                  "also run the step with these changes, in another column: 'cluster.routing=static unfolded', "
                  "'cluster=dgx-b200:64 layout.tp=4'")
                .takes("CHANGES")
                .of("Scenario"),
            Field(
                "measured", &T::measured, "",
                "a measured step, such as 21s, or a trace of it (Kineto or Chakra, also .gz): where the difference is")
                .takes("TIME|TRACE")
                .of("Scenario")
                .without({"scale", "batches"}),
            Field("compressions", &T::compressions, "",
                  "also the step with gradients in bf16, 8, 4 and 1 bits, top-k and PowerSGD, and the network rate up "
                  "to which each pays")
                .of("Communication")
                .without({"scale", "batches"})},
           of_one_step(fields_inside(&T::settings), {"jobs"}),
           {Field("scale", &T::scale, "", "run the same layout on machines of FROM to TO GPUs, doubling: 8..131072")
                .takes("FROM..TO")
                .of("Scaling"),
            Field("scaling", &T::scaling, "", "weak (the batch grows), strong (the batch stays) or both (default)")
                .takes("KIND")
                .of("Scaling")
                .among({"weak", "strong", "both"})
                .with("scale"),
            Field("batches", &T::batches, "",
                  "run the same step with batches of FROM to TO sequences, and check published claims: 64..4096")
                .takes("FROM..TO")
                .of("Scaling"),
            Field("usd_per_gpu_hour", &T::usd_per_gpu_hour, "USD", "price (default: the machine's)")
                .takes("USD")
                .of("Scaling")
                .with("scale"),
            Field("brief", &T::brief, "", "leave out the comparison with one replica, which takes another step")
                .of("Scaling")
                .without({"beside", "scale", "batches"}),
            Field("trace", &T::trace, "", "also write a Perfetto trace")
                .takes("FILE")
                .of("Output")
                .without({"scale", "batches"})
                .undecided(),
            Field("page", &T::page, "", "also what only a page shows: gain of changes, sizes, the timeline")
                .of("Output")
                .filled_in(Field::Told::kPage)
                .undecided(),
            Field("typed", &T::typed, "", "the command line, for the commands of rows")
                .of("Output")
                .filled_in(Field::Told::kLine)
                .undecided(),
            Field("checkpoint_every", &T::checkpoint_every, "",
                  "also what a checkpoint every STEPS steps costs, over the servers' links and the storage")
                .takes("STEPS")
                .of("Checkpoints")
                .without({"scale", "batches"})},
           checkpoint_fields(),
           fields_inside(&T::packets),
           {threads_field(&T::threads)},
           predict_fields(&T::predict, kLaunchOfFrameworks),
           {engine_field(&T::engine, Engines::kAll)},
           fields_inside(&T::machine),
           {explain_field(&T::explain)}}));
  return record;
}

const Record& record_of(const BesideAnswer*) {
  static const Record record("variant",
                             joined({{{"change", &BesideAnswer::change, "", "as asked"},
                                      {"folded", &BesideAnswer::folded, "", "equal parts of a call are solved once"}},
                                     fields_inside(&BesideAnswer::step)}));
  return record;
}

const Record& record_of(const TrainStep*) {
  using T = TrainStep;
  static const Record record(
      "step", joined({fields_inside(&T::step),
                      {{"gpu_hour", &T::gpu_hour, "", "rented and bought"},
                       Field("from", &T::from, "", "the job's file, where one was read").or_absent(),
                       Field("if_free", &T::if_free, "", "the step with one part of it free").or_absent(),
                       Field("levers", &T::levers, "", "changes that make it shorter").or_absent(),
                       Field("would_fit", &T::would_fit, "", "changes with which it fits").or_absent(),
                       Field("compressions", &T::compressions, "", "of gradients").or_absent(),
                       Field("checkpoint", &T::checkpoint, "", "every so many steps").or_absent(),
                       Field("measured", &T::measured, "", "a measured step against it").or_absent(),
                       Field("beside", &T::beside, "", "its variants").or_absent(),
                       Field("complete", &T::complete, "", "false: interrupted; of a step with variants").or_absent(),
                       Field("shortcuts", &T::shortcuts, "", "of the engines, that were taken").or_absent()}}));
  return record;
}

namespace {

/// The time or the file that `measured` gives, and where the difference is.
Status read_measured(const std::string& text, const step::TrainRun& run, const Context& context, TrainStep& out) {
  Duration time;
  std::error_code unknown;
  if (const Result<Duration> d = parse_duration(text); d.ok() && *d > Duration()) {
    time = *d;
  } else if (!std::filesystem::is_regular_file(text, unknown)) {
    return invalid(fmt::format("'{}' is not the time of a step or the file of a trace; write for example 21s, 950ms or "
                               "rank0.json.gz",
                               text),
                   field_of("measured"));
  } else {
    BUSBAR_ASSIGN(out.traced, step::read_traced(run, text));
    time = duration_from_ps(out.traced->measured_s() * 1e12);
  }
  out.measured.emplace();
  BUSBAR_ASSIGN(out.measured->gap, step::explain_gap(run, time, context));
  if (out.traced) out.measured->trace = traced_result(*out.traced);
  return {};
}

/// A request for steps, read as far as all its answers need.
struct StepsAsked {
  const TrainRequest& q;
  TrainRequest sorted;  ///< its words where they belong
  std::optional<JobFile> job;
  std::vector<step::TrainVariant> variants;
  step::TrainAsk ask;
  const Context& context;
  std::string hash(const step::TrainRun& r) const {
    return inputs_hash("train", q, r.kernels.text + r.scenario.text + r.cluster().text);
  }
};

step::TrainAsk ask_of(const TrainRequest& q, std::uint32_t threads, const Context& context) {
  step::TrainAsk ask = step_ask(context);
  ask.gpus = q.gpus;
  ask.packet_settings = q.machine;
  ask.engine = q.engine;
  ask.transport = q.packets.transport;
  ask.balance = q.packets.lb;
  ask.patience_s = q.packets.patience;
  ask.packet_threads = threads;
  ask.predict = q.predict;
  ask.settings = q.settings;
  ask.scaling = !q.brief;
  return ask;
}

/// Puts the keys of the job's file before those of --set.
Status read_job(StepsAsked& a) {
  spec::ScenarioFlags& flags = a.sorted.flags;
  BUSBAR_ASSIGN(a.job,
                take_job({a.q.from, !a.sorted.scenario.empty(), flags.cluster, a.q.gpus}, flags, a.sorted.machine));
  if (a.q.gpus == 0 && a.q.scale.empty() && a.q.batches.empty()) a.sorted.gpus = a.job->gpus;
  return {};
}

Result<StepsAsked> read_asked(const TrainRequest& q, const Context& context, std::optional<JobFile>& job) {
  StepsAsked a{q, q, {}, {}, {}, context};
  sort_scenario_words(a.sorted.scenario, a.sorted.flags);
  if (!q.from.empty()) {
    BUSBAR_RETURN_IF_ERROR(read_job(a));
    job = a.job;
  }
  if (q.checkpoint_every == 0) return invalid("0 is no interval; use 1 step or more", field_of("checkpoint_every"));
  BUSBAR_ASSIGN(a.variants, step::read_variants(
                                {a.sorted.scenario, a.sorted.flags,
                                 q.engine == "packet" ? predict::without_packets(a.sorted.machine) : a.sorted.machine},
                                q.beside));
  for (step::TrainVariant& v : a.variants)
    BUSBAR_RETURN_IF_ERROR(step::take_servers(a.sorted.gpus, v.scenario.cluster, v.scenario.cluster_overrides));
  BUSBAR_ASSIGN(const std::uint32_t threads, threads_of(q.threads));
  a.ask = ask_of(q, threads, context);
  a.ask.gpus = a.sorted.gpus;
  return a;
}

Error step_interrupted() { return invalid("interrupted before there was a result"); }

Result<TrainResult> over_sizes(const StepsAsked& a) {
  BUSBAR_ASSIGN(step::ScaleAsk scale, step::parse_scale(a.q.scale, a.q.scaling));
  scale.usd_per_gpu_hour = a.q.usd_per_gpu_hour;
  std::vector<step::ScaleRun> runs;
  for (const step::TrainVariant& v : a.variants) {
    step::TrainAsk mine = a.ask;
    mine.fold = v.fold;
    Result<step::ScaleRun> run = step::run_scale(v.scenario, mine, scale, a.context);
    if (!run.ok()) return v.change.empty() ? run.error() : step::with_change(run.error(), v.change);
    run->change = v.change;
    scale.base_gpus = run->base_gpus;  // so that all machines of one size have one batch
    if (!run->points.empty()) runs.push_back(std::move(*run));
    if (a.context.stopped()) break;
  }
  if (runs.empty()) return step_interrupted();
  return TrainResult(scale_answer(std::move(runs), a.q.engine, !a.context.stopped()));
}

Result<TrainResult> over_batches(const StepsAsked& a) {
  BUSBAR_ASSIGN(const step::BatchAsk batches, step::parse_batches(a.q.batches));
  BUSBAR_ASSIGN(const YamlDocument said, spec::Catalog(a.q.machine.catalog).load("claims", "training"));
  BUSBAR_ASSIGN(const spec::Claims claims, spec::read_claims(said));
  BUSBAR_ASSIGN(step::BatchesRun run, step::run_batches(a.variants, a.ask, batches, claims, a.context));
  if (run.machines.empty()) return step_interrupted();
  return TrainResult(batches_answer(std::move(run), a.q.engine, !a.context.stopped()));
}

/// Refuses what concerns one step.
Status only_lists(const TrainRequest& q) {
  const std::pair<const char*, bool> others[] = {{"beside", !q.beside.empty()},     {"scale", !q.scale.empty()},
                                                 {"batches", !q.batches.empty()},   {"trace", !q.trace.empty()},
                                                 {"measured", !q.measured.empty()}, {"explain", q.explain}};
  for (const auto& [name, given] : others)
    if (given) return invalid("excludes lists of degrees; give one layout, such as --tp 8", field_of(name));
  return {};
}

Result<TrainResult> over_lists(const StepsAsked& a) {
  BUSBAR_RETURN_IF_ERROR(only_lists(a.q));
  BUSBAR_ASSIGN(plan::ListsRun run, plan::run_lists(a.variants.front().scenario, a.q.lists, a.ask, a.context));
  const std::string hash = a.hash(run.machine);
  return TrainResult(lists_answer(std::move(run), hash, [&](const plan::ListedLayout& row) {
    return row_command(a.q.typed, record_of(&a.q), &a.q, row);
  }));
}

constexpr std::uint32_t kQuickGpus = 4096;  // above this, a page has relief and sizes only where they are asked for

std::uint32_t gpus_of_machine(const spec::Scenario& scenario) {
  const Result<spec::Cluster> own = step::load_machine(scenario.cluster, scenario.cluster_overrides);
  return own.ok() ? static_cast<std::uint32_t>(own->topology.gpus().size()) : 0;
}

/// Weak scaling from one replica to twice the machine; nothing for machines with a fixed size.
std::optional<step::ScaleRun> sizes_for_page(const spec::Scenario& scenario, const StepsAsked& a, std::uint32_t gpus) {
  const Result<workload::LayoutSpec> layout = workload::resolve_layout(scenario.layout, scenario.model, gpus);
  if (!layout.ok()) return std::nullopt;
  step::ScaleAsk scale;
  scale.from = layout->ranks() / layout->dp;
  scale.to = 2 * gpus;
  scale.strong = false;
  Result<step::ScaleRun> run = step::run_scale(scenario, a.ask, scale, a.context);
  if (!run.ok() || a.context.stopped()) return std::nullopt;
  return std::move(*run);
}

Result<step::TrainRun> run_first(const StepsAsked& a, const step::TrainAsk& ask) {
  const spec::Scenario& scenario = a.variants.front().scenario;
  const bool open = a.sorted.scenario.empty() && a.sorted.flags.layout.empty() && a.variants.size() == 1 &&
                    !plan::names_a_layout(scenario.layout);
  return named_step(scenario, ask, open, a.context);
}

/// Levers, where the steps for them are asked for, and the published runs like this one.
Status add_neighbours(const StepsAsked& a, const step::TrainRun& run, bool levers, TrainStep& out) {
  if (run.does_not_fit) {
    BUSBAR_ASSIGN(out.fit_changes, plan::changes_that_fit(run, a.ask));
    out.would_fit = fit_results(out.fit_changes);
    out.refused = *run.does_not_fit;
    out.exit_status = 1;
  } else if (levers && run.engine != "packet") {
    BUSBAR_ASSIGN(out.if_free, step::find_free_parts(run, a.context));
    BUSBAR_ASSIGN(out.levers, step::find_levers(run, a.context));
  }
  BUSBAR_ASSIGN(const std::vector<step::PublishedRun> published,
                step::load_published_runs(spec::Catalog(run.scenario.cluster_overrides.catalog)));
  out.like = step::runs_like(published, run, 5);
  return {};
}

Status add_columns(const StepsAsked& a, const step::TrainAsk& ask, TrainStep& out) {
  const std::size_t columns = a.variants.size();
  for (std::size_t i = 1; i < columns; ++i) {
    if (!a.context.go_on("columns", i, columns)) break;
    Result<step::BesideRun> beside = step::run_beside(a.variants[i], ask);
    if (!beside.ok() && a.context.stopped()) break;
    if (!beside.ok()) return beside.error();
    out.beside.push_back({beside->variant.change, beside->variant.fold, step_answer(beside->run, a.hash(beside->run))});
    out.besides.push_back(std::move(*beside));
  }
  a.context.go_on("columns", 1 + out.besides.size(), columns);
  if (columns > 1) out.complete = 1 + out.besides.size() == columns;
  return {};
}

/// What was asked for besides the step.
Status add_asked(const StepsAsked& a, const step::TrainRun& run, TrainStep& out) {
  if (!a.q.trace.empty()) {
    out.files.push_back({a.q.trace, trace::perfetto_bytes(run.step.timeline)});
    out.last_words = fmt::format("trace: {} (open it in ui.perfetto.dev)", a.q.trace);
  }
  if (a.q.compressions) {
    BUSBAR_ASSIGN(out.compressions, step::compare_compressions(run, a.context));
  }
  if (a.q.checkpoint_every != kNone32) {
    BUSBAR_ASSIGN(out.saved, survive::run_checkpoint(run, a.q.checkpoint));
    out.checkpoint = checkpoint_result(*out.saved, a.q.checkpoint_every, out.step.step_time_s);
  }
  if (!a.q.measured.empty()) BUSBAR_RETURN_IF_ERROR(read_measured(a.q.measured, run, a.context, out));
  return {};
}

/// One step, and its variants.
Result<TrainResult> one_step(const StepsAsked& a) {
  const spec::Scenario& scenario = a.variants.front().scenario;
  const std::uint32_t gpus = a.sorted.gpus > 0 ? a.sorted.gpus : a.q.page ? gpus_of_machine(scenario) : 0;
  const bool whole = a.q.explain || (a.q.page && gpus <= kQuickGpus);
  step::TrainAsk ask = a.ask;
  ask.relief = whole;
  ask.timeline = a.q.page || !a.q.trace.empty();
  TrainStep out;
  BUSBAR_ASSIGN(step::TrainRun first, run_first(a, ask));
  out.run = std::make_shared<const step::TrainRun>(std::move(first));
  const step::TrainRun& run = *out.run;
  out.step = step_answer(run, a.hash(run));
  out.gpu_hour = gpu_hour(run.cluster(), run.scenario.cluster_overrides.catalog);
  out.from = a.job;
  out.changes_left_out = a.q.page && !whole && !run.does_not_fit && run.engine != "packet";
  if (a.q.page && whole) out.sizes = sizes_for_page(run.scenario, a, gpus);
  BUSBAR_RETURN_IF_ERROR(add_neighbours(a, run, whole, out));
  BUSBAR_RETURN_IF_ERROR(add_columns(a, ask, out));
  BUSBAR_RETURN_IF_ERROR(add_asked(a, run, out));
  out.step.inputs_hash = a.hash(run);  // again, now that the files of what was asked for besides are read
  if (run.engine == "packet") out.of_run = Json{{"threads", run.packet_threads}};
  if (a.q.explain) out.shortcuts = run.machine->policy().shortcuts.names_taken();
  return TrainResult(std::move(out));
}

Result<TrainResult> answer_asked(const StepsAsked& a) {
  const TrainRequest& q = a.q;
  if (plan::names_a_list(q.lists)) return over_lists(a);
  if (!q.scale.empty() && !q.batches.empty()) return invalid("excludes --scale; use one of them", field_of("batches"));
  if (!q.batches.empty()) return over_batches(a);
  if (!q.scale.empty()) return over_sizes(a);
  return one_step(a);
}

}  // namespace

Result<TrainResult> answer(const TrainRequest& q, const Context& context) {
  std::optional<JobFile> job;
  Result<StepsAsked> a = read_asked(q, context, job);
  if (!a.ok()) return job ? at_job(a.error(), *job) : a.error();
  Result<TrainResult> out = answer_asked(*a);
  return out.ok() || !job ? std::move(out) : at_job(out.error(), *job);
}

Question train_question() {
  return make_question<TrainRequest, TrainResult>(
      "train", "one training step: time, breakdown, memory, money, and the link that limits it",
      "  busbar train examples/llama3-70b-512xh100.yaml\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --html step.html --trace step.perfetto-trace\n"
      "  busbar train dgx-h100:8 llama3-70b --global-batch 256\n"
      "  busbar train --cluster dgx-h100:16 --model llama3-8b --tp 2 --global-batch 256 --json\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --degrade 'node3.nic*=0.5' --explain\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --beside cluster=dgx-b200:64 --beside layout.zero=3\n"
      "  busbar train dgx-h100:8 llama3-70b --global-batch 256 --tp 2,4,8 --pp 1,2 --zero 1..3\n"
      "  busbar train examples/llama3-8b-64xcards-100g.yaml --batches 64..4096 --beside cluster=dgx-h100:8\n"
      "  busbar train dgx-h100:8 llama3-70b --tp 8 --global-batch 256 --measured rank0.json.gz\n"
      "  busbar train examples/llama3-70b-512xh100.yaml --scale 8..16384 --usd-per-gpu-hour 3\n",
      20, 2);
}

}  // namespace busbar::questions
