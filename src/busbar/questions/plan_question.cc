#include "busbar/questions/plan_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/questions/framework_flags.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/plan_frameworks.h"
#include "busbar/questions/predict_request.h"
#include "busbar/questions/question.h"
#include "busbar/questions/request_line.h"
#include "busbar/questions/step_ask.h"
#include "busbar/questions/step_request.h"
#include "busbar/questions/step_words.h"
#include "busbar/spec/scenario.h"
#include "busbar/step/machine.h"
#include "busbar/topology/levels.h"

namespace busbar::plan {
namespace {

Field space_field(const char* name, std::string PlanLists::*list, const char* meaning) {
  return Field(name, list, "", meaning).takes("LIST").of("Space");
}

}  // namespace

const Record& record_of(const PlanLists*) {
  using P = PlanLists;
  static const Record record(
      "space",
      {space_field("tp", &P::tp, "tensor-parallel degrees to try: 1,2,4 or 1..8 (default all that divide)"),
       space_field("pp", &P::pp, "pipeline stages to try"),
       space_field("vpp", &P::vpp, "model chunks per stage to try"),
       space_field("dp", &P::dp, "data-parallel replicas to try"),
       space_field("cp", &P::cp, "context-parallel degrees to try"),
       space_field("ep", &P::ep, "expert-parallel degrees to try"),
       space_field("micro_batch", &P::micro_batch, "sequences per micro-batch to try"),
       space_field("zero", &P::zero, "ZeRO degrees to try (default 0..3)"),
       space_field("recompute", &P::recompute, "kinds to try (default none,selective,full)"),
       space_field("schedule", &P::schedule, "pipeline schedules to try (default 1f1b,gpipe,zb-h1,zb-v,dualpipe-v)"),
       space_field("order", &P::order,
                   "orders of ranks to try, innermost first, or all (default tp-cp-dp-pp, or the layout's)"),
       space_field("gpus_per_domain", &P::gpus_per_domain,
                   "GPUs of each server or rack to use, the others are spares: 64,72 (default all)")});
  return record;
}

}  // namespace busbar::plan

