#include "busbar/step/train_run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "busbar/base/cores.h"
#include "busbar/packet/packet_engine.h"
#include "busbar/predict/jitter.h"
#include "busbar/predict/launch.h"
#include "busbar/predict/machine_changes.h"
#include "busbar/predict/packet_words.h"
#include "busbar/predict/penalties.h"
#include "busbar/routing/path_view.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/step/machine.h"
#include "busbar/step/registered_kernels.h"
#include "busbar/topology/gpu_memory.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/expert_kernels.h"

namespace busbar::step {
namespace {

/// Prepares the calls of programs and runs them on fresh engines.
class StepRunner {
 public:
  explicit StepRunner(const TrainRun& run) : run_(run) {}

  Result<program::Program> program(const workload::LayoutSpec& layout) const {
    return program(layout, run_.settings.jobs);
  }
  Result<program::Program> program(const workload::LayoutSpec& layout, std::uint32_t jobs) const {
    const workload::ModelSpec& model = run_.scenario.model;
    BUSBAR_ASSIGN(program::Program p,
                  workload::build_program(model, run_.kinds.any() ? cut_by_speed(run_.kinds, model, layout) : layout,
                                          run_.kernels));
    copy_calls(jobs, run_.machine->ranks() / run_.settings.jobs, p);
    const bool whole = layout.ranks() == run_.layout.ranks();  // not one replica, which has no data parallelism
    BUSBAR_RETURN_IF_ERROR(set_algorithms(run_.settings.algorithms, *run_.machine, whole, p));
    BUSBAR_RETURN_IF_ERROR(run_.machine->prepare(p));
    return p;
  }
  /// On the requested engine. `of`: takes the counts of its packets; null: not wanted.
  Result<StepResult> simulate(const program::Program& p, bool timeline, TrainRun* of = nullptr) const {
    if (run_.engine != "packet") return simulate_fluids(p, timeline, {});
    const auto packets = run_.machine->open_packets();
    BUSBAR_RETURN_IF_ERROR(packet::check_packet_program(*packets, p, run_.packets.patience_s));
    Result<StepResult> step = simulate_step(p, *packets, step_options(p, timeline));
    if (of != nullptr) {
      of->packet_counts = packets->counts();
      of->packet_threads = packets->threads();
    }
    return step;
  }
  Result<StepResult> simulate_fluids(const program::Program& p, bool timeline, const lowering::WhatIf& what_if) const {
    const auto engine = run_.machine->open_engine(what_if);
    return simulate_step(p, *engine, step_options(p, timeline));
  }

 private:
  StepOptions step_options(const program::Program& p, bool timeline) const {
    StepOptions step;
    step.contention = with_registered_kernels(workload::contention_in(run_.layout, run_.kernels), p,
                                              run_.cluster().topology, run_.kernels.cores);
    step.timeline = timeline;
    step.shortcuts = run_.machine->policy().shortcuts;
    step.topology = timeline ? &run_.cluster().topology : nullptr;
    return step;
  }

