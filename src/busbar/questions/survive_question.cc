#include "busbar/questions/survive_question.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/plan/default_plan.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/job_file.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/predict_request.h"
#include "busbar/questions/question.h"
#include "busbar/questions/step_ask.h"
#include "busbar/questions/step_request.h"
#include "busbar/step/machine.h"
#include "busbar/step/train_variants.h"

namespace busbar::survive {
namespace {

template <typename S, typename T>
Field failures_field(const char* name, T S::*member, const char* value, const char* meaning) {
  return Field(name, member, "", meaning).takes(value).of("Failures");
}

}  // namespace

const Record& record_of(const GoodputAsk*) {
  using G = GoodputAsk;
  static const Record record(
      "goodput ask",
      joined({{failures_field("failures", &G::failures, "NAME",
                              "failure rates: an entry of the catalogue (busbar catalog failures) or a file (default "
                              "llama3)"),
               failures_field("detect", &G::detect, "TIME", "from a crash until the job is ended (default 30s)"),
               failures_field("watchdog", &G::watchdog, "TIME",
                              "until a collective that hangs ends the job (default 600s)"),
               failures_field("restart", &G::restart, "TIME",
                              "scheduling and initialisation, without loading (default 300s)"),
               failures_field("hot_restart", &G::hot_restart, "TIME",
                              "initialisation alone, on spare servers that wait started (default 60s)"),
               failures_field("silent_after", &G::silent_after, "TIME",
                              "from silent corruption until it is noticed; all steps since are lost (default 0s)"),
               Field("failover", &G::failover, "",
                     "failures of NICs, cables and switches do not end the job: collectives go on over other paths")
                   .of("Failures"),
               failures_field("interval", &G::interval, "TIME",
                              "useful time between checkpoints (default: Daly's optimum)"),
               failures_field("repair_hours", &G::repair_hours, "HOURS",
                              "time to repair a server after a hardware fault (default 24)"),
               failures_field("slow_servers", &G::slow_servers, "P%xFACTOR",
                              "share of servers that compute slower unnoticed, and how much (default 0.5%x1.1)"),
               failures_field("tokens", &G::tokens, "N", "length of the run, e.g. 15T: days and price"),
               failures_field("usd_per_gpu_hour", &G::usd_per_gpu_hour, "USD", "price (default: the machine's)")},
              fields_inside(&G::checkpoint)}));
  return record;
}

const Record& record_of(const SparePolicy*) {
  using P = SparePolicy;
  static const Record record(
      "spare policy", {{"name", &P::name, "", "a way to go on after a failure"},
                       {"restart_s", &P::restart_s, "s", "from a failure to the next step, on average"},
                       {"goodput", &P::useful, "", "steps that count, as a share of those of all servers of the job"},
                       {"spare_servers", &P::spares, "", "that suffice 99 % of the time"},
                       {"paid_per_useful", &P::paid_per_useful, "", "hours of servers for one useful hour"}});
  return record;
}

}  // namespace busbar::survive

