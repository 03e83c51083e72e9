#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "busbar/base/json.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/compare_calls.h"
#include "busbar/cli/compare_crossing.h"
#include "busbar/cli/compare_links.h"
#include "busbar/cli/compare_report.h"
#include "busbar/cli/predict_flags.h"
#include "busbar/cli/scenario_flags.h"
#include "busbar/cli/session.h"
#include "busbar/cli/step_ask.h"
#include "busbar/cli/token_cost.h"
#include "busbar/questions/sweep.h"
#include "busbar/step/scale_run.h"

namespace busbar {
namespace {

struct CompareFlags {
  CommonOptions common;
  std::string first;
  std::vector<std::string> others;
  CompareAsk ask;
  std::vector<std::string> clusters;
  std::string smallest, largest, algorithms, scale, tokens, crossing;
  double factor = 2;
};

Result<int> run_steps(CompareFlags& o) {
  LongRun watch("variants");
  BUSBAR_ASSIGN(const std::vector<CompareRow> rows, run_compare(o.ask, watch));
  watch.report_interruption();
  if (rows.empty()) return watch.status();
  Json j = compare_json(rows, o.ask, o.common);
  j["complete"] = !watch.interrupted();
  const bool none_fits = std::all_of(rows.begin(), rows.end(), [](const auto& r) { return r.run.does_not_fit; });
  return deliver(o.common, j, compare_document(rows, o.ask, o.common.typed), watch.status(none_fits ? 1 : 0));
}

Result<int> run_crossing(const CompareFlags& o) {
  if (o.ask.machines.size() != 2 || !o.ask.has_model() || !o.ask.fabrics.empty() || !o.ask.changes.empty())
    return flag_error("--crossing", "needs two machines and a model, and neither --fabrics nor --variant");
  BUSBAR_ASSIGN(const CrossingAsk crossing, parse_crossing(o.crossing));
  LongRun watch("steps");
  BUSBAR_ASSIGN(const MachineCrossing found, find_crossing(o.ask, crossing, watch));
  Json j{{"schema", "busbar.compare/1"}};
  j["crossing"] = crossing_json(found);
  j["engine"] = o.common.engine;
  j["inputs_hash"] = inputs_hash(o.common);
  j["complete"] = !watch.interrupted();
  return deliver(o.common, j, crossing_document(found, o.common.typed), watch.status(found.found ? 0 : 1));
}

Result<CallsAsk> read_calls(const CompareFlags& o, Collective op) {
  CallsAsk calls{.op = op, .sizes = {}, .algorithms = {}};
  const std::string first = o.smallest.empty() ? "1G" : o.smallest;
  BUSBAR_ASSIGN(calls.sizes, sweep_sizes(first, o.largest.empty() ? first : o.largest, o.factor));
  calls.usual = o.algorithms.empty() && !o.scale.empty();
  if (calls.usual) calls.algorithms = usual_algorithms(op);
  for (const std::string_view name : split_at(o.algorithms.empty() ? "auto" : o.algorithms, ','))
    if (!calls.usual) calls.algorithms.emplace_back(name);
  if (o.scale.empty()) return calls;
  if (o.ask.gpus > 0) return flag_error("--scale", "already says how many GPUs; leave out --gpus");
  for (const std::string& machine : o.ask.machines)
    if (machine.find(':') != std::string::npos)
      return flag_error("--scale", fmt::format("needs machines without a size, such as {}, not '{}'",
                                               machine.substr(0, machine.find(':')), machine));
  BUSBAR_ASSIGN(const auto range, parse_range(o.scale, "--scale", "GPUs", "8..4096", 1u << 20));
  calls.from = range.first;
  calls.to = range.second;
  return calls;
}

/// Error kInvalid for a flag of steps: a collective ignores it.
Status refuse_step_flags(CompareFlags& o) {
  std::set<std::string> of_steps = {"--scenario",    "--variant", "--crossing", "--tokens",
                                    "--power-price", "--pue",     "--years"};
  for (const Flag& f : scenario_flags(o.ask.input.flags)) of_steps.insert(f.names);
  of_steps.erase("--cluster");
  for (const std::string& name : o.common.given)
    if (of_steps.contains(name))
      return flag_error(name.c_str(), "is for a training step; leave it out of a collective");
  return {};
}

Result<int> run_collective(CompareFlags& o, Collective op) {
  BUSBAR_RETURN_IF_ERROR(refuse_step_flags(o));
  BUSBAR_ASSIGN(const CallsAsk calls, read_calls(o, op));
  LongRun watch("times");
  BUSBAR_ASSIGN(const std::vector<CallRow> rows, run_calls(o.ask, calls, watch));
  watch.report_interruption();
  if (rows.empty()) return watch.status();
  Json j = calls_json(rows, calls, o.common);
  j["complete"] = !watch.interrupted();
  return deliver(o.common, j, calls_document(rows, calls, o.common.typed), watch.status());
}

/// Error kUnsupported for a flag that changes nothing in a table of the catalogue.
Status refuse_other_flags(const CompareFlags& o) {
  std::set<std::string> used = {"--json", "--csv", "--html", "--catalog"};
  if (o.first == "optics") used.insert("--prices");
  for (const std::string& name : o.common.given)
    if (!used.contains(name))
      return unsupported(fmt::format("has no effect with {}; leave it out", o.first), {"", 0, 0, name});
  return {};
}

Result<int> run_catalog(const CompareFlags& o) {
  BUSBAR_RETURN_IF_ERROR(refuse_other_flags(o));
  const Catalog catalog(o.common.overrides.catalog);
  Json j;
  Document d;
  if (o.first == "links") {
    BUSBAR_ASSIGN(const std::vector<LinkRow> rows, read_links(catalog));
    j = links_json(rows);
    d = links_document(rows, o.common.typed);
  } else {
    BUSBAR_ASSIGN(const PriceList prices, PriceList::open(catalog, o.ask.cost.prices));
    BUSBAR_ASSIGN(const std::vector<OpticsRow> rows, read_optics(catalog, prices));
    j = optics_json(rows);
    d = optics_document(rows, o.common.typed);
  }
  j["inputs_hash"] = inputs_hash(o.common);
  return deliver(o.common, j, d);
}

/// Takes the collective out of the machines, if there is one.
std::optional<Collective> take_collective(std::vector<std::string>& machines) {
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Result<Collective> op = parse_collective(machines[i]);
    if (!op.ok()) continue;
    machines.erase(machines.begin() + static_cast<std::ptrdiff_t>(i));
    return *op;
  }
  return std::nullopt;
}

Result<int> run(CompareFlags& o) {
  if (o.others.empty() && (o.first == "links" || o.first == "optics")) return run_catalog(o);
  o.ask.machines = o.clusters;
  if (!o.first.empty()) o.ask.machines.push_back(o.first);
  for (std::string& word : o.others) o.ask.machines.push_back(std::move(word));
  const std::optional<Collective> op = take_collective(o.ask.machines);
  if (o.ask.shapes > 0 && (!o.ask.fabrics.empty() || o.ask.gpus > 0 || !o.scale.empty()))
    return flag_error("--shapes",
                      "already says how many chips, and how they are wired; leave out --fabrics, --gpus and "
                      "--scale");
  for (const std::string& word : o.ask.machines)  // such as all_reduc
    if (Result<Collective> none = parse_collective(word);
        !op && !o.ask.has_model() && !none.ok() && none.error().message.find("did you mean") != std::string::npos)
      return none.error();
  if (o.ask.machines.empty() || (!o.ask.has_model() && !op))
    return invalid(
        "name machines and a model or a collective: busbar compare dgx-h100 dgx-b200 --gpus 512 --model llama3-70b, "
        "busbar compare dgx-h100:64 --model llama3-70b --fabrics ib,roce, or busbar compare dgx-h100:8 dgx-b200:8 "
        "all_reduce -b 1G");
  BUSBAR_RETURN_IF_ERROR(o.ask.cost.check());
  o.ask.input.overrides = o.common.overrides;
  join_command(o.ask.train);
  o.ask.train.engine = o.common.engine;
  o.ask.train.timeline = o.ask.train.relief = o.ask.train.scaling = false;
  if (op) return run_collective(o, *op);
  if (!o.scale.empty())
    return flag_error("--scale",
                      "is for a collective, such as all_reduce; for steps on two machines: busbar train dgx-h100:64 "
                      "llama3-70b --tp 8 --global-batch 1024 --scale 8..512 --beside cluster=dgx-b200:64");
  for (const auto& [flag, text] : {std::pair{"-b", &o.smallest}, {"-e", &o.largest}, {"--algorithms", &o.algorithms}})
    if (!text->empty()) return flag_error(flag, "is for a collective, such as all_reduce; leave it out");
  if (!o.crossing.empty()) return run_crossing(o);
  if (!o.tokens.empty()) {
    BUSBAR_ASSIGN(o.ask.tokens, parse_count(o.tokens, "--tokens", "15T (1e12), 300B (1e9) or 2e9"));
  }
  return run_steps(o);
}

}  // namespace