  const TrainRun& run_;
};

/// A step and what decides how its GPUs differ.
struct JobStep {
  const workload::LayoutSpec& layout;
  std::uint32_t jobs = 1;
  const StepResult& step;
};

/// The step of `layout` on the machine of `run` with one change, with GPUs that are all equal.
Result<StepResult> step_on(const TrainRun& run, predict::MachineChange change, const workload::LayoutSpec& layout,
                           std::uint32_t jobs) {
  TrainRun other;
  other.engine = change.policy.engine;
  other.scenario = run.scenario;
  other.layout = run.layout;
  other.settings = run.settings;
  BUSBAR_ASSIGN(other.kernels,
                spec::load_kernels(change.cluster, spec::Catalog(run.scenario.cluster_overrides.catalog)));
  other.kinds = run.kinds;
  if (run.kinds.any()) other.kernels = run.kernels;
  other.kernels.host_bytes_per_s = run.kernels.host_bytes_per_s;
  other.kernels.host_ranks = run.kernels.host_ranks;
  BUSBAR_ASSIGN(std::vector<topology::DeviceId> gpus, place_jobs(change.cluster.topology, run.settings));
  BUSBAR_ASSIGN(other.machine,
                predict::Predictor::make(std::move(change.cluster), std::move(gpus), std::move(change.policy)));
  const StepRunner runner(other);
  BUSBAR_ASSIGN(const program::Program program, runner.program(layout, jobs));
  return runner.simulate_fluids(program, false, {});
}

/// What makes the steps of a job on the machine of `run` differ: its own step, once more with delayed messages, and
/// with a slow GPU.
Result<StepLaw> law_of(const TrainRun& run, const JobStep& job) {
  const std::uint32_t gpus = job.layout.ranks();  // jobs do not wait for each other
  StepLaw law{job.step.balanced.in_s(), run.kernels.jitter_share, gpus};
  BUSBAR_ASSIGN(std::vector<lowering::LinkDelay> delays,
                predict::parse_jitter(run.settings.jitter, run.cluster().topology));
  if (!delays.empty()) {
    for (const lowering::LinkDelay& d : delays) law.delay_s = std::max(law.delay_s, d.delay.in_s());
    predict::PredictPolicy policy = run.machine->policy();
    policy.delays = std::move(delays);
    BUSBAR_ASSIGN(const StepResult late,
                  step_on(run, {"", run.cluster(), std::move(policy), false}, job.layout, job.jobs));
    law.delays = std::max(0.0, late.balanced.in_s() - law.step_s) / law.delay_s;
  }
  BUSBAR_ASSIGN(const Stragglers slow, parse_stragglers(run.settings.stragglers));
  if (slow.chance > 0) {
    workload::LayoutSpec layout = job.layout;
    layout.straggler.speed = 1 / slow.factor;
    layout.straggler.stage = std::min(index(job.step.critical_role), layout.pp - 1);
    const StepRunner runner(run);
    BUSBAR_ASSIGN(const program::Program program, runner.program(layout, job.jobs));
    BUSBAR_ASSIGN(const StepResult step, runner.simulate_fluids(program, false, {}));
    law.slow_chance = -std::expm1(gpus * std::log1p(-slow.chance));
    law.slow_s = std::max(law.step_s, step.balanced.in_s());
  }
  return law;
}

/// The machine of `run` once more, for another thread.
Result<TrainRun> open_again(const TrainRun& run) {
  TrainRun other;
  other.engine = run.engine;
  other.kernels = run.kernels;
  other.kinds = run.kinds;
  spec::Cluster cluster = run.cluster();
  BUSBAR_ASSIGN(std::vector<topology::DeviceId> gpus, place_jobs(cluster.topology, run.settings));
  BUSBAR_ASSIGN(other.machine, predict::Predictor::make(std::move(cluster), std::move(gpus), run.machine->policy()));
  return other;
}

/// The step with each group of links at 110 % of its rate, then with each change. Threads take one each at a time,
/// where the first takes long.
Result<std::vector<Duration>> changed_steps(const TrainRun& run, const StepRunner& runner,
                                            const std::vector<choice::LinkGroup>& groups,
                                            std::vector<predict::MachineChange>& changes) {
  constexpr double kWorthThreads_s = 0.1;
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  std::vector<std::optional<Result<StepResult>>> steps(groups.size() + changes.size());
  const auto take = [&](std::size_t i, const StepRunner& with) {
    const auto faster = [&] { return lowering::WhatIf{groups[i].classes, 1.1, 1.0, {}}; };
    steps[i] = i < groups.size() ? with.simulate_fluids(run.program, false, faster())
                                 : step_on(run, std::move(changes[i - groups.size()]), run.layout, run.settings.jobs);
  };
  if (!steps.empty()) take(0, runner);
  const bool worth = std::chrono::duration<double>(Clock::now() - begin).count() >= kWorthThreads_s;
  std::vector<std::optional<Result<TrainRun>>> machines(worth ? std::min(kMostIdleCores, idle_cores()) : 1);
  share_out(steps.size() - std::min<std::size_t>(1, steps.size()), machines.size(), [&](std::size_t i, std::size_t t) {
    if (t == 0 || i + 1 >= groups.size()) return take(i + 1, runner);
    if (!machines[t]) machines[t] = open_again(run);
    if (machines[t]->ok())
      take(i + 1, StepRunner(**machines[t]));
    else
      steps[i + 1] = machines[t]->error();
  });
  std::vector<Duration> out;
  for (const auto& step : steps) {
    if (!step->ok()) return step->error();
    out.push_back(run.law.mean_of((*step)->balanced));
  }
  return out;
}

Result<std::vector<choice::Relief>> step_relief(const TrainRun& run, const StepRunner& runner) {
  // The gain of a faster link is computed with fluids even for packets, because it takes a run per group of links.
  auto before = static_cast<double>(run.step.step_time.in_ps());
  if (run.engine == "packet") {
    BUSBAR_ASSIGN(const StepResult fluid, runner.simulate_fluids(run.program, false, {}));
    before = static_cast<double>(run.law.mean_of(fluid.balanced).in_ps());
  }
  const std::vector<choice::LinkGroup> groups = choice::link_groups(run.cluster().topology);
  predict::PredictPolicy fluids = run.machine->policy();
  fluids.engine = run.engine == "packet" ? "flow" : run.engine;
  fluids.packets.reset();
  std::vector<predict::MachineChange> changes = predict::machine_changes(run.cluster(), fluids, true);
  std::vector<choice::Relief> out;
  for (const choice::LinkGroup& g : groups) out.push_back({fmt::format("+10 % rate of {}", g.name), 0, 0, {}});
  for (const predict::MachineChange& c : changes) out.push_back({c.what, 0, 0, {}});
  BUSBAR_ASSIGN(const std::vector<Duration> steps, changed_steps(run, runner, groups, changes));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i].gain_percent = choice::gain_percent(before, static_cast<double>(steps[i].in_ps()));
  choice::sort_by_gain(out);
  return out;
}

/// Those asked for: by the caller, by the layout, or all.
Result<std::uint32_t> gpus_of_job(const TrainRun& run, const TrainAsk& ask) {
  const std::uint32_t all = run.machine->ranks() / run.settings.jobs;
  if (ask.gpus > all && run.settings.gpus_per_domain > 0)
    return invalid(fmt::format("{} GPUs are asked for; {} of each server or rack are {}, so name a larger machine",
                               ask.gpus, run.settings.gpus_per_domain, all),
                   {"", 0, 0, "--gpus"});
  if (ask.gpus > 0) return ask.gpus;
  if (run.scenario.gpus > all)
    return invalid(fmt::format("{} GPUs are asked for, the machine has {}", run.scenario.gpus, all),
                   run.scenario.layout.place("gpus"));
  return run.scenario.gpus > 0 ? run.scenario.gpus : all;
}

/// Until a step is timed, and delays and slow GPUs with it: all wait for the slowest.
StepLaw law_of_equal_steps(const TrainRun& run) { return {0, run.kernels.jitter_share, run.gpus}; }

Result<TrainRun> open_machine(spec::Scenario scenario, const TrainAsk& ask) {
  TrainRun run;
  run.engine = ask.engine;
  run.settings = ask.settings;
  run.scenario = std::move(scenario);
  run.settings.gpus_per_domain = run.scenario.gpus_per_domain;
  Result<spec::Cluster> loaded = load_machine(run.scenario.cluster, run.scenario.cluster_overrides);
  if (!loaded.ok()) return spec::at_name(loaded.error(), run.scenario.cluster_named_at);
  spec::Cluster cluster = std::move(*loaded);
  cluster.packet.insert(cluster.packet.end(), run.scenario.packet.begin(), run.scenario.packet.end());
  const spec::Catalog catalog(run.scenario.cluster_overrides.catalog);
  BUSBAR_ASSIGN(run.kernels, spec::load_kernels(cluster, catalog));
  for (workload::MatrixRates* const rates : run.kernels.all_rates()) rates->sustained_share *= ask.held_share;
  if (ask.engine != "packet") BUSBAR_RETURN_IF_ERROR(predict::choose_paths(ask.balance, cluster));
  BUSBAR_ASSIGN(const predict::AccuracyTable accuracy, predict::AccuracyTable::load(catalog));
  run.band = accuracy.training(cluster, run.scenario.model.moe.experts > 0);
  predict::PredictPolicy policy{.engine = ask.engine};
  policy.stop = ask.stop;
  if (!ask.fold)
    policy.shortcuts = policy.shortcuts.without(
        {Shortcut::kEqualComponents, Shortcut::kCallImages, Shortcut::kBundles, Shortcut::kPairsAsOneFluid});
  run.predict = ask.predict;
  if (run.predict.launch.empty())
    run.predict.launch = predict::launch_of_framework(cluster, run.scenario.layout.cuda_graphs);
  BUSBAR_RETURN_IF_ERROR(predict::read_predict_options(run.predict, catalog, policy));
  if (ask.engine == "packet") {
    run.transport = ask.transport;
    run.balance = ask.balance;
    BUSBAR_ASSIGN(run.packets, predict::packet_options(run.transport, run.balance, cluster, ask.packet_settings));
    run.packets.patience_s = ask.patience_s;
    run.packets.threads = ask.packet_threads;
    run.packets.notice = ask.notice;
    run.packets.stop = ask.stop;
    policy.packets = run.packets;
  } else if (!ask.transport.empty()) {
    const double fan_in =
        predict::fan_in_of(collectives::Collective::kAllToAll, std::max(1u, run.scenario.layout.ep), cluster.topology);
    BUSBAR_ASSIGN(policy.penalty, predict::load_call_penalty(ask.transport, predict::balance_of(cluster), fan_in,
                                                             run.scenario.cluster_overrides.catalog));
  }
  const bool offloads = run.scenario.layout.offload.optimizer || run.scenario.layout.offload.activations;
  policy.host_memory = offloads && routing::has_host_memory(cluster.topology);
  BUSBAR_ASSIGN(std::vector<topology::DeviceId> placed, place_jobs(cluster.topology, run.settings));
  BUSBAR_ASSIGN(run.machine, predict::Predictor::make(std::move(cluster), std::move(placed), std::move(policy)));
  BUSBAR_ASSIGN(run.kinds, gpu_kinds(*run.machine, catalog));
  if (run.kinds.any()) run.kernels = run.kinds.tables[run.kinds.fastest()];
  if (offloads) run.kernels.host_bytes_per_s = routing::host_rate(run.machine->router());
  if (run.machine->policy().host_memory) run.kernels.host_ranks = run.machine->ranks();
  BUSBAR_ASSIGN(run.gpus, gpus_of_job(run, ask));
  run.law = law_of_equal_steps(run);
  return run;
}

/// What the machine of a step depends on; empty: the step does not use kept machines. The flag to stop is one of them.
std::string kept_key(const spec::Scenario& scenario, const TrainAsk& ask) {
  const spec::Overrides& o = scenario.cluster_overrides;
  const predict::PredictOptions& p = ask.predict;
  const bool usual = ask.engine != "packet" && ask.transport.empty() && ask.balance.empty() && ask.fold &&
                     ask.settings.jobs == 1 && ask.held_share == 1 && !scenario.layout.offload.optimizer &&
                     !scenario.layout.offload.activations && scenario.packet.empty();
  if (!usual || ask.kept == nullptr) return "";
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", ask.engine, p.nccl, p.launch, p.shortcuts_off,
                                scenario.cluster, o.nodes, o.catalog, o.gpu, o.gpu_memory_rate,
                                scenario.layout.cuda_graphs, scenario.model.moe.experts > 0, scenario.gpus_per_domain);
  for (const auto* list : {&p.env, &o.set, &o.degrade, &o.fail})
    for (const std::string& change : *list) key += "\n" + change;
  return fmt::format("{}\n{}", key, const_cast<const void*>(static_cast<const volatile void*>(ask.stop)));
}

