#include <fmt/core.h>

#include <memory>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/plan_report.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/scenario_flags.h"
#include "busbar/cli/session.h"
#include "busbar/cli/step_ask.h"
#include "busbar/questions/step_request.h"
#include "busbar/plan/space_lists.h"
#include "busbar/step/machine.h"

namespace busbar {
namespace {

struct PlanFlags {
  CommonOptions common;
  ScenarioFlags flags;
  PlanLists lists;
  PredictOptions predict;
  std::uint32_t gpus = 0, rows = 10, threads = 1;
  std::string within;
  bool pareto = false;
};

Result<int> run(PlanFlags& o) {
  if (o.flags.cluster.empty() || o.flags.model.empty())
    return invalid("name a machine and a model: busbar plan dgx-h100:64 llama3-70b");
  BUSBAR_RETURN_IF_ERROR(take_servers(o.gpus, o.flags.cluster, o.common.overrides));
  constexpr std::uint32_t kMostThreads = 256;
  if (o.threads == 0 || o.threads > kMostThreads)
    return flag_error("--threads", fmt::format("{} is not a number from 1 to {}", o.threads, kMostThreads));
  double within_s = 0;
  if (!o.within.empty()) {
    const Result<Duration> within = parse_duration(o.within);
    if (!within.ok() || *within <= Duration())
      return flag_error("--within", fmt::format("'{}' is not a time; write for example 500ms", o.within));
    within_s = within->in_s();
  }
  BUSBAR_ASSIGN(Scenario scenario,
                scenario_from_flags(o.flags, o.common.overrides, Catalog(o.common.overrides.catalog), gpu_of_machine));
  if (!o.lists.order.empty() && scenario.layout.rank_order != kTpCpDpPp)
    return flag_error("--order", "the layout names an order; leave out one of the two");
  TrainAsk ask;
  join_command(ask);
  ask.gpus = o.gpus;
  ask.engine = o.common.engine;
  ask.predict = o.predict;
  StepRequest request{o.flags.cluster, o.flags.model, o.flags.layout, o.common.overrides, o.predict, o.common.engine};
  Result<PlanSpace> space = read_space(o.lists, scenario.layout);
  if (!space.ok()) return as_flag(space.error());
  LongRun watch("layouts");
  const Result<PlanRun> found =
      run_plan(scenario, std::move(*space), ask, {within_s, o.pareto, o.threads}, watch.context());
  if (!found.ok()) return as_flag(found.error());
  const PlanRun& plan = *found;
  if (plan.machine.gpus < plan.machine.cluster().topology.gpus().size()) request.gpus = plan.machine.gpus;
  if (watch.interrupted()) say("interrupted; these are the best layouts so far");
  const int status = watch.status(plan.plan.layouts.empty() ? 1 : 0);
  Json j = plan_json(plan, request, o.common);
  j["run"] = o.common.clock.to_json();
  j["run"]["search_s"] = plan.seconds;
  return deliver(o.common, j, plan_document(plan, request, o.common.typed, o.rows), status);
}

}  // namespace

Command plan_command(const std::string& typed) {
  const auto o = std::make_shared<PlanFlags>();
  Command c = new_command(o->common, typed, "plan",
                          "the fastest layout of a model on a machine, with a proof, and why the others are slower");
  c.examples =
      "  busbar plan dgx-h100:64 gpt3-175b --global-batch 512\n"
      "  busbar plan dgx-h100 llama3-70b --gpus 512 --global-batch 1024 --zero 1..3\n"
      "  busbar plan dgx-h100:8 llama3-8b --global-batch 256 --tp 1,2,4,8 --recompute none --json\n"
      "  busbar plan dgx-h100:8 llama3-8b --global-batch 256 --pareto\n"
      "  busbar plan dgx-h100:2048 llama3.1-405b --seq 8192 --global-batch 2048 --within 5s\n";
  c.positionals = {cluster_word(o->flags.cluster, false), model_word(o->flags.model)};
  LayoutFlags& l = o->flags.degrees;
  PlanLists& s = o->lists;
  c.flags = {
      cluster_flag(o->flags.cluster),
      {"--model", "MODEL", "catalogue name or file", "Scenario", &o->flags.model},
      gpus_flag(o->gpus),
      {"--layout", "FILE", "layout file with the keys that the search does not choose", "Scenario", &o->flags.layout},
      {"--global-batch", "N", questions::kGlobalBatchMeaning, "Scenario", &l.global_batch},
      {"--seq", "TOKENS", "sequence length (default 4096)", "Scenario", &l.seq},
      {"--precision", "NAME", "bf16 (default), fp16, fp8 or fp4", "Scenario", &l.precision,
       one_of("bf16", "fp16", "fp8", "fp4")},
      {"--offload", "WHAT", "kept in host memory: optimizer states, activations or both", "Scenario", &l.offload,
       one_of("optimizer", "activations", "both", "none")},
      {"--tp", "LIST", "tensor-parallel degrees to try: 1,2,4 or 1..8 (default all that divide)", "Space", &s.tp},
      {"--pp", "LIST", "pipeline stages to try", "Space", &s.pp},
      {"--vpp", "LIST", "model chunks per stage to try", "Space", &s.vpp},
      {"--dp", "LIST", "data-parallel replicas to try", "Space", &s.dp},
      {"--cp", "LIST", "context-parallel degrees to try", "Space", &s.cp},
      {"--ep", "LIST", "expert-parallel degrees to try", "Space", &s.ep},
      {"--micro-batch", "LIST", "sequences per micro-batch to try", "Space", &s.micro_batch},
      {"--zero", "LIST", "ZeRO degrees to try (default 0..3)", "Space", &s.zero},
      {"--recompute", "LIST", "kinds to try (default none,selective,full)", "Space", &s.recompute},
      {"--schedule", "LIST", "pipeline schedules to try (default 1f1b,gpipe,zb-h1,zb-v,dualpipe-v)", "Space",
       &s.schedule},
      {"--order", "LIST", "orders of ranks to try, innermost first, or all (default tp-cp-dp-pp, or the layout's)",
       "Space", &s.order},
      {"--within", "TIME", "stop after this time with the best so far: 500ms (default: when it is proven)", "Search",
       &o->within},
      {"--threads", "N", "layouts to time at the same time (default 1); changes only the run time", "Search",
       &o->threads},
      {"--pareto", "", "also search for the fastest layouts with less memory, in steps of 5 %", "Search", &o->pareto},
      {"--rows", "N", "layouts to show (default 10)", "Output", &o->rows},
  };
  c.add(predict_flags(o->predict, "as the framework: process, or graph with layout.cuda_graphs"));
  add_common_flags(c, o->common, Engines::kFluids, false);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
