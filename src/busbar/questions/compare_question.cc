#include "busbar/questions/compare_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/questions/compare_records.h"
#include "busbar/questions/job_file.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/predict_request.h"
#include "busbar/questions/question.h"
#include "busbar/questions/request_line.h"
#include "busbar/questions/step_ask.h"
#include "busbar/questions/step_request.h"
#include "busbar/questions/sweep.h"
#include "busbar/step/scale_run.h"

namespace busbar::questions {
namespace {

template <typename T>
Field compare_field(const char* name, T CompareRequest::*member, const char* value, const char* category,
                    const char* meaning) {
  return Field(name, member, "", meaning).takes(value).of(category);
}

/// The layout and what comes with it; the machines are words.
std::vector<Field> compared_scenario() {
  std::vector<Field> out = fields_inside(&CompareRequest::flags);
  std::erase_if(out, [](const Field& f) { return f.name == "cluster"; });
  for (Field& f : out)
    if (f.name == "layout") f.meaning = "layout file; without any layout, a search finds one per machine";
  return out;
}

}  // namespace

const Record& record_of(const CompareRequest*) {
  using C = CompareRequest;
  static const Record record(
      "compare request",
      joined(
          {{Field("machines", &C::machines, "",
                  "machines: presets, NAME:N or files, and maybe a collective; or `links`, or `optics`")
                .takes("CLUSTER")
                .as_word()
                .optional(),
            compare_field("cluster", &C::cluster, "CLUSTER", "Scenario",
                          "one of the machines, as the argument CLUSTER; may be repeated"),
            compare_field("scenario", &C::scenario, "FILE", "Scenario",
                          "model and layout of this file, on the machines named"),
            from_field(&C::from), gpus_field(&C::gpus),
            compare_field("fabrics", &C::fabrics, "LIST", "Scenario",
                          "each machine with each of these: ib, roce, roce-untuned, spectrum-x, uec, tcp, rail-only, "
                          "leaf-spine, fat-tree, dragonfly, photonics, names of catalog fabrics, or ratios such as "
                          "2:1 and fat-tree-4:1"),
            compare_field("shapes", &C::shapes, "N", "Scenario",
                          "every torus of N chips that the optical switches of each machine can wire: which shape is "
                          "best"),
            compare_field("variant", &C::variant, "CHANGES", "Scenario",
                          "each machine again with these changes: 'layout.pp=4 layout.zero=3'; may be repeated"),
            compare_field("crossing", &C::crossing, "KEY=A..B", "Scenario",
                          "from which value of a key the first machine is as fast as the second: "
                          "node.links[1].rate=20..450GB/s"),
            compare_field("tokens", &C::tokens, "N", "Cost",
                          "also days, price and energy of a run of N tokens: 15T, 300B"),
            compare_field("min_bytes", &C::min_bytes, "SIZE", "Collective",
                          "smallest size of the collective (default 1G)")
                .spelled("-b,--minbytes"),
            compare_field("max_bytes", &C::max_bytes, "SIZE", "Collective", "largest size (default: the smallest)")
                .spelled("-e,--maxbytes"),
            compare_field("step_factor", &C::step_factor, "X", "Collective", "factor between sizes (default 2)")
                .spelled("-f,--stepfactor"),
            compare_field("algorithms", &C::algorithms, "LIST", "Collective",
                          "each machine with each of these: ring,tree,nvls (default auto)"),
            compare_field("scale", &C::scale, "FROM..TO", "Collective",
                          "with FROM to TO GPUs, doubling: which algorithm wins where (default: those that libraries "
                          "run the collective by)")},
           compared_scenario(),
           fields_inside(&C::cost),
           predict_fields(&C::predict, kLaunchOfFrameworks),
           {engine_field(&C::engine, Engines::kFluids)},
           fields_inside(&C::overrides)}));
  return record;
}

namespace {

/// The fields that a request sets, in the order of its list.
std::vector<std::string> fields_set(const CompareRequest& r) {
  const CompareRequest defaults;
  std::vector<std::string> out;
  for (const Field& f : record_of(&r).fields())
    if (to_json(*f.type, f.at(&r)).dump() != to_json(*f.type, f.at(&defaults)).dump()) out.push_back(f.name);
  return out;
}

/// Error kInvalid for a field of steps: a collective ignores it.
Status refuse_step_fields(const CompareRequest& r) {
  std::set<std::string> of_steps = {"scenario", "from", "variant", "crossing", "tokens", "power_price", "pue", "years"};
  for (const Field& f : compared_scenario()) of_steps.insert(f.name);
  for (const std::string& name : fields_set(r))
    if (of_steps.contains(name)) return invalid("is for a training step; leave it out of a collective", field_of(name));
  return {};
}

/// Error kUnsupported for a field that changes nothing in a table of the catalogue.
Status refuse_other_fields(const CompareRequest& r, const std::string& table) {
  std::set<std::string> used = {"machines", "catalog"};
  if (table == "optics") used.insert("prices");
  for (const std::string& name : fields_set(r))
    if (!used.contains(name))
      return unsupported(fmt::format("has no effect with {}; leave it out", table), field_of(name));
  return {};
}

Result<CompareResult> compare_links(const CompareRequest& r) {
  BUSBAR_RETURN_IF_ERROR(refuse_other_fields(r, "links"));
  BUSBAR_ASSIGN(const std::vector<spec::LinkRow> rows, spec::read_links(spec::Catalog(r.overrides.catalog)));
  CompareLinks out = links_result(rows);
  out.inputs_hash = inputs_hash("compare", r, {});
  return CompareResult(std::move(out));
}

Result<CompareResult> compare_optics(const CompareRequest& r) {
  BUSBAR_RETURN_IF_ERROR(refuse_other_fields(r, "optics"));
  const spec::Catalog catalog(r.overrides.catalog);
  BUSBAR_ASSIGN(const spec::PriceList prices, spec::PriceList::open(catalog, r.cost.prices));
  BUSBAR_ASSIGN(const std::vector<spec::OpticsRow> rows, spec::read_optics(catalog, prices));
  CompareOptics out = optics_result(rows);
  out.inputs_hash = inputs_hash("compare", r, {});
  return CompareResult(std::move(out));
}

/// Takes the collective out of the machines, if there is one.
std::optional<collectives::Collective> take_collective(std::vector<std::string>& machines) {
  for (std::size_t i = 0; i < machines.size(); ++i) {
    const Result<collectives::Collective> op = collectives::parse_collective(machines[i]);
    if (!op.ok()) continue;
    machines.erase(machines.begin() + static_cast<std::ptrdiff_t>(i));
    return *op;
  }
  return std::nullopt;
}

Result<CallsAsk> read_calls(const CompareRequest& r, const CompareAsk& ask, collectives::Collective op) {
  CallsAsk calls{.op = op, .sizes = {}, .algorithms = {}};
  const std::string first = r.min_bytes.empty() ? "1G" : r.min_bytes;
  BUSBAR_ASSIGN(calls.sizes, sweep_sizes(first, r.max_bytes.empty() ? first : r.max_bytes, r.step_factor));
  calls.usual = r.algorithms.empty() && !r.scale.empty();
  if (calls.usual) calls.algorithms = usual_algorithms(op);
  for (const std::string_view name : split_at(r.algorithms.empty() ? "auto" : r.algorithms, ','))
    if (!calls.usual) calls.algorithms.emplace_back(name);
  if (r.scale.empty()) return calls;
  if (r.gpus > 0) return invalid("already says how many GPUs; leave out --gpus", field_of("scale"));
  for (const std::string& machine : ask.machines)
    if (machine.find(':') != std::string::npos)
      return invalid(fmt::format("needs machines without a size, such as {}, not '{}'",
                                 machine.substr(0, machine.find(':')), machine),
                     field_of("scale"));
  BUSBAR_ASSIGN(const auto range, step::parse_range(r.scale, "scale", "GPUs", "8..4096", 1u << 20));
  calls.from = range.first;
  calls.to = range.second;
  return calls;
}

Result<CompareResult> compare_calls(const CompareRequest& r, const CompareAsk& ask, collectives::Collective op,
                                    const Context& context) {
  BUSBAR_RETURN_IF_ERROR(refuse_step_fields(r));
  BUSBAR_ASSIGN(CallsAsk calls, read_calls(r, ask, op));
  BUSBAR_ASSIGN(std::vector<CallRow> rows, run_calls(ask, calls, context));
  if (rows.empty()) return interrupted();
  CompareCalls out = calls_result(std::move(rows), std::move(calls));
  out.engine = r.engine;
  out.inputs_hash = inputs_hash("compare", r, {});
  out.complete = !context.stopped();
  return CompareResult(std::move(out));
}

Result<CompareResult> compare_crossing(const CompareRequest& r, const CompareAsk& ask, const Context& context) {
  if (ask.machines.size() != 2 || !ask.has_model() || !ask.fabrics.empty() || !ask.changes.empty())
    return invalid("needs two machines and a model, and neither --fabrics nor --variant", field_of("crossing"));
  BUSBAR_ASSIGN(const CrossingAsk crossing, parse_crossing(r.crossing));
  CompareCrossing out;
  BUSBAR_ASSIGN(out.found, find_crossing(ask, crossing, context));
  out.crossing = crossing_result(out.found);
  out.engine = r.engine;
  out.inputs_hash = inputs_hash("compare", r, {});
  out.complete = !context.stopped();
  out.exit_status = out.found.found ? 0 : 1;
  return CompareResult(std::move(out));
}

/// The step of a row as a command; empty where no command gives it.
std::string step_line(const CompareRow& row, const CompareAsk& ask) {
  if (!row.variant.step.change.empty() || !ask.input.scenario.empty()) return "";
  const spec::ScenarioFlags& flags = ask.input.flags;
  StepRequest step{row.variant.machine,   flags.model,       flags.layout,    flags.degrees.trained,
                   row.variant.overrides, ask.train.predict, ask.train.engine};
  if (row.run.gpus < row.run.machine->ranks()) step.gpus = row.run.gpus;
  step.gpus_per_domain = row.run.settings.gpus_per_domain;
  return request_line(step, row.run.layout);
}

Result<CompareResult> compare_steps(const CompareRequest& r, CompareAsk& ask, const Context& context) {
  if (!r.tokens.empty()) {
    BUSBAR_ASSIGN(ask.tokens, parse_count(r.tokens, "tokens", "15T (1e12), 300B (1e9) or 2e9"));
  }
  BUSBAR_ASSIGN(std::vector<CompareRow> rows, run_compare(ask, context));
  if (rows.empty()) return interrupted();
  std::string read;
  for (const CompareRow& row : rows) read += row.run.kernels.text + row.run.scenario.text + row.run.cluster().text;
  CompareSteps out = steps_result(std::move(rows), ask.tokens);
  for (std::size_t i = 0; i < out.rows.size(); ++i)
    if (std::string line = step_line(out.found[i], ask); !line.empty()) out.rows[i].command = std::move(line);
  out.engine = r.engine;
  out.usd_per_kwh = r.cost.terms.usd_per_kwh;
  out.pue = r.cost.terms.pue;
  out.years = r.cost.terms.years;
  out.inputs_hash = inputs_hash("compare", r, read);
  out.complete = !context.stopped();
  const bool none_fits = std::none_of(out.rows.begin(), out.rows.end(), [](const ComparedStep& s) { return s.fits; });
  out.exit_status = none_fits ? 1 : 0;
  return CompareResult(std::move(out));
}

CompareAsk ask_of(const CompareRequest& r, const Context& context) {
  CompareAsk ask;
  ask.machines = r.cluster;
  ask.machines.insert(ask.machines.end(), r.machines.begin(), r.machines.end());
  ask.gpus = r.gpus;
  ask.fabrics = r.fabrics;
  ask.shapes = r.shapes;
  ask.changes = r.variant;
  ask.input = {r.scenario, r.flags, r.overrides};
  ask.train = step_ask(context);
  ask.train.predict = r.predict;
  ask.train.engine = r.engine;
  ask.train.timeline = ask.train.relief = ask.train.scaling = false;
  ask.cost = r.cost;
  return ask;
}

/// What cannot go together, and machines that are misspelt collectives, such as all_reduc.
Status check_compared(const CompareRequest& r, const CompareAsk& ask, bool collective) {
  if (r.shapes > 0 && (!r.fabrics.empty() || r.gpus > 0 || !r.scale.empty()))
    return invalid("already says how many chips, and how they are wired; leave out --fabrics, --gpus and --scale",
                   field_of("shapes"));
  for (const std::string& word : ask.machines)
    if (const Result<collectives::Collective> none = collectives::parse_collective(word);
        !collective && !ask.has_model() && !none.ok() && none.error().message.find("did you mean") != std::string::npos)
      return none.error();
  if (ask.machines.empty() || (!ask.has_model() && !collective))
    return invalid(
        "name machines and a model or a collective: busbar compare dgx-h100 dgx-b200 --gpus 512 --model llama3-70b, "
        "busbar compare dgx-h100:64 --model llama3-70b --fabrics ib,roce, or busbar compare dgx-h100:8 dgx-b200:8 "
        "all_reduce -b 1G");
  return r.cost.check();
}

/// Fields of collectives that steps ignore.
Status refuse_call_fields(const CompareRequest& r) {
  if (!r.scale.empty())
    return invalid(
        "is for a collective, such as all_reduce; for steps on two machines: busbar train dgx-h100:64 llama3-70b --tp "
        "8 --global-batch 1024 --scale 8..512 --beside cluster=dgx-b200:64",
        field_of("scale"));
  for (const auto& [place, text] : {std::pair{"-b", &r.min_bytes}, {"-e", &r.max_bytes}, {"algorithms", &r.algorithms}})
    if (!text->empty()) return invalid("is for a collective, such as all_reduce; leave it out", field_of(place));
  return {};
}

}  // namespace

Result<CompareResult> answer(const CompareRequest& r, const Context& context) {
  if (r.machines.size() == 1 && r.machines[0] == "links") return compare_links(r);
  if (r.machines.size() == 1 && r.machines[0] == "optics") return compare_optics(r);
  CompareAsk ask = ask_of(r, context);
  const std::optional<collectives::Collective> op = take_collective(ask.machines);
  std::optional<JobFile> job;
  if (!r.from.empty() && !op) {
    const std::string machine = ask.machines.size() == 1 ? ask.machines[0] : "";
    BUSBAR_ASSIGN(job, take_job({r.from, !r.scenario.empty(), machine, r.gpus}, ask.input.flags, ask.input.overrides));
    if (ask.gpus == 0) ask.gpus = job->gpus;
  }
  BUSBAR_RETURN_IF_ERROR(check_compared(r, ask, op.has_value()));
  if (op) return compare_calls(r, ask, *op, context);
  BUSBAR_RETURN_IF_ERROR(refuse_call_fields(r));
  Result<CompareResult> out = r.crossing.empty() ? compare_steps(r, ask, context) : compare_crossing(r, ask, context);
  return out.ok() || !job ? std::move(out) : at_job(out.error(), *job);
}

Question compare_question() {
  return make_question<CompareRequest, CompareResult>(
      "compare", "machines and fabrics side by side: step, MFU, price, power, $ per token, and what is a tie",
      "  busbar compare dgx-h100 dgx-b200 gb200-nvl72 --gpus 1152 --model llama3-70b\n"
      "  busbar compare dgx-h100 --gpus 512 --model llama3-70b --fabrics ib,roce,spectrum-x,rail-only,2:1,4:1\n"
      "  busbar compare dgx-h100:64 dgx-h200:64 --model llama3-70b --tp 8 --global-batch 1024 --html compare.html\n"
      "  busbar compare dgx-h100:64 --model llama3-70b --tp 8 --variant layout.pp=4 --variant layout.zero=3 --json\n"
      "  busbar compare dgx-h100:8 dgx-b200:8 all_reduce -b 1M -e 1G -f 32\n"
      "  busbar compare dgx-h100 all_reduce --scale 8..4096 -b 1K -e 1G -f 32\n"
      "  busbar compare tpu-v4 --shapes 512 all_reduce -b 1G\n"
      "  busbar compare links\n"
      "  busbar compare optics\n",
      180, 2);
}

}  // namespace busbar::questions