constexpr double kChipToChip = 200e9;  // bytes/s: NVLink-C2C has 450 GB/s, PCIe 5 less than 64

/// Decides `recompute: auto`. Activations that do not fit are kept in host memory if a chip-to-chip link reaches it,
/// otherwise recomputed.
Status choose_recompute(TrainRun& run, const TrainAsk& ask) {
  const Bytes capacity = topology::gpu_memory(run.cluster().topology);
  const workload::ModelSpec model = run.scenario.model;
  const auto fits = [&](const workload::LayoutSpec& l) {
    return workload::check_fits(workload::memory_use(model, l), capacity).ok();
  };
  run.layout.recomputation.choose = false;
  if (fits(run.layout)) return {};
  workload::LayoutSpec offloaded = run.layout;
  offloaded.offload.activations = true;
  if (run.layout.offload.activations || routing::host_rate(run.machine->router()) < kChipToChip || !fits(offloaded)) {
    run.layout = workload::least_recomputation(model, run.layout, capacity);
    return {};
  }
  spec::Scenario scenario = run.scenario;
  scenario.layout.offload.activations = true;  // decides what the machine needs
  BUSBAR_ASSIGN(run, open_machine(std::move(scenario), ask));
  run.layout = offloaded;
  return {};
}

}  // namespace