namespace busbar::questions {

const Record& record_of(const SurviveRequest*) {
  using S = SurviveRequest;
  static const Record record = [] {
    std::vector<Field> of_step =
        joined({fields_inside(&S::flags),
                {gpus_field(&S::gpus),
                 Field("parts", &S::parts, "",
                       "also the step without one part of each kind, and with that part at half rate, worst first")
                     .of("Parts")}});
    std::vector<Field> of_run = fields_inside(&S::goodput);
    for (Field& f : of_run) f.category = "Failures";
    for (std::vector<Field>* fields : {&of_step, &of_run})
      for (Field& f : *fields)
        if (f.name != "cluster" && f.name != "gpus") f.useless_with.emplace_back("for");
    Field explain = explain_field(&S::explain);
    explain.meaning = "show the sources of the failure rates";
    return Record(
        "survive request",
        joined(
            {{scenario_field(&S::scenario), from_field(&S::from).without({"for"})},
             std::move(of_step),
             {Field("for", &S::op, "",
                    "instead of a step: a collective over all GPUs with parts lost or slow, e.g. all_reduce")
                  .takes("OP")
                  .of("Parts"),
              Field("size", &S::size, "", "its size (default 1G)").spelled("-b").takes("SIZE").of("Parts").with("for")},
             std::move(of_run),
             predict_fields(&S::predict, kLaunchOfFrameworks),
             {engine_field(&S::engine, Engines::kFluids)},
             fields_inside(&S::machine),
             {std::move(explain)}}));
  }();
  return record;
}

const Record& record_of(const LostTime*) {
  using L = LostTime;
  static const Record record("lost", {{"checkpoint", &L::checkpoint, "", "share of the time: saving"},
                                      {"restart", &L::restart, "", "share of the time: detection, restart, loading"},
                                      {"rework", &L::rework, "", "share of the time: steps that were lost"},
                                      {"slower", &L::slower, "",
                                       "share of the time: pauses and slower steps while the network lacks a part"}});
  return record;
}

const Record& record_of(const CheckpointCost*) {
  using C = CheckpointCost;
  static const Record record("checkpoint",
                             {{"bytes", &C::bytes, "bytes", "of all GPUs"},
                              {"storage_GBps", &C::storage_GBps, "GB/s", "null: drives of the servers"},
                              {"write_s", &C::write_s, "s", "until all is written"},
                              {"links_save_s", &C::links_save_s, "s", "over the servers' links alone"},
                              {"bound_by", &C::bound_by, "", "the storage, or a link"},
                              {"stop_s", &C::stop_s, "s", "for which steps wait, or are slower, per checkpoint"},
                              {"interval_s", &C::interval_s, "s", "from one to the next"},
                              {"interval_steps", &C::interval_steps, "", "the same in steps"},
                              {"young_interval_s", &C::young_interval_s, "s", "by Young's formula"}});
  return record;
}

const Record& record_of(const RecoveryTime*) {
  using R = RecoveryTime;
  static const Record record("recovery", {{"detect", &R::detect, "s", "until the failure is known"},
                                          {"restart", &R::restart, "s", "scheduling and initialisation"},
                                          {"load", &R::load, "s", "of the last checkpoint"}});
  return record;
}

const Record& record_of(const SpareCubesResult*) {
  using S = SpareCubesResult;
  static const Record record("spare cubes",
                             {{"cubes", &S::cubes, "", "that the job uses"},
                              {"spares", &S::spares, "", "that suffice 99 % of the time"},
                              {"switching_s", &S::switching_s, "s", "of the optical ways"},
                              {"initialisation_s", &S::initialisation_s, "s", "of the links"},
                              {"events_per_day", &S::events_per_day, "", "exchanges"},
                              {"event_s", &S::event_s, "s", "from the failure to where the job was, on average"},
                              {"event_usd", &S::event_usd, "USD", "of one exchange; null: the machine has no price"}});
  return record;
}

const Record& record_of(const SlowServers*) {
  using S = SlowServers;
  static const Record record(
      "slow servers", {{"chance", &S::chance, "", "of having one"}, {"step_time_s", &S::step_time_s, "s", "with one"}});
  return record;
}

const Record& record_of(const CauseOfEnd*) {
  using C = CauseOfEnd;
  static const Record record("cause", {{"name", &C::name, "", "of the cause"},
                                       {"part", &C::part, "", "that it counts: gpu, nic, cable, switch or server"},
                                       {"parts", &C::parts, "", "of this kind"},
                                       {"events_per_part_year", &C::events_per_part_year, "", "that end a job"},
                                       {"events_per_day", &C::events_per_day, "", "of all parts"},
                                       {"share", &C::share, "", "of all interruptions"},
                                       {"network", &C::network, "", "the fabric, with NICs"},
                                       {"source", &C::source, "", "of the rate"}});
  return record;
}

const Record& record_of(const LeverResult*) {
  using L = LeverResult;
  static const Record record("lever", {{"what", &L::what, "", "a change"}, {"goodput", &L::goodput, "", "with it"}});
  return record;
}

const Record& record_of(const PartLossResult*) {
  using P = PartLossResult;
  static const Record record("part",
                             {{"part", &P::part, "", "the member of its kind that costs most, as fail takes it"},
                              {"kind", &P::kind, "", "nic, leaf, rail, ..."},
                              {"alike", &P::alike, "", "parts of this kind"},
                              {"state", &P::state, "", "out or half rate"},
                              {"time_s", &P::time_s, "s", "null: nothing runs without the part"},
                              {"cost_percent", &P::cost_percent, "%", "of the time with all parts"},
                              {"ends_job", &P::ends_job, "", "a job that uses it ends when it dies"},
                              {"switch_off", &P::switch_off, "", "half rate is slower than without the part"},
                              {"lost_h", &P::lost_h, "h", "of work, by one such event until the repair"},
                              {"why_not", &P::why_not, "", "why nothing runs"}});
  return record;
}

const Record& record_of(const SurviveStepResult*) {
  using S = SurviveStepResult;
  static const Record record(
      "survive result",
      {{"fits", &S::fits, "", "the step fits into memory"},
       {"goodput", &S::goodput, "", "share of the time that goes into steps that count"},
       {"goodput_low", &S::goodput_low, "", "with the highest failure rates of other fleets"},
       {"goodput_high", &S::goodput_high, "", "with the lowest"},
       {"interruptions_per_day", &S::interruptions_per_day, "", "of the job"},
       {"mtti_h", &S::mtti_h, "h", "mean time between interruptions"},
       {"network_share", &S::network_share, "", "of the interruptions, NICs included"},
       {"lost", &S::lost, "", "where the other time goes"},
       {"lost_usd_per_day", &S::lost_usd_per_day, "USD", "null: the machine has no price"},
       {"gpu_hour", &S::gpu_hour, "", "rented and bought; lost_usd_per_day is rent"},
       {"checkpoint", &S::checkpoint, "", "its size and times"},
       {"recovery_s", &S::recovery_s, "s", "after an interruption"},
       {"spare_servers", &S::spare_servers, "", "that suffice 99 % of the time"},
       {"servers_in_repair", &S::servers_in_repair, "", "on average"},
       {"spare_cubes", &S::spare_cubes, "", "of pods that optical switches join; null: the machine has none"},
       {"slow_servers", &S::slow_servers, "", "that compute slower unnoticed"},
       {"step_time_s", &S::step_time_s, "s", "expected"},
       {"run_days", &S::run_days, "days", "of all tokens asked for"},
       {"run_usd", &S::run_usd, "USD", "of all tokens asked for"},
       {"failures", &S::failures, "", "whose rates these are"},
       {"causes", &S::causes, "", "what ends the job, most frequent first"},
       {"levers", &S::levers, "", "what would change the goodput, best first"},
       {"policies", &S::policies, "", "ways to go on after a failure, cheapest first"},
       {"layout", &S::layout, "", "of the step"},
       Field("rows", &S::rows, "", "the step with parts lost or slow, worst first").or_absent(),
       Field("complete", &S::complete, "", "no signal ended the rows early").or_absent(),
       {"engine", &S::engine, "", "flow or analytic"},
       {"inputs_hash", &S::inputs_hash, "", "of everything that the answer depends on"}});
  return record;
}

const Record& record_of(const SurviveCallResult*) {
  using S = SurviveCallResult;
  static const Record record("survive result of a collective",
                             {{"time_s", &S::time_s, "s", "with all parts"},
                              {"rows", &S::rows, "", "with parts lost or slow, worst first"},
                              {"engine", &S::engine, "", "flow or analytic"},
                              {"complete", &S::complete, "", "no signal ended the rows early"},
                              {"inputs_hash", &S::inputs_hash, "", "of everything that the answer depends on"}});
  return record;
}

namespace {

std::vector<PartLossResult> part_loss_results(const survive::PartLosses& losses) {
  std::vector<PartLossResult> out;
  for (const survive::PartLoss& l : losses.rows) {
    PartLossResult& r = out.emplace_back();
    r.part = l.selector;
    r.kind = l.part.what;
    r.alike = l.part.alike;
    r.state = survive::name_of(l.state);
    r.time_s = l.time_s;
    if (l.time_s) r.cost_percent = l.cost_percent;
    r.ends_job = l.state == survive::PartState::kOut && l.part.ends_job;
    r.switch_off = l.switch_off;
    r.lost_h = l.lost_h;
    if (!l.why_not.empty()) r.why_not = l.why_not;
  }
  return out;
}

std::vector<CauseOfEnd> causes_of(const survive::GoodputRun& g) {
  std::vector<CauseOfEnd> out;
  for (const survive::Interruptions::Line& line : g.interruptions.lines)
    out.push_back({line.cause.name, survive::name_of(line.cause.part), line.parts, line.cause.per_year, line.per_day,
                   line.per_day / g.interruptions.per_day, line.cause.network, line.cause.source});
  return out;
}

std::optional<double> if_above_0(double value) { return value > 0 ? std::optional(value) : std::nullopt; }

CheckpointCost checkpoint_cost(const survive::GoodputRun& g) {
  const survive::CheckpointRun& c = g.checkpoint;
  return {c.bytes,         if_above_0(c.store_bytes_per_s / 1e9),
          c.write_s(),     c.links.save_s,
          c.write_bound(), g.terms.save_s,
          g.interval_s,    g.interval_s / g.step_s,
          g.young_s};
}

std::optional<SpareCubesResult> spare_cubes_of(const survive::GoodputRun& g) {
  const survive::SpareCubes& c = g.cubes;
  if (c.cubes == 0) return std::nullopt;
  return SpareCubesResult{c.cubes,
                          c.spares,
                          c.switching_s,
                          c.initialisation_s,
                          c.per_day,
                          c.event_s,
                          if_above_0(c.event_s / survive::kSecondsInHour * g.usd_per_hour)};
}

void take_goodput(const survive::GoodputRun& g, SurviveStepResult& out) {
  out.goodput = g.shares.useful;
  out.goodput_low = g.at_high_rates.useful;
  out.goodput_high = g.at_low_rates.useful;
  out.interruptions_per_day = g.interruptions.per_day;
  out.mtti_h = g.terms.mtti_s / survive::kSecondsInHour;
  out.network_share = g.interruptions.network_per_day / g.interruptions.per_day;
  out.lost = {g.shares.checkpoint, g.shares.restart, g.shares.rework, g.shares.slower};
  if (g.usd_per_hour > 0) out.lost_usd_per_day = (1 - g.shares.useful) * g.usd_per_hour * survive::kHoursInDay;
  out.checkpoint = checkpoint_cost(g);
  out.recovery_s = {g.detect_s, g.restart_s, g.checkpoint.load_s()};
  out.spare_servers = g.spares;
  out.servers_in_repair = g.in_repair;
  out.spare_cubes = spare_cubes_of(g);
  out.slow_servers = {g.slow_chance, g.slow_step_s};
  out.step_time_s = g.step_s;
  out.run_days = if_above_0(g.run_days);
  out.run_usd = if_above_0(g.run_usd);
  out.failures = g.rates.name;
  out.causes = causes_of(g);
  for (const survive::GoodputLever& l : g.levers) out.levers.push_back({l.what, l.useful});
  out.policies = g.policies;
}

/// A collective over all GPUs, timed as `busbar collective` times it.
struct SurviveCall {
  const SurviveRequest& request;
  std::string cluster;
  spec::Overrides overrides;
  collectives::Collective op{};
  Bytes size{0};
  const Context& context;

