#include <fmt/core.h>

#include <memory>

#include "busbar/base/json.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/compare_report.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/scenario_flags.h"
#include "busbar/cli/session.h"

namespace busbar {
namespace {

struct CompareFlags {
  CommonOptions common;
  std::string first;
  std::vector<std::string> others;
  CompareAsk ask;
};

Result<int> run_steps(CompareFlags& o, const RunClock& clock) {
  LongRun watch("variants");
  BUSBAR_ASSIGN(const std::vector<CompareRow> rows, run_compare(o.ask, watch));
  watch.report_interruption();
  if (rows.empty()) return watch.status();
  Json j = compare_json(rows, o.ask, o.common);
  j["complete"] = !watch.interrupted();
  j["run"] = clock.to_json();
  return deliver(o.common, j, compare_document(rows, o.ask, o.common.typed), watch.status());
}

Result<int> run(CompareFlags& o) {
  const RunClock clock;
  if (!o.first.empty()) o.ask.machines.push_back(o.first);
  for (std::string& word : o.others) o.ask.machines.push_back(std::move(word));
  if (o.ask.machines.empty() || o.ask.input.flags.model.empty())
    return invalid(
        "name machines and a model: busbar compare dgx-h100 dgx-b200 --gpus 512 --model llama3-70b, or one machine and "
        "fabrics: busbar compare dgx-h100:64 --model llama3-70b --fabrics ib,roce");
  if (o.common.engine == "packet") return flag_error("--engine", "many steps need flow or analytic");
  BUSBAR_RETURN_IF_ERROR(o.ask.cost.check());
  o.ask.input.overrides = o.common.overrides;
  o.ask.train.engine = o.common.engine;
  o.ask.train.timeline = o.ask.train.relief = o.ask.train.scaling = false;
  return run_steps(o, clock);
}

}  // namespace

Command compare_command(const std::string& typed) {
  const auto o = std::make_shared<CompareFlags>();
  o->common.typed = typed;
  Command c;
  c.settings = &o->common.settings;
  c.name = "compare";
  c.summary = "machines and fabrics side by side: step, MFU, price, power, $ per token, and what is a tie";
  c.examples =
      "  busbar compare dgx-h100 dgx-b200 gb200-nvl72 --gpus 1152 --model llama3-70b\n"
      "  busbar compare dgx-h100 --gpus 512 --model llama3-70b --fabrics ib,roce,spectrum-x,rail-only,2:1,4:1\n"
      "  busbar compare dgx-h100:64 dgx-h200:64 --model llama3-70b --tp 8 --global-batch 1024 --html compare.html\n"
      "  busbar compare dgx-h100:64 --model llama3-70b --tp 8 --variant layout.pp=4 --variant layout.zero=3 --json\n";
  c.positionals = {{"CLUSTER", "machines: presets, NAME:N or files", &o->first, false, &o->others}};
  ScenarioFlags& f = o->ask.input.flags;
  c.flags = {
      {"--gpus", "N", "as many servers of each machine as have N GPUs", "Scenario", &o->ask.gpus},
      {"--fabrics", "LIST",
       "each machine with each of these: ib, roce, roce-untuned, spectrum-x, uec, tcp, rail-only, leaf-spine, "
       "fat-tree, dragonfly, photonics, names of catalog fabrics, or ratios such as 2:1 and fat-tree-4:1",
       "Scenario", &o->ask.fabrics},
      {"--variant", "CHANGES", "also each machine with these changes: 'layout.pp=4 layout.zero=3'; may be repeated",
       "Scenario", &o->ask.changes},
  };
  for (Flag& flag : scenario_flags(f)) {
    if (flag.names == "--global-batch") flag.help += " (default: 8,192 tokens per GPU, at most 16 Mi)";
    if (flag.names == "--layout") flag.help = "layout file; without any layout, a search finds one per machine";
    if (flag.names != "--cluster") c.flags.push_back(std::move(flag));
  }
  for (Flag& flag : cost_flags(o->ask.cost)) c.flags.push_back(std::move(flag));
  for (Flag& flag : predict_flags(o->ask.train.predict, "as the framework: process, or graph with layout.cuda_graphs"))
    c.flags.push_back(std::move(flag));
  for (Flag& flag : common_flags(o->common, true)) {
    if (flag.names == "--engine") flag.help = "flow (default) or analytic";
    if (flag.names != "--explain") c.flags.push_back(std::move(flag));
  }
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