std::uint32_t TrainRun::spares_per_domain() const {
  const topology::Topology& t = cluster().topology;
  const auto domains = static_cast<std::uint32_t>(std::max<std::size_t>(1, t.blocks().size()));
  const auto all = static_cast<std::uint32_t>(t.gpus().size());
  return settings.gpus_per_domain == 0 ? 0 : all / domains - settings.gpus_per_domain;
}

std::uint32_t TrainRun::gpus_with_spares(std::uint32_t ranks) const {
  if (settings.gpus_per_domain == 0) return ranks;
  return ranks + (ranks + settings.gpus_per_domain - 1) / settings.gpus_per_domain * spares_per_domain();
}

Result<TrainRun> open_train(spec::Scenario scenario, const TrainAsk& ask) {
  const std::string key = kept_key(scenario, ask);
  if (key.empty()) return open_machine(std::move(scenario), ask);
  KeptMachines& kept = *ask.kept;
  if (OpenedMachine known = kept.take(key); known.predictor) {
    TrainRun run;
    run.engine = ask.engine;
    run.settings = ask.settings;
    run.scenario = std::move(scenario);
    run.settings.gpus_per_domain = run.scenario.gpus_per_domain;
    run.predict.launch = known.launch;
    run.machine = std::move(known.predictor);
    run.kernels = std::move(known.kernels);
    run.band = std::move(known.band);
    BUSBAR_ASSIGN(run.gpus, gpus_of_job(run, ask));
    run.law = law_of_equal_steps(run);
    return run;
  }
  BUSBAR_ASSIGN(TrainRun run, open_machine(std::move(scenario), ask));
  if (!run.kinds.any()) kept.keep(key, {run.machine, run.kernels, run.band, run.predict.launch});
  return run;
}