Command compare_command(const std::string& typed) {
  const auto o = std::make_shared<CompareFlags>();
  Command c = new_command(o->common, typed, "compare",
                          "machines and fabrics side by side: step, MFU, price, power, $ per token, and what is a tie");
  c.examples =
      "  busbar compare dgx-h100 dgx-b200 gb200-nvl72 --gpus 1152 --model llama3-70b\n"
      "  busbar compare dgx-h100 --gpus 512 --model llama3-70b --fabrics ib,roce,spectrum-x,rail-only,2:1,4:1\n"
      "  busbar compare dgx-h100:64 dgx-h200:64 --model llama3-70b --tp 8 --global-batch 1024 --html compare.html\n"
      "  busbar compare dgx-h100:64 --model llama3-70b --tp 8 --variant layout.pp=4 --variant layout.zero=3 --json\n"
      "  busbar compare dgx-h100:8 dgx-b200:8 all_reduce -b 1M -e 1G -f 32\n"
      "  busbar compare dgx-h100 all_reduce --scale 8..4096 -b 1K -e 1G -f 32\n"
      "  busbar compare tpu-v4 --shapes 512 all_reduce -b 1G\n"
      "  busbar compare links\n"
      "  busbar compare optics\n";
  c.positionals = {{"CLUSTER", "machines: presets, NAME:N or files, and maybe a collective; or `links`, or `optics`",
                    &o->first, false, &o->others}};
  ScenarioFlags& f = o->ask.input.flags;
  c.flags = {
      {"--cluster", "CLUSTER", "one of the machines, as the argument CLUSTER; may be repeated", "Scenario",
       &o->clusters},
      {"--scenario", "FILE", "model and layout of this file, on the machines named", "Scenario",
       &o->ask.input.scenario},
      gpus_flag(o->ask.gpus),
      {"--fabrics", "LIST",
       "each machine with each of these: ib, roce, roce-untuned, spectrum-x, uec, tcp, rail-only, leaf-spine, "
       "fat-tree, dragonfly, photonics, names of catalog fabrics, or ratios such as 2:1 and fat-tree-4:1",
       "Scenario", &o->ask.fabrics},
      {"--shapes", "N",
       "every torus of N chips that the optical switches of each machine can wire: which shape is best", "Scenario",
       &o->ask.shapes},
      {"--variant", "CHANGES", "each machine again with these changes: 'layout.pp=4 layout.zero=3'; may be repeated",
       "Scenario", &o->ask.changes},
      {"--crossing", "KEY=A..B",
       "from which value of a key the first machine is as fast as the second: "
       "node.links[1].rate=20..450GB/s",
       "Scenario", &o->crossing},
      {"--tokens", "N", "also days, price and energy of a run of N tokens: 15T, 300B", "Cost", &o->tokens},
      {"-b,--minbytes", "SIZE", "smallest size of the collective (default 1G)", "Collective", &o->smallest},
      {"-e,--maxbytes", "SIZE", "largest size (default: the smallest)", "Collective", &o->largest},
      {"-f,--stepfactor", "X", "factor between sizes (default 2)", "Collective", &o->factor},
      {"--algorithms", "LIST", "each machine with each of these: ring,tree,nvls (default auto)", "Collective",
       &o->algorithms},
      {"--scale", "FROM..TO",
       "with FROM to TO GPUs, doubling: which algorithm wins where (default: those that libraries run the collective "
       "by)",
       "Collective", &o->scale},
  };
  for (Flag& flag : scenario_flags(f)) {
    if (flag.names == "--layout") flag.help = "layout file; without any layout, a search finds one per machine";
    if (flag.names != "--cluster") c.flags.push_back(std::move(flag));
  }
  c.add(cost_flags(o->ask.cost));
  c.add(predict_flags(o->ask.train.predict, "as the framework: process, or graph with layout.cuda_graphs"));
  add_common_flags(c, o->common, Engines::kFluids, false);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
