#include "busbar/views/step_document.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/cost/money.h"
#include "busbar/questions/step_words.h"
#include "busbar/report/style.h"
#include "busbar/step/machine.h"
#include "busbar/topology/levels.h"
#include "busbar/views/beside_table.h"
#include "busbar/views/bound_words.h"
#include "busbar/views/checkpoint_facts.h"
#include "busbar/views/fit_table.h"
#include "busbar/views/layout_words.h"
#include "busbar/views/level_table.h"
#include "busbar/views/link_courses_drawing.h"
#include "busbar/views/money_flow.h"
#include "busbar/views/network_words.h"
#include "busbar/views/packet_counts.h"
#include "busbar/views/penalty_words.h"
#include "busbar/views/policy_words.h"
#include "busbar/views/published_words.h"
#include "busbar/views/scaling_drawing.h"
#include "busbar/views/step_parts.h"
#include "busbar/views/step_tables.h"
#include "busbar/views/step_timeline.h"
#include "busbar/views/token_prices.h"
#include "busbar/views/topology_drawing.h"
#include "busbar/views/traced_overlay.h"
#include "busbar/workload/expert_load.h"
#include "busbar/workload/trained_names.h"

namespace busbar::views {
namespace {

/// What differs from 1F1B.
std::string schedule_words(const workload::LayoutSpec& l) {
  if (l.schedule != workload::PipelineSchedule::k1F1B)
    return fmt::format(" ({}{})", workload::name_of(l.schedule),
                       l.vpp > 1 ? fmt::format(", {} chunks a stage", l.vpp) : "");
  return l.vpp > 1 ? fmt::format(" (interleaved, {} chunks a stage)", l.vpp) : "";
}

/// "64 h100-sxm, 32 a100-sxm at 38 % of their speed"; empty: all GPUs are of one kind.
std::string kinds_words(const step::TrainRun& r) {
  std::string out;
  if (!r.kinds.any()) return out;
  const std::vector<double> speeds = step::speeds_of(r.kinds, r.scenario.model, r.layout);
  for (std::size_t k = 0; k < speeds.size(); ++k) {
    const auto count = std::count(r.kinds.of_rank.begin(), r.kinds.of_rank.end(), k);
    append_word(out, fmt::format("{} {}", count, r.kinds.parts[k]));
    if (speeds[k] < 1) out += fmt::format(" at {:.0f} % of the speed of the fastest", 100 * speeds[k]);
  }
  return out + (r.layout.pp > 1 ? "; each stage waits for the slowest of its GPUs, and layers are cut by these speeds"
                                : "; all replicas wait for the slowest");
}

/// What differs from training all weights by AdamW on sequences of one document.
std::string trained_words(const workload::LayoutSpec& l) {
  std::string s;
  if (l.adapters.any())
    s += fmt::format(", adapters of rank {} beside {} weights", l.adapters.rank, workload::name_of(l.adapters.base));
  if (l.optimizer.kind != workload::OptimizerKind::kAdamW)
    s += fmt::format(", optimizer {}", workload::name_of(l.optimizer.kind));
  if (l.optimizer.moments != workload::MomentKind::kFp32)
    s += fmt::format(", moments in {}", workload::name_of(l.optimizer.moments));
  if (!l.batch.documents.empty())
    s += fmt::format(", documents of {}", l.batch.documents.size() == 1
                                              ? fmt::format("{} tokens", l.batch.documents[0])
                                              : fmt::format("{} lengths", l.batch.documents.size()));
  return s;
}

std::string layout_words(const workload::LayoutSpec& l) {
  std::string s = fmt::format("TP {} x PP {}{}", l.tp, l.pp, schedule_words(l));
  if (std::adjacent_find(l.split.chunk_layers.begin(), l.split.chunk_layers.end(), std::not_equal_to{}) !=
      l.split.chunk_layers.end()) {
    s += fmt::format(" (layers: {})", workload::chunk_layers_text(l));
  }
  if (l.cp > 1)
    s += fmt::format(
        " x CP {}{}", l.cp,
        l.context == workload::ContextParallel::kRing ? "" : fmt::format(" ({})", workload::name_of(l.context)));
  s += fmt::format(" x DP {}{}, ZeRO-{}, sequence {}, micro-batch {}, global batch {}, {}, recompute {}", l.dp,
                   l.ep > 1 ? fmt::format(", EP {}", l.ep) : "", l.sharding.zero, l.batch.seq, l.batch.micro,
                   l.batch.global, workload::name_of(l.precision), workload::name_of(l.recomputation.kind));
  s += trained_words(l);
  if (l.rank_order != workload::kTpCpDpPp) s += ", ranks in the order " + workload::name_of(l.rank_order);
  if (l.offload.optimizer || l.offload.activations)
    s += fmt::format(", in host memory: {}", !l.offload.activations ? "optimizer states"
                                             : l.offload.optimizer  ? "optimizer states and activations"
                                                                    : "activations");
  if (l.straggler.speed < 1)
    s += fmt::format("; the slowest GPU, in stage {}, at {} % of its speed", l.straggler.stage,
                     format_number(100 * l.straggler.speed));
  return s;
}

/// Without the keys that a search chose instead of the framework.
std::string framework_sets(const step::TrainRun& r) {
  if (r.planned_flags.empty()) return r.scenario.framework_sets;
  std::string out;
  for (std::string_view item : split_at(r.scenario.framework_sets, ',')) {
    if (item.starts_with(' ')) item.remove_prefix(1);
    if (!item.empty() && !item.starts_with("recompute")) append_word(out, item);
  }
  return out;
}

/// What the framework sets where the layout says nothing.
std::string framework_words(const step::TrainRun& r) {
  const std::string sets = framework_sets(r);
  const std::string& release = r.scenario.framework_release;
  std::string words = r.scenario.framework + (release.empty() ? "" : " " + release) + ": " +
                      (sets.empty() ? "sets nothing else than Busbar" : sets);
  if (r.layout.pp > 1 && !r.layout.places.contains("vpp")) words += ", vpp 1";
  return words;
}

/// What of a job's file counts, and what does not.
report::Paragraph job_words(const questions::JobFile& job) {
  std::string text = fmt::format("{}: read as {}.", job.file, job.program);
  for (const std::string& note : job.notes) text += fmt::format(" Note: {}.", note);
  if (!job.unknown.empty()) text += fmt::format(" Not known, left out: {}.", comma_list(job.unknown));
  if (!job.harmless.empty()) text += fmt::format(" Without effect on a step: {}.", comma_list(job.harmless));
  return report::Paragraph{text};
}

report::Facts headline(const step::TrainRun& r) {
  report::Facts f;
  const auto add = [&](std::string key, std::string value) { f.items.emplace_back(std::move(key), std::move(value)); };
  add("step time", format_duration(r.step.step_time.in_s()));
  add("MFU", fmt::format("{} %", format_number(100 * r.metrics.mfu)));
  add("tokens", fmt::format("{} /s per GPU", format_number(r.metrics.tokens_per_s_per_gpu)));
  add("memory per GPU", fmt::format("{} of {}", format_size(static_cast<double>(count(r.memory.total()))),
                                    format_size(static_cast<double>(count(r.memory_capacity)))));
  if (r.scaling_efficiency) add("scaling", questions::scaling_words(r));
  if (r.cluster().usd_per_gpu_hour > 0) add("money", cost::format_money(r.cost.usd_per_step) + " a step");
  return f;
}

/// "9.48 GB left" or "12.1 GB too much".
std::string memory_verdict(const step::TrainRun& r) {
  const double need = static_cast<double>(count(r.memory.total())),
               have = static_cast<double>(count(r.memory_capacity));
  return need > have ? fmt::format("does not fit: {} too much", format_size(need - have))
                     : fmt::format("fits, {} left", format_size(have - need));
}

/// Why GPUs are idle; empty if the backward pass hides the reduction of gradients.
std::string gradient_words(const step::TrainRun& r) {
  const step::GradientWindow w = step::gradient_window(r);
  if (w.reduction <= w.backward || r.step.breakdown.exposed_dp <= Duration()) return "";
  return fmt::format("their reduction takes {}, but the backward pass that could hide it only {}: GPUs are idle for {}",
                     format_duration(w.reduction.in_s()), format_duration(w.backward.in_s()),
                     format_duration(r.step.breakdown.exposed_dp.in_s()));
}

/// The cost of waiting for the slowest GPU.
std::string spread_words(const step::TrainRun& r) {
  const step::StepSpread s = step::step_spread(r);
  std::string words = fmt::format(
      "each GPU varies by {:.2g} %, and every step waits for the slowest of {} GPUs: {} on average instead of {} with "
      "equal GPUs, {} to {} in 80 % of steps, 1 step in 100 above {}",
      100 * r.kernels.jitter_share, r.law.gpus, format_duration(r.step.step_time.in_s()),
      format_duration(r.step.balanced.in_s()), format_duration(s.p10_s), format_duration(s.p90_s),
      format_duration(s.p99_s));
  if (r.law.delay_s > 0)
    words += fmt::format("; {} delays of {} per step", format_number(r.law.delays), format_duration(r.law.delay_s));
  if (r.law.slow_chance > 0)
    words += fmt::format("; in {} % of steps a GPU is slow and the step takes {}",
                         format_number(100 * r.law.slow_chance), format_duration(r.law.slow_s));
  return words;
}

std::string expert_words(const step::TrainRun& r) {
  const workload::ExpertLoad load = workload::expert_load(r.scenario.model, r.layout);
  std::string words =
      fmt::format("the busiest of {} ranks has {:.3g} times the mean load, {:.3g} times in one of ten exchanges",
                  r.layout.ep, load.busiest, load.busiest_p90);
  if (r.layout.experts.capacity > 0)
    words += fmt::format("; {:.2g} % of the tokens' copies are dropped", 100 * load.dropped);
  return words;
}

/// "dp=sharp: 1 of 86 calls a step (all_reduce); all_gather and reduce_scatter as the library chooses".
std::string algorithm_words(const step::TrainRun& r, const std::string& asked) {
  const std::size_t equals = asked.find('=');
  const std::string purpose = asked.substr(0, equals), name = asked.substr(equals + 1);
  std::uint64_t with = 0, all = 0;
  std::set<std::string> taken, left;
  for (const step::CallUse& u : r.step.calls) {
    const program::CollectiveCall& c = r.program.calls[index(u.call)];
    if (program::name_of(u.cls) != purpose) continue;
    const bool runs = c.algorithm.starts_with(name);
    all += u.count;
    with += runs ? u.count : 0;
    (runs ? taken : left).insert(collectives::name_of(c.op));
  }
  if (with == all || with == 0) return "";  // as asked, or chosen by a word such as "fastest"
  return fmt::format("{}: {} of {} calls a step ({}); the others ({}) as the library chooses", asked, with, all,
                     fmt::join(taken, ", "), fmt::join(left, ", "));
}

std::string spares_words(const step::TrainRun& r) {
  if (r.settings.gpus_per_domain == 0) return "";
  return fmt::format("; {}, {} in all: rates per GPU, MFU and prices count them", domain_words(r),
                     r.gpus_with_spares(r.layout.ranks()) - r.layout.ranks());
}

report::Facts details(const step::TrainRun& r, const questions::GpuHour& hour) {
  report::Facts f;
  f.title = "The scenario and its result";
  const auto add = [&](std::string key, std::string value) { f.items.emplace_back(std::move(key), std::move(value)); };
  const spec::FabricSummary& fabric = r.cluster().fabric;
  add("machine", fmt::format("{}, {} {} ({}){}", r.cluster().name, r.layout.ranks(),
                             step::gpus_in_words(r.cluster().topology), r.cluster().gpu_part, spares_words(r)));
  if (std::string kinds = kinds_words(r); !kinds.empty()) add("GPUs", std::move(kinds));
  std::string network = fabric.network.empty() ? fabric.kind : fabric.network + ", " + fabric.kind;
  constexpr std::pair<const char*, const char*> kTiers[] = {{"leaf", "leaves"}, {"spine", "spines"}, {"core", "cores"}};
  for (std::size_t k = 0; k < fabric.switches.size(); ++k) {
    const bool one = fabric.switches[k] == 1;
    const std::string tier = k < std::size(kTiers) ? (one ? kTiers[k].first : kTiers[k].second)
                                                   : fmt::format("{} of tier {}", one ? "switch" : "switches", k + 1);
    network += fmt::format(", {} {}", fabric.switches[k], tier);
  }
  if (!views::wiring_words(fabric).empty()) network += ", NICs " + views::wiring_words(fabric);
  add("fabric", network);
  const auto in_e9 = [](std::uint64_t parameters) { return format_number(static_cast<double>(parameters) / 1e9); };
  std::string model =
      fmt::format("{}, {}e9 parameters", r.scenario.model.name, in_e9(workload::parameter_count(r.scenario.model)));
  if (r.scenario.model.moe.experts > 0)
    model += fmt::format(", of which a token uses {}e9", in_e9(workload::active_parameter_count(r.scenario.model)));
  add("model", model);
  add("layout", layout_words(r.layout));
  if (!r.scenario.framework.empty()) add("framework", framework_words(r));
  if (r.scenario.model.moe.experts > 0) add("experts", expert_words(r));
  add("collectives", policy_words(r.machine->policy(), r.predict.launch, r.machine->protocol().launch));
  for (const std::string& asked : r.settings.algorithms)
    if (std::string words = algorithm_words(r, asked); !words.empty()) add("algorithm", std::move(words));
  if (const auto& penalty = r.machine->policy().penalty)
    add("transport", penalty_words(*penalty, "the step", format_duration(r.p99.in_s())).text);
  add("model FLOPs",
      fmt::format("{} TFLOP/s per GPU with causal attention; counting full attention {} TFLOP/s, MFU {} %",
                  format_number(r.metrics.model_tflops_per_gpu),
                  format_number(r.metrics.model_tflops_per_gpu_full_attention),
                  format_number(100 * r.metrics.mfu_full_attention)));
  add("idle", fmt::format("no kernel runs on the GPU for {:.0f} % of the step",
                          (step::idle_percent(r.step.breakdown, r.step.step_time))));
  if (std::string words = gradient_words(r); !words.empty()) add("gradients", std::move(words));
  add("memory", memory_verdict(r));
  if (std::string words = questions::waiting_words(r); !words.empty())
    add("money",
        fmt::format("{} 1 % of the step costs {} a day. The price of a GPU-hour: {}. {}", words,
                    cost::format_money(r.cost.usd_per_day_per_percent), r.cluster().price_source, bought_words(hour)));
  add("spread", spread_words(r));
  if (r.settings.jobs > 1)
    add("jobs", fmt::format("{} equal jobs in step, nodes {}: one job alone takes {}, so the others cost {:+.1f} %",
                            r.settings.jobs, r.settings.placement, format_duration(r.alone.in_s()),
                            100 * (r.step.step_time.in_s() / r.alone.in_s() - 1)));
  add("accuracy",
      fmt::format("{:.0f} of 10 published steps took {} the predicted time, waiting for the slowest GPU included: {}; "
                  "kernels alone {}: {}",
                  r.band.held_percent / 10, predict::factor_words(r.band.low_percent, r.band.high_percent),
                  r.band.basis, predict::factor_words(r.kernels.band_low_percent, r.kernels.band_high_percent),
                  r.kernels.band_basis));
  return f;
}

/// The bubble of equal stages, where one part of the step is p - 1 of v m such parts longer.
std::string bubble_law(const workload::LayoutSpec& l) {
  if (l.pp == 1 || l.splits_backward()) return "";
  const double percent = 100.0 * (l.pp - 1) / (l.vpp * l.micro_batches());
  return fmt::format("The textbook bubble is (p-1)/(v m) = {}/({} x {}), {} % of the time of all micro-batches.",
                     l.pp - 1, l.vpp, l.micro_batches(), format_number(percent));
}

/// What each part of the bar is worth.
void add_worth(const std::vector<step::FreePart>& free, report::Bars& bars) {
  bars.more = "if free";
  bars.note = "If free: the change of the step, simulated again with this part costing nothing. These need not add up.";
  for (const step::FreePart& f : free)
    for (report::BarPart& part : bars.bars[0].parts)
      if (part.name == words_of_part(f.part))
        part.more = (f.saved_s < 0 ? "+" : "-") + format_duration(std::abs(f.saved_s));
}

report::Bars breakdown_bars(const step::TrainRun& r, const questions::TrainStep& extras) {
  const std::vector<step::BesideRun>& besides = extras.besides;
  report::Bars bars;
  bars.title = "Where the time goes";
  bars.unit = "s";
  bars.lights = true;
  bars.bars.push_back(breakdown_bar(besides.empty() ? "step" : "as asked", r.step.breakdown));
  for (const step::BesideRun& b : besides) bars.bars.push_back(breakdown_bar(b.variant.change, b.run.step.breakdown));
  if (!besides.empty()) return bars;  // the time at peak differs from bar to bar
  if (!extras.if_free.empty()) add_worth(extras.if_free, bars);
  bars.mark = r.step.step_time.in_s() * r.metrics.mfu;
  bars.mark_name = "all GPUs at peak FLOP/s";
  return bars;
}

report::Paragraph breakdown_note(const step::TrainRun& r) {
  return {
      fmt::format("The parts are those of {} and sum exactly to the step. Compute includes {} caused by collectives "
                  "that run at the same time.",
                  r.program.roles[index(r.step.critical_role)].name, format_duration(r.step.slowed.in_s()))};
}

report::Bars memory_bars(const step::TrainRun& r) {
  const workload::MemoryUse& m = r.memory;
  report::Bars bars;
  bars.title = fmt::format("Memory per GPU at its peak (stage {})", m.stage);
  bars.unit = "GB";
  const auto gb = [](Bytes b) { return static_cast<double>(count(b)) / 1e9; };
  report::Bar bar{"GPU", {}};
  for (const auto& [name, bytes] : workload::memory_parts(m))
    bar.parts.push_back({name, gb(bytes), memory_colours()[bar.parts.size()]});
  bars.bars.push_back(std::move(bar));
  bars.mark = gb(r.memory_capacity);
  bars.mark_name = "capacity";
  return bars;
}

report::Table memory_table(const step::TrainRun& r) {
  report::Table t{"Memory per GPU by pipeline stage (GB)", {"stage"}};
  std::vector<workload::MemoryUse> stages;
  for (std::uint32_t s = 0; s < r.layout.pp; ++s)
    stages.push_back(workload::stage_memory(r.scenario.model, r.layout, s));
  std::vector<std::size_t> used;  // parts that some stage has
  for (std::size_t p = 0; p < workload::memory_parts(r.memory).size(); ++p) {
    const auto has = [&](const workload::MemoryUse& m) { return count(workload::memory_parts(m)[p].bytes) > 0; };
    if (std::any_of(stages.begin(), stages.end(), has)) used.push_back(p);
  }
  for (const std::size_t p : used) t.columns.push_back({workload::memory_parts(r.memory)[p].name});
  t.columns.push_back({"total"});
  for (const workload::MemoryUse& m : stages) {
    std::vector<std::string> row{std::to_string(m.stage)};
    for (const std::size_t p : used)
      row.push_back(fmt::format("{:.1f}", count(workload::memory_parts(m)[p].bytes) / 1e9));
    row.push_back(fmt::format("{:.1f}", count(m.total()) / 1e9));
    t.rows.push_back(std::move(row));
  }
  return t;
}

/// Calls that differ only in their pipeline stage, as one row.
struct CallRow {
  std::string name, algorithm;
  std::uint64_t times = 0;
  Duration total, alone, exposed;  ///< sums over all uses
  double mean_us(Duration sum) const { return sum.in_us() / static_cast<double>(times); }
  lowering::Bound bound;
};

std::vector<CallRow> call_rows(const step::TrainRun& r) {
  std::vector<CallRow> rows;
  for (const step::CallUse& u : r.step.calls) {
    const std::string name = questions::call_name(r, u), algorithm = r.program.calls[index(u.call)].algorithm;
    const auto same = [&](const CallRow& row) { return row.name == name && row.algorithm == algorithm; };
    auto it = std::find_if(rows.begin(), rows.end(), same);
    if (it == rows.end()) it = rows.insert(rows.end(), {name, algorithm, 0, {}, {}, {}, u.bound});
    it->times += u.count;
    it->total += u.total;
    it->exposed += u.exposed;
    it->alone += u.alone * static_cast<std::int64_t>(u.count);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const CallRow& a, const CallRow& b) { return a.exposed > b.exposed; });
  return rows;
}

report::Table calls_table(const step::TrainRun& r, std::size_t most) {
  const std::vector<CallRow> rows = call_rows(r);
  report::Table t{"Communication, most exposed first",
                  {report::to_left("call"), report::to_left("algorithm"), "times", "mean (us)", "alone (us)",
                   "exposed (s)", report::to_left("bound by")}};
  for (const CallRow& row : rows) {
    if (t.rows.size() == most) break;
    t.rows.push_back({row.name, row.algorithm, std::to_string(row.times), format_number(row.mean_us(row.total)),
                      format_number(row.mean_us(row.alone)), format_number(row.exposed.in_s()),
                      bound_in_short(row.bound, r.cluster().topology)});
  }
  if (rows.size() > most) t.note = fmt::format("--html and --json list {} more kinds of calls.", rows.size() - most);
  return t;
}

report::Table relief_table(const step::TrainRun& r) {
  report::Table t{"Gain from improving links", {report::to_left("change"), "step time saved (%)"}};
  for (const choice::Relief& x : r.relief) t.rows.push_back({x.what, format_number(x.gain_percent)});
  return t;
}

report::Table source_table(const step::TrainRun& r) {
  report::Table t{"Assumptions and their sources", {report::to_left("figure")}};
  for (const std::string& s : r.cluster().sources) t.rows.push_back({s});
  for (const std::string& s : r.kernels.sources) t.rows.push_back({s});
  return t;
}

/// Everything a reader needs before the details; about one screen of a page.
void add_verdict(const step::TrainRun& r, const questions::TrainStep& extras, report::Document& d) {
  if (!extras.besides.empty()) d.add(beside_verdict(r, extras.besides));
  d.add(step_highlight(r));
  if (r.does_not_fit) d.add(fit_table(extras.fit_changes));
  if (r.none_fits)
    d.add(
        report::Paragraph{"No layout is given, and none fits. This one needs least memory: " + r.planned_flags + "."});
  else if (!r.planned_flags.empty())
    d.add(report::Paragraph{
        fmt::format("No layout is given, and the default one cannot run: {}. Planned: {}. This search stops "
                    "after {} timed {} of 1F1B; 'busbar plan' goes on until the best is proven.",
                    r.planned_because, r.planned_flags, r.planned_after, r.planned_after == 1 ? "layout" : "layouts")});
  add_batch_words(r.layout, d);
  std::string words = r.does_not_fit ? "" : questions::waiting_words(r);
  if (!extras.like.empty() && !r.does_not_fit) words += (words.empty() ? "" : " ") + published_words(extras.like, r);
  if (!words.empty()) d.add(report::Paragraph{std::move(words)}, report::Audience::kPage);
  d.add(headline(r), report::Audience::kTerminal);
  if (!extras.besides.empty()) d.add(beside_table(r, extras.besides));
  report::Bars time = breakdown_bars(r, extras), memory = memory_bars(r);
  time.brief = memory.brief = true;
  if (r.does_not_fit) time.title = "Where the time would go";
  if (const std::string law = bubble_law(r.layout); !law.empty()) time.note += (time.note.empty() ? "" : " ") + law;
  d.add(std::move(time), report::Audience::kPage);
  d.add(std::move(memory), report::Audience::kPage);
  if (!extras.levers.empty()) d.add(lever_table(r.cost.usd_per_day, extras.levers, 3), report::Audience::kPage);
  if (report::Drawing links = draw_link_courses(r.cluster().topology, r.step.timeline); !links.shapes.empty())
    d.add(std::move(links), report::Audience::kPage);
  if (extras.changes_left_out)
    d.add(
        report::Paragraph{
            "What each part is worth and what would make the step shorter are not here: on so large a machine "
            "these steps take several seconds more. With --explain the page has them."},
        report::Audience::kPage);
}

void add_machine(const step::TrainRun& r, report::Document& d) {
  const topology::Topology& t = r.cluster().topology;
  const auto add = [&](report::BlockElement e) { d.add(std::move(e), report::Audience::kPage); };
  add(level_table(topology::machine_levels(t)));
  const std::vector<trace::LinkLoad>& links = r.step.timeline.links;
  const bool waits =
      std::any_of(links.begin(), links.end(), [](const trace::LinkLoad& l) { return l.while_exposed > 0; });
  LinkHeat heat{std::vector<double>(t.link_count(), 0.0), waits ? "while GPUs wait" : "over the step"};
  for (const trace::LinkLoad& l : links) heat.load[l.link] = waits ? l.while_exposed : l.utilisation;
  for (report::Drawing& picture : draw_loads(t, heat)) add(std::move(picture));
}

void add_measured(const questions::TrainStep& t, report::Document& d) {
  const step::Gap& gap = t.measured->gap;
  std::vector<report::DocumentBlock> blocks{{gap_verdict(gap, t.traced.has_value()), report::Audience::kBoth}};
  if (t.traced) {
    blocks.push_back({traced_verdict(*t.traced), report::Audience::kBoth});
    for (report::BlockElement& e : overlay_blocks(*t.traced)) blocks.push_back({std::move(e), report::Audience::kPage});
    for (report::Table& table : traced_tables(*t.traced)) blocks.push_back({std::move(table), report::Audience::kBoth});
  }
  if (!gap.causes.empty()) blocks.push_back({gap_table(gap), report::Audience::kBoth});
  d.blocks.insert(d.blocks.begin(), blocks.begin(), blocks.end());
}

/// What was asked for besides the step.
void add_extras(const questions::TrainStep& t, report::Document& d) {
  if (t.compressions) d.add(compression_table(*t.compressions));
  if (t.saved) d.add(checkpoint_facts(*t.saved, t.checkpoint->every_steps, t.step.step_time_s));
  if (t.measured) add_measured(t, d);
  if (t.shortcuts) d.add(shortcut_words(*t.shortcuts));
}

}  // namespace