namespace {

/// Adds how a layout leaves the same few GPUs of each domain idle: 64 of 72.
Error with_spares(Error error, const TrainRun& run) {
  const std::size_t domains = run.cluster().topology.blocks().size();
  const std::uint64_t ranks = run.scenario.layout.ranks(), all = run.gpus;
  constexpr double kFew = 0.25;  // more idle GPUs are a mistake rather than spares
  const bool few = ranks < all && static_cast<double>(all - ranks) < kFew * static_cast<double>(all);
  if (!few || run.settings.gpus_per_domain > 0 || domains < 2 || ranks % domains != 0 || all % domains != 0)
    return error;
  error.message += fmt::format("; --gpus-per-domain {} leaves {} of the {} GPUs of each domain idle, as spares",
                               ranks / domains, (all - ranks) / domains, all / domains);
  return error;
}

}  // namespace

Result<TrainRun> load_train(spec::Scenario scenario, const TrainAsk& ask) {
  BUSBAR_ASSIGN(TrainRun run, open_train(std::move(scenario), ask));
  Result<workload::LayoutSpec> layout = workload::resolve_layout(run.scenario.layout, run.scenario.model, run.gpus);
  if (!layout.ok()) return with_spares(layout.error(), run);
  run.layout = run.kinds.any() ? cut_by_speed(run.kinds, run.scenario.model, std::move(*layout)) : std::move(*layout);
  if (run.layout.recomputation.choose) BUSBAR_RETURN_IF_ERROR(choose_recompute(run, ask));
  return run;
}

void rate_step(TrainRun& run) {
  const std::uint32_t gpus = run.gpus_with_spares(run.layout.ranks());
  run.metrics =
      step_metrics(run.scenario.model, run.layout, run.step.step_time, run.kernels.bf16.peak_flops_per_s, gpus);
  run.cost = step_cost(run.layout, run.step.step_time, run.cluster().usd_per_gpu_hour, gpus);
}

