#include <fmt/core.h>

#include <memory>
#include <optional>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/goodput_report.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/scenario_flags.h"
#include "busbar/cli/session.h"
#include "busbar/cli/step_ask.h"
#include "busbar/plan/default_plan.h"
#include "busbar/predict/predictor.h"
#include "busbar/questions/layout_result.h"
#include "busbar/questions/step_request.h"
#include "busbar/questions/step_words.h"
#include "busbar/step/machine.h"
#include "busbar/step/train_run.h"
#include "busbar/step/train_variants.h"
#include "busbar/views/step_parts.h"

namespace busbar {
namespace {

struct SurviveFlags {
  CommonOptions common;
  std::string scenario;
  ScenarioFlags flags;
  PredictOptions predict;
  GoodputAsk goodput;
  bool parts = false;
  std::string op, size = "1G";
};

/// A collective over all GPUs, timed as `busbar collective` times it.
Result<double> time_collective(const SurviveFlags& o, Collective op, Bytes size, const Overrides& overrides,
                               std::optional<Cluster>* machine = nullptr) {
  BUSBAR_ASSIGN(Cluster cluster, load_machine(o.flags.cluster, overrides));
  if (machine != nullptr) *machine = cluster;
  PredictPolicy policy{.engine = o.common.engine};
  policy.stop = LongRun::flag();
  BUSBAR_RETURN_IF_ERROR(read_predict_options(o.predict, Catalog(overrides.catalog), policy));
  const auto gpus = static_cast<std::uint32_t>(cluster.topology.gpus().size());
  BUSBAR_ASSIGN(const std::unique_ptr<Predictor> predictor, Predictor::make(std::move(cluster), {}, std::move(policy)));
  BUSBAR_ASSIGN(const Prediction p, predictor->time(call_over(op, size, gpus), kTimeAlone));
  return p.time.in_s();
}

Result<double> timed_sound(const SurviveFlags& o, Collective op, Bytes size, std::optional<Cluster>& machine) {
  const NamedTask task(fmt::format("timing {} on {}", name_of(op), o.flags.cluster));
  return time_collective(o, op, size, o.common.overrides, &machine);
}

Result<int> run_collective(SurviveFlags& o) {
  if (!o.flags.cluster.empty() && !o.scenario.empty())
    return flag_error("--for", "a collective has no model; name only the machine");
  if (o.flags.cluster.empty()) o.flags.cluster.swap(o.scenario);
  if (o.flags.cluster.empty())
    return flag_error("--for", "needs a machine: busbar survive dgx-h100:8 --for all_reduce");
  Result<Collective> op = parse_collective(o.op);
  if (!op.ok()) return flag_error("--for", op.error().message);
  const Result<Bytes> size = parse_cli_size(o.size);
  if (!size.ok() || count(*size) == 0)
    return flag_error("-b", fmt::format("'{}' is not a size; write for example 1G", o.size));
  std::optional<Cluster> sound;
  BUSBAR_ASSIGN(const double now_s, timed_sound(o, *op, *size, sound));
  LongRun watch("faults");
  BUSBAR_ASSIGN(const PartLosses losses,
                lose_parts(
                    fmt::format("{} of {}", name_of(*op), format_binary_size(count(*size))), now_s,
                    part_classes(sound->topology, {}), o.common.overrides,
                    [&](const Overrides& with) { return time_collective(o, *op, *size, with); }, watch.context()));
  watch.report_interruption();
  Json j{{"schema", "busbar.survive/1"}, {"time_s", now_s}, {"rows", losses_json(losses)}};
  j["engine"] = o.common.engine;
  j["complete"] = !watch.interrupted();
  j["inputs_hash"] = inputs_hash(o.common, sound->text);
  const Document d{"What lost parts cost on " + sound->name, o.common.typed, losses_blocks(losses)};
  return deliver(o.common, j, d, watch.status());
}

Result<PartLosses> lose_parts_of(const TrainRun& step, const TrainAsk& ask, LongRun& watch) {
  const auto time = [&](const Overrides& with) -> Result<double> {
    Scenario scenario = step.scenario;
    scenario.layout = step.layout;
    scenario.cluster_overrides = with;
    BUSBAR_ASSIGN(const TrainRun run, step::predict(std::move(scenario), ask));
    return step_spread(run).expected_s;
  };
  const auto gpus = static_cast<std::uint32_t>(step.cluster().topology.gpus().size());
  return lose_parts("step", step_spread(step).expected_s,
                    part_classes(step.cluster().topology, stage_colours(step.layout, gpus)),
                    step.scenario.cluster_overrides, time, watch.context());
}

Result<GoodputRun> timed_goodput(const TrainRun& step, const SurviveFlags& o) {
  const NamedTask task("timing the step with a slow server",
                       fmt::format("the step takes {} without", format_duration(step_spread(step).expected_s)));
  Result<GoodputRun> found = run_goodput(step, o.goodput, Catalog(o.common.overrides.catalog));
  if (!found.ok()) return as_flag(found.error());
  return found;
}

Result<int> run(SurviveFlags& o) {
  if (!o.op.empty()) return run_collective(o);
  questions::sort_scenario_words(o.scenario, o.flags);
  BUSBAR_ASSIGN(Scenario scenario, read_scenario({o.scenario, o.flags, o.common.overrides}));
  TrainAsk ask;
  join_command(ask);
  ask.engine = o.common.engine;
  ask.predict = o.predict;
  ask.timeline = ask.scaling = false;
  const bool open = o.scenario.empty() && o.flags.layout.empty() && !names_a_layout(scenario.layout);
  BUSBAR_ASSIGN(const TrainRun step, run_named_step(std::move(scenario), ask, open));
  BUSBAR_ASSIGN(const GoodputRun goodput, timed_goodput(step, o));
  Json j{{"schema", "busbar.survive/1"}, {"fits", !step.does_not_fit}};
  add_goodput(goodput, j);
  j["layout"] = to_json(questions::layout_result(step.layout));
  LongRun watch("faults");
  PartLosses losses;
  if (o.parts) {
    BUSBAR_ASSIGN(losses, lose_parts_of(step, ask, watch));
    price_losses(goodput, o.goodput.repair_hours, losses);
    j["rows"] = losses_json(losses);
    j["complete"] = !watch.interrupted();
    watch.report_interruption();
  }
  j["engine"] = o.common.engine;
  j["inputs_hash"] = inputs_hash(o.common, step.scenario.text + step.cluster().text + goodput.rates.text);
  Document d{"What failures cost " + step.scenario.model.name + " on " + step.cluster().name, o.common.typed, {}};
  if (step.does_not_fit) d.add(Highlight{step_verdict(step)});
  if (!step.planned_because.empty() && !step.does_not_fit)
    d.add(Paragraph{"Planned, because " + step.planned_because + ": " + step.planned_flags});
  add_batch_words(step.layout, d);
  for (DocumentBlock& b : goodput_blocks(goodput)) {
    if (b.audience == Audience::kPage && o.common.explain) b.audience = Audience::kBoth;
    d.blocks.push_back(std::move(b));
  }
  if (o.parts)
    for (DocumentBlock& b : losses_blocks(losses)) d.blocks.push_back(std::move(b));
  const int status = watch.status(step.does_not_fit ? 1 : 0);
  BUSBAR_ASSIGN(const int done, deliver(o.common, j, d, status));
  if (step.does_not_fit && o.common.for_programs()) report_error(*step.does_not_fit);
  return done;
}

}  // namespace

Command survive_command(const std::string& typed) {
  const auto o = std::make_shared<SurviveFlags>();
  Command c =
      new_command(o->common, typed, "survive",
                  "what failures cost: interruptions, checkpoint interval, goodput, spare servers, lost or slow parts");
  c.examples =
      "  busbar survive examples/llama3.1-405b-16384xh100.yaml\n"
      "  busbar survive dgx-h100:64 llama3-70b --tp 8 --global-batch 1024 --async --tokens 15T\n"
      "  busbar survive dgx-h100:8 llama3-8b --global-batch 256 --failures rsc-1 --json\n"
      "  busbar survive examples/llama3-70b-512xh100.yaml --storage 200GB/s --watchdog 30s --interval 1200s\n"
      "  busbar survive examples/llama3-70b-512xh100.yaml --parts\n"
      "  busbar survive dgx-h100:8 --for all_reduce -b 1G\n";
  c.positionals = scenario_words(o->scenario, o->flags);
  c.flags = scenario_flags(o->flags);
  c.add({{"--parts", "", "also the step without one part of each kind, and with that part at half rate, worst first",
          "Parts", &o->parts},
         {"--for", "OP", "instead of a step: a collective over all GPUs with parts lost or slow, e.g. all_reduce",
          "Parts", &o->op},
         with("--for", {"-b", "SIZE", "its size (default 1G)", "Parts", &o->size})});
  c.add(goodput_flags(o->goodput));
  for (Flag& f : c.flags)
    if (f.names != "--cluster" && f.names != "--for" && f.names != "-b") f.useless_with.emplace_back("--for");
  c.add(predict_flags(o->predict, "as the framework: process, or graph with layout.cuda_graphs"));
  add_common_flags(c, o->common, Engines::kFluids);
  for (Flag& f : c.flags)
    if (f.names == "--explain") f.help = "show the sources of the failure rates";
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