report::Document step_document(const questions::TrainStep& extras) {
  const step::TrainRun& r = *extras.run;
  report::Document d{fmt::format("{} on {} {} of {}", r.scenario.model.name, r.layout.ranks(),
                                 step::gpus_in_words(r.cluster().topology), r.cluster().name),
                     {},
                     {}};
  const report::Audience both_if_short = r.relief.empty() ? report::Audience::kPage : report::Audience::kBoth;
  add_verdict(r, extras, d);
  const auto fold = [&](const char* text, bool printed = true) {
    d.add(report::Fold{text, printed}, report::Audience::kPage);
  };
  d.add(report::Heading{"Timeline"}, report::Audience::kPage);
  const double end = r.step.balanced.in_s();
  report::TimelineView whole = timeline_view(r, "Timeline of the step", 0, end);
  whole.explore = true;
  d.add(std::move(whole), report::Audience::kPage);
  d.add(report::Heading{"Details"}, report::Audience::kPage);
  fold("Scenario and result");
  d.add(details(r, extras.gpu_hour));
  for (const std::string& note : r.scenario.model.notes)
    if (!note.starts_with(workload::kHarmlessNote))
      d.add(report::Paragraph{"Model: " + note + "."}, report::Audience::kTerminal);
  if (extras.from) d.add(job_words(*extras.from), report::Audience::kTerminal);
  for (const std::string& a : r.cluster().assumptions)
    d.add(report::Paragraph{"Assumed: " + a + "."}, report::Audience::kTerminal);
  fold("Time");
  d.add(breakdown_bars(r, extras));
  d.add(breakdown_note(r));
  const double slice = end / std::max(8u, r.layout.micro_batches());
  d.add(timeline_view(r, "The beginning", 0, slice), report::Audience::kPage);
  d.add(timeline_view(r, "The end", end - 1.5 * slice, end), report::Audience::kPage);
  d.add(report::Heading{"Appendix", true}, report::Audience::kPage);
  bool folded = false;
  for (const auto& [title, label] :
       {std::pair("A layer forward", "attention"), std::pair("A layer backward", "attention backward")}) {
    std::optional<report::TimelineView> layer = layer_view(r, title, label);
    if (!layer) continue;
    if (!std::exchange(folded, true)) fold("One layer in the middle of the step", false);
    d.add(std::move(*layer), report::Audience::kPage);
  }
  fold("Memory");
  d.add(memory_bars(r));
  d.add(memory_table(r), both_if_short);
  fold("Communication and its price");
  d.add(draw_money_flow(r), report::Audience::kPage);
  if (std::string prices = r.does_not_fit ? "" : token_prices(r, extras.gpu_hour); !prices.empty())
    d.add(report::Paragraph{std::move(prices)}, report::Audience::kPage);
  d.add(calls_table(r, 5), report::Audience::kTerminal);
  d.add(calls_table(r, 40), report::Audience::kPage);
  d.add(volume_table(extras.step.volumes), both_if_short);
  if (r.engine == "packet")
    d.add(report::Paragraph{fmt::format("Packets of {}, paths by {}: {} of data, {} acknowledgements; {}.", r.transport,
                                        r.balance, r.packet_counts.data, r.packet_counts.acks,
                                        trouble_of(r.packet_counts))});
  if (!r.relief.empty() || !extras.levers.empty()) fold("What would make it shorter");
  if (!extras.levers.empty()) d.add(lever_table(r.cost.usd_per_day, extras.levers, 20));
  if (!r.relief.empty())
    d.add(relief_table(r));
  else
    d.add(
        report::Paragraph{
            "--explain adds what each part is worth, what would make the step shorter, and the curve of scaling."},
        report::Audience::kPage);
  if (!extras.like.empty()) {
    fold("Published runs", false);
    d.add(published_table(extras.like), report::Audience::kPage);
  }
  fold("Machine", false);
  add_machine(r, d);
  if (extras.sizes && !draw_scaling(*extras.sizes, true).shapes.empty()) {
    fold("Scaling");
    d.add(draw_scaling(*extras.sizes, true), report::Audience::kPage);
  }
  fold("Assumptions and their sources", false);
  d.add(source_table(r), report::Audience::kPage);
  add_extras(extras, d);
  return d;
}

}  // namespace busbar::views