  Result<double> time(const spec::Overrides& with, std::optional<spec::Cluster>* machine = nullptr) const {
    BUSBAR_ASSIGN(spec::Cluster loaded, step::load_machine(cluster, with));
    if (machine != nullptr) *machine = loaded;
    predict::PredictPolicy policy{.engine = request.engine};
    policy.stop = context.stop;
    BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(request.predict, spec::Catalog(with.catalog), policy));
    const auto all = static_cast<std::uint32_t>(loaded.topology.gpus().size());
    BUSBAR_ASSIGN(const std::unique_ptr<predict::Predictor> predictor,
                  predict::Predictor::make(std::move(loaded), {}, std::move(policy)));
    const std::uint32_t gpus = request.gpus > 0 ? request.gpus : all;
    BUSBAR_ASSIGN(const predict::Prediction p,
                  predictor->time(predict::call_over(op, size, gpus), predict::kTimeAlone));
    return p.time.in_s();
  }
};

Result<SurviveCall> read_survive_call(const SurviveRequest& r, const Context& context) {
  SurviveCall out{r, r.flags.cluster, r.machine, {}, {}, context};
  if (!out.cluster.empty() && !r.scenario.empty())
    return invalid("a collective has no model; name only the machine", field_of("for"));
  if (out.cluster.empty()) out.cluster = r.scenario;
  if (out.cluster.empty())
    return invalid("needs a machine: busbar survive dgx-h100:8 --for all_reduce", field_of("for"));
  const Result<collectives::Collective> op = collectives::parse_collective(r.op);
  if (!op.ok()) return invalid(op.error().message, field_of("for"));
  const Result<Bytes> size = parse_cli_size(r.size);
  if (!size.ok() || count(*size) == 0)
    return invalid(fmt::format("'{}' is not a size; write for example 1G", r.size), field_of("size"));
  out.op = *op;
  out.size = *size;
  BUSBAR_RETURN_IF_ERROR(step::take_servers(r.gpus, out.cluster, out.overrides));
  return out;
}

Result<SurviveResult> survive_call(const SurviveRequest& r, const Context& context) {
  BUSBAR_ASSIGN(const SurviveCall call, read_survive_call(r, context));
  context.begin(fmt::format("timing {} on {}", collectives::name_of(call.op), call.cluster));
  std::optional<spec::Cluster> sound;
  SurviveCallResult out;
  BUSBAR_ASSIGN(out.time_s, call.time(call.overrides, &sound));
  BUSBAR_ASSIGN(out.losses,
                survive::lose_parts(
                    fmt::format("{} of {}", collectives::name_of(call.op), format_binary_size(count(call.size))),
                    out.time_s, survive::part_classes(sound->topology, {}), call.overrides,
                    [&](const spec::Overrides& with) { return call.time(with); }, context));
  out.rows = part_loss_results(out.losses);
  out.engine = r.engine;
  out.complete = !context.stopped();
  out.inputs_hash = inputs_hash("survive", r, sound->text);
  out.cluster = sound->name;
  return SurviveResult(std::move(out));
}

Result<survive::PartLosses> lose_parts_of(const step::TrainRun& step, const step::TrainAsk& ask,
                                          const Context& context) {
  const auto time = [&](const spec::Overrides& with) -> Result<double> {
    spec::Scenario scenario = step.scenario;
    scenario.layout = step.layout;
    scenario.cluster_overrides = with;
    BUSBAR_ASSIGN(const step::TrainRun run, step::predict(std::move(scenario), ask));
    return run.step.step_time.in_s();
  };
  const auto gpus = static_cast<std::uint32_t>(step.cluster().topology.gpus().size());
  return survive::lose_parts("step", step.step.step_time.in_s(),
                             survive::part_classes(step.cluster().topology, survive::stage_colours(step.layout, gpus)),
                             step.scenario.cluster_overrides, time, context);
}

/// `job`: what --from read, for places of errors.
Result<SurviveResult> survive_steps(const SurviveRequest& r, const Context& context, std::optional<JobFile>& job) {
  std::string file = r.scenario;
  spec::ScenarioFlags flags = r.flags;
  sort_scenario_words(file, flags);
  spec::Overrides overrides = r.machine;
  std::uint32_t gpus = r.gpus;
  if (!r.from.empty()) {
    BUSBAR_ASSIGN(job, take_job({r.from, !file.empty(), flags.cluster, r.gpus}, flags, overrides));
    if (gpus == 0) gpus = job->gpus;
  }
  BUSBAR_ASSIGN(spec::Scenario scenario, step::read_scenario({file, flags, overrides}));
  BUSBAR_RETURN_IF_ERROR(step::take_servers(gpus, scenario.cluster, scenario.cluster_overrides));
  step::TrainAsk ask = step_ask(context);
  ask.gpus = gpus;
  ask.engine = r.engine;
  ask.predict = r.predict;
  ask.timeline = ask.scaling = false;
  SurviveStepResult out;
  const bool open = file.empty() && flags.layout.empty() && !plan::names_a_layout(scenario.layout);
  BUSBAR_ASSIGN(out.step, named_step(std::move(scenario), ask, open, context));
  context.begin(fmt::format("timing the step with a slow server; it takes {} without one",
                            format_duration(out.step.step.step_time.in_s())));
  BUSBAR_ASSIGN(out.run, survive::run_goodput(out.step, r.goodput, spec::Catalog(r.machine.catalog)));
  out.fits = !out.step.does_not_fit;
  out.exit_status = out.fits ? 0 : 1;
  out.refused = out.step.does_not_fit;
  take_goodput(out.run, out);
  out.gpu_hour = gpu_hour(out.step.cluster(), r.machine.catalog);
  if (r.goodput.usd_per_gpu_hour > 0) out.gpu_hour.rented_usd = r.goodput.usd_per_gpu_hour;
  out.layout = layout_result(out.step.layout);
  if (r.parts) {
    BUSBAR_ASSIGN(out.losses, lose_parts_of(out.step, ask, context));
    survive::price_losses(out.run, r.goodput.repair_hours, *out.losses);
    out.rows = part_loss_results(*out.losses);
    out.complete = !context.stopped();
  }
  out.engine = r.engine;
  out.inputs_hash = inputs_hash("survive", r, out.step.scenario.text + out.step.cluster().text + out.run.rates.text);
  return SurviveResult(std::move(out));
}

}  // namespace

Result<SurviveResult> answer(const SurviveRequest& r, const Context& context) {
  if (!r.op.empty()) return survive_call(r, context);
  std::optional<JobFile> job;
  Result<SurviveResult> out = survive_steps(r, context, job);
  return out.ok() || !job ? std::move(out) : at_job(out.error(), *job);
}

Question survive_question() {
  return make_question<SurviveRequest, SurviveResult>(
      "survive", "what failures cost: interruptions, checkpoint interval, goodput, spare servers, lost or slow parts",
      "  busbar survive examples/llama3.1-405b-16384xh100.yaml\n"
      "  busbar survive dgx-h100:64 llama3-70b --tp 8 --global-batch 1024 --async --tokens 15T\n"
      "  busbar survive dgx-h100:8 llama3-8b --global-batch 256 --failures rsc-1 --json\n"
      "  busbar survive examples/llama3-70b-512xh100.yaml --storage 200GB/s --watchdog 30s --interval 1200s\n"
      "  busbar survive examples/llama3-70b-512xh100.yaml --parts\n"
      "  busbar survive dgx-h100:8 --for all_reduce -b 1G\n",
      170);
}

}  // namespace busbar::questions