Status predict_train(TrainRun& run, const TrainAsk& ask) {
  const StepRunner runner(run);
  BUSBAR_ASSIGN(run.program, runner.program(run.layout));
  BUSBAR_ASSIGN(run.step, runner.simulate(run.program, ask.timeline, &run));
  BUSBAR_ASSIGN(run.law, law_of(run, {run.layout, run.settings.jobs, run.step}));
  run.step = as_measured(std::move(run.step), run.law);
  if (run.settings.jobs > 1) {
    BUSBAR_ASSIGN(const program::Program one, runner.program(run.layout, 1));
    BUSBAR_ASSIGN(const StepResult alone, runner.simulate(one, false));
    BUSBAR_ASSIGN(const StepLaw law, law_of(run, {run.layout, 1, alone}));
    run.alone = law.mean_of(alone.balanced);
  }
  if (run.machine->policy().penalty) {
    BUSBAR_ASSIGN(const StepResult late, runner.simulate_fluids(run.program, false, run.machine->late_transfers()));
    run.p99 = run.law.mean_of(late.balanced);
  }
  run.memory = workload::memory_use(run.scenario.model, run.layout);
  run.memory_capacity = topology::gpu_memory(run.cluster().topology);
  if (const Status fits = workload::check_fits(run.memory, run.memory_capacity); !fits.ok())
    run.does_not_fit = fits.error();
  rate_step(run);
  if (ask.scaling) run.scaling_efficiency = 1;
  if (ask.scaling && run.layout.dp > 1) {
    const workload::LayoutSpec one = workload::single_replica(run.layout);
    BUSBAR_ASSIGN(const program::Program alone, runner.program(one));
    BUSBAR_ASSIGN(const StepResult replica, runner.simulate(alone, false));
    BUSBAR_ASSIGN(const StepLaw law, law_of(run, {one, run.settings.jobs, replica}));
    run.scaling_efficiency = scaling_efficiency(run.step.step_time, law.mean_of(replica.balanced));
  }
  if (ask.relief) {
    BUSBAR_ASSIGN(run.relief, step_relief(run, runner));
  }
  return {};
}

Result<Prediction> predict(spec::Scenario scenario, const Ask& ask) {
  BUSBAR_ASSIGN(TrainRun run, load_train(std::move(scenario), ask));
  BUSBAR_RETURN_IF_ERROR(predict_train(run, ask));
  return run;
}

Result<program::Program> program_with(const TrainRun& run, const workload::LayoutSpec& layout) {
  return StepRunner(run).program(layout);
}

Result<StepResult> step_of(const TrainRun& run, const program::Program& program, const lowering::WhatIf& change) {
  BUSBAR_ASSIGN(StepResult step, StepRunner(run).simulate_fluids(program, false, change));
  return as_measured(std::move(step), run.law);
}

Result<Duration> step_if(const TrainRun& run, const lowering::WhatIf& change) {
  BUSBAR_ASSIGN(const StepResult step, step_of(run, run.program, change));
  return step.step_time;
}

Result<StepResult> step_with(const TrainRun& run, const workload::LayoutSpec& layout) {
  BUSBAR_ASSIGN(const program::Program program, program_with(run, layout));
  return step_of(run, program);
}

StepSpread step_spread(const TrainRun& r) {
  const StepLaw& law = r.law;
  return {law.quantile(0.1), law.quantile(0.5), law.quantile(0.9), law.quantile(0.99)};
}

double idle_percent(const Breakdown& parts, Duration step) {
  return 100 - 100 * (parts.compute + parts.optimizer).in_s() / step.in_s();
}

GradientWindow gradient_window(const TrainRun& r) {
  const std::uint32_t last = r.layout.schedule == workload::PipelineSchedule::kGPipe ? 0 : r.layout.micro_batches() - 1;
  const auto in_backward = [&](const std::string& label) {  // all pieces of a backward pass have this label
    return label.ends_with("backward") || label.ends_with("gradient") || label.ends_with("again");
  };
  std::map<program::CallId, Duration> alone;
  for (const CallUse& u : r.step.calls) alone[u.call] = u.alone;
  GradientWindow w;
  const auto add = [&](const program::Op& o) {
    const std::string& label = r.program.labels[o.label];
    if (o.kind == program::OpKind::kDelay && o.cls == program::OpClass::kCompute && in_backward(label))
      w.backward += o.duration;
    if (o.kind == program::OpKind::kCollective && label == "reduce gradients") w.reduction += alone[o.call];
  };
  for (const program::Op& o : r.program.ops)
    if (o.role == r.step.critical_role && o.micro_batch == last) add(o);
  for (const program::PassUse& use : r.program.uses)
    if (use.role == r.step.critical_role && use.micro_batch == last)
      for (const program::Op& o : r.program.passes[use.pass].ops) add(o);
  return w;
}

}  // namespace busbar::step
