#include <memory>

#include "busbar/base/json.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/goodput_run.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/scenario_flags.h"
#include "busbar/cli/session.h"
#include "busbar/cli/train_run.h"
#include "busbar/cli/train_variants.h"

namespace busbar {
namespace {

struct SurviveFlags {
  CommonOptions common;
  std::string scenario;
  ScenarioFlags flags;
  PredictOptions predict;
  GoodputAsk goodput;
};

Result<int> run(SurviveFlags& o) {
  const RunClock clock;
  if (o.common.engine == "packet") return flag_error("--engine", "runs of many steps need flow or analytic");
  sort_scenario_words(o.scenario, o.flags);
  BUSBAR_ASSIGN(Scenario scenario, read_scenario({o.scenario, o.flags, o.common.overrides}));
  TrainAsk ask;
  ask.engine = o.common.engine;
  ask.predict = o.predict;
  ask.timeline = ask.scaling = false;
  BUSBAR_ASSIGN(const TrainRun step, run_train(std::move(scenario), ask));
  BUSBAR_ASSIGN(const GoodputRun goodput, run_goodput(step, o.goodput, Catalog(o.common.overrides.catalog)));
  Json j{{"schema", "busbar.survive/1"}};
  add_goodput(goodput, j);
  j["engine"] = o.common.engine;
  j["inputs_hash"] = inputs_hash(o.common, step.scenario.text + step.cluster().text + goodput.rates.text);
  j["run"] = clock.to_json();
  Document d{"What failures cost " + step.scenario.model.name + " on " + step.cluster().name, o.common.typed, {}};
  for (DocumentBlock& b : goodput_blocks(goodput)) {
    if (b.audience == Audience::kPage && o.common.explain) b.audience = Audience::kBoth;
    d.blocks.push_back(std::move(b));
  }
  const int status = step.does_not_fit ? 1 : 0;
  BUSBAR_ASSIGN(const int done, deliver(o.common, j, d, status));
  if (step.does_not_fit) report_error(*step.does_not_fit);
  return done;
}

}  // namespace

Command survive_command(const std::string& typed) {
  const auto o = std::make_shared<SurviveFlags>();
  o->common.typed = typed;
  Command c;
  c.settings = &o->common.settings;
  c.name = "survive";
  c.summary = "what failures cost: interruptions, the best checkpoint interval, goodput, spare servers";
  c.examples =
      "  busbar survive examples/llama3.1-405b-16384xh100.yaml\n"
      "  busbar survive dgx-h100:64 llama3-70b --tp 8 --global-batch 1024 --async --tokens 15T\n"
      "  busbar survive dgx-h100:8 llama3-8b --global-batch 256 --failures rsc-1 --json\n"
      "  busbar survive examples/llama3-70b-512xh100.yaml --storage 200GB/s --watchdog 30s --interval 1200s\n";
  c.positionals = scenario_words(o->scenario, o->flags);
  c.flags = scenario_flags(o->flags);
  for (Flag& f : goodput_flags(o->goodput)) c.flags.push_back(std::move(f));
  for (Flag& f : predict_flags(o->predict, "as the framework: process, or graph with layout.cuda_graphs"))
    c.flags.push_back(std::move(f));
  for (Flag& f : common_flags(o->common, true)) {
    if (f.names == "--engine") f.help = "flow (default) or analytic";
    if (f.names == "--explain") f.help = "show the sources of the failure rates";
    c.flags.push_back(std::move(f));
  }
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