namespace busbar::questions {

const Record& record_of(const PlanRequest*) {
  using P = PlanRequest;
  static const Record record = [] {
    Field cluster = cluster_field(&P::cluster, false);
    Field threads =
        Field("threads", &P::threads, "", "layouts to time at the same time (default 1); changes only the run time")
            .takes("N")
            .of("Search")
            .undecided();
    return Record(
        "plan request",
        joined(
            {{std::move(cluster), model_field(&P::model), gpus_field(&P::gpus),
              Field("layout", &P::layout, "", "layout file with the keys that the search does not choose")
                  .takes("FILE")
                  .of("Scenario"),
              Field("framework", &P::framework, "", "search what this framework runs, and print its line")
                  .takes("NAME[:RELEASE]")
                  .of("Scenario"),
              Field("global_batch", &P::global_batch, "", kGlobalBatchMeaning).takes("N").of("Scenario"),
              Field("seq", &P::seq, "tokens", "sequence length (default 4096)").takes("TOKENS").of("Scenario"),
              Field("precision", &P::precision, "", "bf16 (default), fp16, fp8, fp4 or int8")
                  .takes("NAME")
                  .of("Scenario")
                  .among({"bf16", "fp16", "fp8", "fp4", "int8"}),
              Field("offload", &P::offload, "", "kept in host memory: optimizer states, activations or both")
                  .takes("WHAT")
                  .of("Scenario")
                  .among({"optimizer", "activations", "both", "none"})},
             fields_inside(&P::trained),
             fields_inside(&P::lists),
             {Field("within", &P::within, "",
                    "stop after this time with the best so far: 500ms (default: when --gap says)")
                  .takes("TIME")
                  .of("Search"),
              Field("gap", &P::gap, "%",
                    "stop when no layout is faster by more than this (default 3; 0: prove the best)")
                  .takes("PERCENT")
                  .of("Search"),
              Field("headroom", &P::headroom, "%", "memory of a GPU that stays free (default 5)")
                  .takes("PERCENT")
                  .of("Search"),
              std::move(threads),
              Field("pareto", &P::pareto, "", "also search for the fastest layouts with less memory, in steps of 5 %")
                  .of("Search"),
              Field("rows", &P::rows, "", "layouts to show (default 10)").takes("N").of("Output").undecided()},
             predict_fields(&P::predict, kLaunchOfFrameworks),
             {engine_field(&P::engine, Engines::kFluids)},
             fields_inside(&P::machine)}));
  }();
  return record;
}

const Record& record_of(const DecidedBy*) {
  using D = DecidedBy;
  static const Record record("decision", {{"term", &D::term, "", "all_gather of 64 MiB over 64 GPUs in 8 nodes"},
                                          {"best_s", &D::best_s, "s", "that the best layout waits for it"},
                                          {"this_s", &D::this_s, "s", "that this layout waits for it"},
                                          {"band_percent", &D::band_percent, "%", "half the width of its band"},
                                          {"command", &D::command, "", "that measures it"}});
  return record;
}

const Record& record_of(const PlanRow*) {
  using P = PlanRow;
  static const Record record(
      "planned layout",
      joined({fields_inside(&P::step),
              {{"lower_bound_s", &P::lower_bound_s, "s", "which its step cannot beat"},
               {"tie", &P::tie, "", "so close to the best that it may be the fastest"},
               {"lost_because", &P::lost_because, "", "the part that makes it slower than the best"},
               {"command", &P::command, "", "that gives this step"},
               {"within_memory_error", &P::within_memory_error, "", "it fits by less than the error of its memory"},
               Field("gpus_per_domain", &P::gpus_per_domain, "", "of each server or rack; the others are spares")
                   .or_absent(),
               Field("decided_by", &P::decided_by, "", "what decides between it and the best").or_absent()}}));
  return record;
}

const Record& record_of(const PrunedLayouts*) {
  using P = PrunedLayouts;
  static const Record record("pruned", {{"refused", &P::refused, "", "degrees that do not divide"},
                                        {"memory", &P::memory, "", "too large"},
                                        {"bound", &P::bound, "", "cannot be faster than the best"}});
  return record;
}

const Record& record_of(const PlanSearch*) {
  using P = PlanSearch;
  static const Record record("search",
                             {{"cluster", &P::cluster, "", "the machine"},
                              {"gpus", &P::gpus, "", "of the job"},
                              {"model", &P::model, "", "its name"},
                              {"model_parameters", &P::model_parameters, "", "its sizes"},
                              {"engine", &P::engine, "", "flow or analytic"},
                              {"inputs_hash", &P::inputs_hash, "", "of everything that the answer depends on"},
                              {"fits", &P::fits, "", "a layout fits into memory"},
                              {"complete", &P::complete, "", "the best is proven"},
                              {"searched", &P::searched, "", "layouts of the space"},
                              {"pruned", &P::pruned, "", "layouts that were not timed"},
                              {"timed", &P::timed, "", "layouts"}});
  return record;
}

const Record& record_of(const PlanResult*) {
  using P = PlanResult;
  static const Record record(
      "plan",
      joined({fields_inside(&P::search),
              {{"best", &P::best, "", "the fastest layout"},
               {"lower_bound_s", &P::lower_bound_s, "s", "of every layout that fits, before any was timed"},
               {"proven_s", &P::proven_s, "s", "no layout of the space is faster"},
               {"gap_percent", &P::gap_percent, "%", "from the best to proven_s"},
               {"tie_percent", &P::tie_percent, "%", "how much slower than the best the fastest may be predicted"},
               {"capacity_bytes", &P::capacity_bytes, "bytes", "of a GPU, less the headroom"},
               {"fixed", &P::fixed, "", "what the search was held to"},
               {"tied", &P::tied, "", "layouts that are too close to tell apart, the best included"},
               {"programs", &P::programs, "", "of each, the fastest timed layout that it runs"},
               {"layouts", &P::layouts, "", "all that were timed, the fastest first"},
               {"pareto", &P::pareto, "", "layouts that no other beats in both time and memory"},
               {"pareto_proven", &P::pareto_proven, "", "of the whole space, within 5 % of memory"},
               {"band_percent", &P::band_percent, "%", "low and high, around a step's time"},
               {"band_basis", &P::band_basis, "", "what the band is measured on"},
               {"gpu_hour", &P::gpu_hour, "", "rented and bought; usd_per_step is rent"}}}));
  return record;
}

const Record& record_of(const ProgramLine*) {
  using L = ProgramLine;
  static const Record record("line of a program",
                             {{"program", &L::program, "", "whose flags these are"},
                              {"row", &L::row, "", "among the layouts, from 1; null: it runs none of them"},
                              {"step_time_s", &L::step_time_s, "s", "of this row"},
                              {"flags", &L::flags, "", "its flags, or its configuration"},
                              {"remark", &L::remark, "", "what it cannot do of the layout"}});
  return record;
}

const Record& record_of(const LeastLayout*) {
  using L = LeastLayout;
  static const Record record(
      "least layout", joined({fields_inside(&L::step), {{"capacity_bytes", &L::capacity_bytes, "bytes", "of a GPU"}}}));
  return record;
}

const Record& record_of(const PlanNothing*) {
  using P = PlanNothing;
  static const Record record("plan of what does not fit",
                             joined({fields_inside(&P::search),
                                     {{"best", &P::best, "", "null"},
                                      {"lower_bound_s", &P::lower_bound_s, "s", "null"},
                                      {"proven_s", &P::proven_s, "s", "null"},
                                      {"gap_percent", &P::gap_percent, "%", "null"},
                                      {"layouts", &P::layouts, "", "none"},
                                      {"pareto", &P::pareto, "", "none"},
                                      {"programs", &P::programs, "", "none"},
                                      {"least", &P::least, "", "the layout that needs least memory"},
                                      {"would_fit", &P::would_fit, "", "changes with which a layout fits"},
                                      {"verdict", &P::verdict, "", "one sentence for people"}}}));
  return record;
}

namespace {

/// A search and what it was asked.
struct PlanFound {
  const PlanRequest& request;
  StepRequest step;  ///< for the commands of rows
  plan::PlanRun run;
  std::vector<FrameworkSpace> frameworks;
  plan::PlanSpace space;
};

/// That whose layouts are searched, or all.
Result<std::vector<FrameworkSpace>> frameworks_of(const PlanRequest& r, const workload::ModelSpec& model) {
  const spec::Catalog catalog(r.machine.catalog);
  if (r.framework.empty()) return framework_spaces(model, catalog);
  BUSBAR_ASSIGN(FrameworkSpace one, framework_space(r.framework, model, catalog));
  return std::vector<FrameworkSpace>{std::move(one)};
}

/// Of each program the line of the fastest timed layout that it runs.
std::vector<ProgramLine> lines_of_programs(const PlanFound& f) {
  std::vector<ProgramLine> out;
  const std::vector<plan::PlannedLayout>& all = f.run.plan.layouts;
  for (const FrameworkSpace& framework : f.frameworks) {
    const auto row =
        std::find_if(all.begin(), all.end(), [&](const plan::PlannedLayout& l) { return runs(framework, l.layout); });
    if (row == all.end()) {
      out.push_back(
          {framework.program,
           {},
           {},
           "",
           fmt::format("runs none of these layouts; --framework {} searches those that it runs", framework.name)});
      continue;
    }
    const std::uint32_t domain = topology::scale_up_domain(f.run.machine.cluster().topology).gpus;
    for (ProgramFlags& line : framework_flags(f.run.machine.scenario.model, row->layout, domain))
      if (line.program == framework.program)
        out.push_back({line.program, row - all.begin() + 1, row->step.step_time.in_s(), std::move(line.flags),
                       std::move(line.remark)});
  }
  return out;
}

PlanRow plan_row(const PlanFound& f, const plan::PlannedLayout& l) {
  const plan::PlannedLayout& best = f.run.plan.layouts.front();
  PlanRow row;
  const step::TrainRun& machine = f.run.machine_of(l);
  row.step = planned_result(machine, l);
  row.lower_bound_s = l.bound.in_s();
  row.tie = !f.run.tied.empty() && l.step.step_time.in_s() < f.run.tie_s();
  row.within_memory_error = f.run.within_memory_error(l);
  if (&l != &best) row.lost_because = plan::why_lost(l, best);
  StepRequest step = f.step;
  step.gpus_per_domain = machine.settings.gpus_per_domain;
  if (step.gpus_per_domain > 0) row.gpus_per_domain = step.gpus_per_domain;
  row.command = request_line(step, l.layout);
  return row;
}

PlanSearch search_result(const PlanFound& f) {
  const plan::Plan& p = f.run.plan;
  const step::TrainRun& m = f.run.machine;
  const plan::PlannedLayout& any = p.layouts.empty() ? *p.least : p.layouts.front();
  PlanSearch out;
  out.cluster = m.cluster().name;
  out.gpus = f.run.machine_of(any).gpus_with_spares(any.layout.ranks());
  out.model = m.scenario.model.name;
  out.model_parameters = model_counts(m.scenario.model, any.layout.batch.seq);
  out.engine = f.request.engine;
  out.inputs_hash = inputs_hash("plan", f.request, m.kernels.text + m.scenario.text + m.cluster().text);
  out.fits = !p.layouts.empty();
  out.complete = p.complete;
  out.searched = p.searched;
  out.pruned = {p.refused, p.no_fit, p.bounded};
  out.timed = p.layouts.size();
  return out;
}

Json search_seconds(const plan::PlanRun& run) { return {{"search_s", run.seconds}}; }

PlanNothing nothing_result(const PlanFound& f) {
  const plan::PlannedLayout& least = *f.run.plan.least;
  PlanNothing out;
  out.search = search_result(f);
  out.least = {planned_result(f.run.machine_of(least), least), count(f.run.capacity)};
  out.would_fit = fit_results(f.run.would_fit);
  const Error why = workload::check_fits(least.memory, f.run.capacity).error();
  out.verdict = does_not_fit_words(least.step.step_time, out.least.step.mfu, why);
  if (f.run.within_memory_error(least))
    out.verdict += fmt::format(" It fits within the error of memory, {:.0f} to +{:.0f} %.",
                               f.run.memory_band.low_percent, f.run.memory_band.high_percent);
  out.of_run = search_seconds(f.run);
  return out;
}

/// How far the best may be from the fastest, in percent: 0 if it is the fastest.
double percent_to_proven(const plan::Plan& p) {
  const double best = p.layouts.front().step.step_time.in_s();
  return 100 * (best - p.proven.in_s()) / p.proven.in_s();
}

Status check_percent(const char* field, double percent) {
  if (percent >= 0 && percent < 100) return {};
  return invalid(fmt::format("{:g} is no percentage from 0 to below 100", percent), field_of(field));
}

/// What is tried with the fastest layouts alone.
std::string words_of_changes(const plan::PlanSpace& space, const workload::ModelSpec& model) {
  using Kind = plan::PlanChange::Kind;
  std::vector<const char*> kinds;
  for (const auto& [kind, words] : {std::pair{Kind::kOrder, "orders of ranks"},
                                    {Kind::kSplit, "splits of stages"},
                                    {Kind::kExperts, "exchanges of experts"}})
    if ((kind != Kind::kExperts || model.moe.experts > 0) &&
        std::any_of(space.changes_of_best.begin(), space.changes_of_best.end(),
                    [k = kind](const plan::PlanChange& c) { return c.kind() == k; }))
      kinds.push_back(words);
  std::string out;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    out += (i == 0 ? "other " : i + 1 == kinds.size() ? " and " : ", ") + std::string(kinds[i]);
  return out.empty() ? "" : out + " for the fastest layouts alone";
}

/// Keys of a layout that the search did not choose, and that change what it finds: as the layout file gives them, or
/// by default.
std::vector<std::string> fixed_keys(const PlanRequest& r, const plan::PlanSpace& space,
                                    const workload::ModelSpec& model) {
  std::vector<std::string> out;
  const std::pair<const char*, const std::string*> lists[] = {{"TP", &r.lists.tp},
                                                              {"PP", &r.lists.pp},
                                                              {"VPP", &r.lists.vpp},
                                                              {"DP", &r.lists.dp},
                                                              {"CP", &r.lists.cp},
                                                              {"EP", &r.lists.ep},
                                                              {"micro-batch", &r.lists.micro_batch},
                                                              {"ZeRO", &r.lists.zero},
                                                              {"recompute", &r.lists.recompute},
                                                              {"schedule", &r.lists.schedule},
                                                              {"order", &r.lists.order},
                                                              {"GPUs per domain", &r.lists.gpus_per_domain}};
  for (const auto& [name, list] : lists)
    if (!list->empty()) out.push_back(fmt::format("{} {}", name, *list));
  if (!r.framework.empty()) out.push_back("what " + r.framework + " runs");
  const workload::ExpertRun& e = space.base.experts;
  if (model.moe.experts > 0)
    out.push_back(
        fmt::format("expert exchange {}, {:g} % of it overlapped", workload::name_of(e.exchange), 100 * e.overlap));
  if (std::string changes = words_of_changes(space, model); !changes.empty()) out.push_back(std::move(changes));
  return out;
}

PlanResult plan_result(const PlanFound& f) {
  const plan::PlanRun& run = f.run;
  const plan::Plan& p = run.plan;
  PlanResult out;
  out.search = search_result(f);
  out.best = plan_row(f, p.layouts.front());
  out.lower_bound_s = p.lower_bound.in_s();
  out.proven_s = p.proven.in_s();
  out.gap_percent = percent_to_proven(p);
  out.tie_percent = run.tie_percent();
  out.capacity_bytes = count(run.capacity);
  out.fixed = fixed_keys(f.request, f.space, run.machine.scenario.model);
  out.tied = 1 + run.tied.size();
  out.programs = lines_of_programs(f);
  for (const plan::PlannedLayout& l : p.layouts) out.layouts.push_back(plan_row(f, l));
  for (std::size_t i = 0; i < run.tied.size(); ++i)
    if (const auto& m = run.tied[i]; m && i + 1 < out.layouts.size())
      out.layouts[i + 1].decided_by = DecidedBy{m->term, m->best_s, m->other_s, m->band_percent, m->command};
  for (const plan::PlannedLayout& l : run.front) out.pareto.push_back(plan_row(f, l));
  out.pareto_proven = run.front_proven;
  out.band_percent = {run.machine.band.low_percent, run.machine.band.high_percent};
  out.band_basis = run.machine.band.basis;
  out.gpu_hour = gpu_hour(run.machine.cluster(), run.machine.scenario.cluster_overrides.catalog);
  out.of_run = search_seconds(run);
  return out;
}

Result<double> seconds_within(const std::string& text) {
  if (text.empty()) return 0.0;
  const Result<Duration> within = parse_duration(text);
  if (!within.ok() || *within <= Duration())
    return invalid(fmt::format("'{}' is not a time; write for example 500ms", text), field_of("within"));
  return within->in_s();
}

/// The scenario of a search, on the servers that hold its GPUs.
Result<spec::Scenario> scenario_of(const PlanRequest& r, StepRequest& step) {
  BUSBAR_RETURN_IF_ERROR(step::take_servers(r.gpus, step.cluster, step.overrides));
  spec::ScenarioFlags flags;
  flags.cluster = step.cluster;
  flags.model = r.model;
  flags.layout = r.layout;
  flags.degrees.global_batch = r.global_batch;
  flags.degrees.seq = r.seq;
  flags.degrees.precision = r.precision;
  flags.degrees.offload = r.offload;
  flags.degrees.trained = r.trained;
  return spec::scenario_from_flags(flags, step.overrides, spec::Catalog(r.machine.catalog), step::gpu_of_machine);
}

}  // namespace

Result<PlanAnswer> answer(const PlanRequest& r, const Context& context) {
  if (r.cluster.empty() || r.model.empty())
    return invalid("name a machine and a model: busbar plan dgx-h100:64 llama3-70b");
  constexpr std::uint32_t kMostThreads = 256;
  if (r.threads == 0 || r.threads > kMostThreads)
    return invalid(fmt::format("{} is not a number from 1 to {}", r.threads, kMostThreads), field_of("threads"));
  StepRequest step{r.cluster, r.model, r.layout, r.trained, r.machine, r.predict, r.engine};
  BUSBAR_ASSIGN(const spec::Scenario scenario, scenario_of(r, step));
  BUSBAR_RETURN_IF_ERROR(check_percent("gap", r.gap));
  BUSBAR_RETURN_IF_ERROR(check_percent("headroom", r.headroom));
  BUSBAR_ASSIGN(const double within_s, seconds_within(r.within));
  if (!r.lists.order.empty() && scenario.layout.rank_order != workload::kTpCpDpPp)
    return invalid("the layout names an order; leave out one of the two", field_of("order"));
  BUSBAR_ASSIGN(const std::vector<FrameworkSpace> frameworks, frameworks_of(r, scenario.model));
  BUSBAR_ASSIGN(plan::PlanSpace space, r.framework.empty() ? plan::read_space(r.lists, scenario.layout)
                                                           : space_in(frameworks.front(), r.lists, scenario.layout));
  step::TrainAsk ask = step_ask(context);
  ask.gpus = r.gpus;
  ask.engine = r.engine;
  ask.predict = r.predict;
  BUSBAR_ASSIGN(
      plan::PlanRun run,
      plan::run_plan(scenario, space, ask, {within_s, r.pareto, r.gap / 100, r.headroom / 100, r.threads}, context));
  if (run.machine.gpus < run.machine.machine->ranks()) step.gpus = run.machine.gpus;
  PlanFound found{r, std::move(step), std::move(run), frameworks, std::move(space)};
  if (found.run.plan.layouts.empty()) {
    PlanNothing nothing = nothing_result(found);
    nothing.run = std::move(found.run);
    return PlanAnswer(std::move(nothing));
  }
  PlanResult result = plan_result(found);
  result.run = std::move(found.run);
  return PlanAnswer(std::move(result));
}

Question plan_question() {
  return make_question<PlanRequest, PlanAnswer>(
      "plan", "the fastest layout of a model on a machine, with a proof, and why the others are slower",
      "  busbar plan dgx-h100:64 gpt3-175b --global-batch 512\n"
      "  busbar plan dgx-h100 llama3-70b --gpus 512 --global-batch 1024 --zero 1..3\n"
      "  busbar plan dgx-h100:8 llama3-8b --global-batch 256 --tp 1,2,4,8 --recompute none --json\n"
      "  busbar plan dgx-h100:8 llama3-8b --global-batch 256 --pareto\n"
      "  busbar plan dgx-h100:2048 llama3.1-405b --seq 8192 --global-batch 2048 --within 5s\n",
      30, 5);
}

}  // namespace busbar::questions
