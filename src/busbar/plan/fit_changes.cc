#include "busbar/plan/fit_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/base/stop_flag.h"
#include "busbar/base/text.h"
#include "busbar/plan/call_floors.h"
#include "busbar/plan/default_plan.h"
#include "busbar/plan/fitting.h"
#include "busbar/plan/many_batches.h"
#include "busbar/plan/step_bound.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/larger_gpus.h"
#include "busbar/topology/gpu_memory.h"

namespace busbar::plan {
namespace {

constexpr std::uint32_t kMostTimes = 64;   ///< of the servers of the machine
constexpr std::size_t kMostGpuParts = 3;   ///< other GPUs that are tried
constexpr std::size_t kKeysOnMachine = 2;  ///< of a layout that another machine may change as well
constexpr std::size_t kTimedOnMachine = 2;
constexpr std::uint32_t kManyGpus = 4096;  ///< above, a step takes so long that only as many are timed as are shown

bool offloads(const workload::LayoutSpec& l) { return l.offload.optimizer || l.offload.activations; }

/// The machine of `run` once more, with `set` changed, for layouts that offload or do not.
Result<step::TrainRun> open_changed(const step::TrainRun& run, step::TrainAsk ask, bool offload,
                                    const std::string& set = "") {
  spec::Scenario scenario = run.scenario;
  scenario.layout.offload.optimizer = offload;  // only whether: the host's memory becomes an end of copies
  scenario.layout.offload.activations = false;
  if (!set.empty()) scenario.cluster_overrides.set.push_back(set);
  if (ask.engine == "packet") {
    ask.engine = "flow";
    scenario.packet.clear();
  }
  ask.gpus = 0;
  return step::open_train(std::move(scenario), ask);
}

std::uint32_t gpus_of(const step::TrainRun& run) { return run.machine->ranks() / run.settings.jobs; }

/// Times and bounds layouts, on a machine that offloads if they do.
class LayoutTimer {
 public:
  /// `set`: what differs from the machine of `run`; empty: nothing.
  LayoutTimer(const step::TrainRun& run, const step::TrainAsk& ask, std::string set = "")
      : run_(run), ask_(ask), set_(std::move(set)) {}

  Result<Duration> bound(const workload::LayoutSpec& layout) {
    BUSBAR_ASSIGN(Opened * machine, machine_for(layout));
    BUSBAR_ASSIGN(const Duration bound, time_of_many(layout, [&](const workload::LayoutSpec& l) {
                    return step_bound(run_.scenario.model, l, machine->run.kernels, *machine->floors);
                  }));
    return machine->run.law.mean_of(bound);
  }
  Result<Duration> time(const workload::LayoutSpec& layout) {
    BUSBAR_ASSIGN(Opened * machine, machine_for(layout));
    BUSBAR_ASSIGN(const Duration balanced, time_of_many(layout, [&](const workload::LayoutSpec& l) -> Result<Duration> {
                    BUSBAR_ASSIGN(const step::StepResult step, step::step_with(machine->run, l));
                    return step.balanced;
                  }));
    return machine->run.law.mean_of(balanced);
  }
  /// What is asked of the machine, for layouts near that of the run. Errors: the machine cannot be.
  Result<FitAsk> fit_ask() {
    BUSBAR_ASSIGN(const Opened* machine, machine_for(run_.layout));
    FitAsk ask{run_.scenario.layout, gpus_of(machine->run), machine->floors->block_gpus(),
               topology::gpu_memory(machine->run.cluster().topology)};
    ask.layout.batch.global = run_.layout.batch.global;
    if (ask.gpus != gpus_of(run_)) ask.layout.dp = 0;
    return ask;
  }
  FitTimes times() {
    FitTimes out;
    out.bound = [this](const workload::LayoutSpec& l) { return bound(l); };
    out.time = [this](const workload::LayoutSpec& l) { return time(l); };
    return out;
  }

 private:
  struct Opened {
    step::TrainRun run;
    std::unique_ptr<CallFloors> floors;
  };
  Result<Opened*> machine_for(const workload::LayoutSpec& layout) {
    std::unique_ptr<Opened>& opened = opened_[offloads(layout) ? 1 : 0];
    if (opened) return opened.get();
    auto fresh = std::make_unique<Opened>();
    BUSBAR_ASSIGN(fresh->run, open_changed(run_, ask_, offloads(layout), set_));
    fresh->run.layout = run_.layout;
    fresh->floors = std::make_unique<CallFloors>(*fresh->run.machine);
    opened = std::move(fresh);
    return opened.get();
  }

  const step::TrainRun& run_;
  const step::TrainAsk& ask_;
  const std::string set_;
  std::unique_ptr<Opened> opened_[2];
};

std::string offload_word(const workload::LayoutSpec& l) {
  return !l.offload.activations ? "optimizer" : l.offload.optimizer ? "both" : "activations";
}

std::string offload_words(const workload::LayoutSpec& l) {
  return !l.offload.activations ? "optimizer states in host memory"
         : l.offload.optimizer  ? "optimizer states and activations in host memory"
                                : "activations in host memory";
}

/// What changed, and the flag for it.
struct KeyChange {
  std::string what, flag;
};

KeyChange number_change(const char* name, const char* flag, std::uint32_t from, std::uint32_t to) {
  return {fmt::format("{} {} instead of {}", name, to, from), fmt::format("{} {}", flag, to)};
}

KeyChange change_of(FitKey key, const workload::LayoutSpec& from, const workload::LayoutSpec& to) {
  switch (key) {
    case FitKey::kRecompute:
      return {fmt::format("recompute {} instead of {}", workload::name_of(to.recomputation.kind),
                          workload::name_of(from.recomputation.kind)),
              fmt::format("--recompute {}", workload::name_of(to.recomputation.kind))};
    case FitKey::kZero:
      return {fmt::format("ZeRO-{} instead of ZeRO-{}", to.sharding.zero, from.sharding.zero),
              fmt::format("--zero {}", to.sharding.zero)};
    case FitKey::kOffloadStates:
      return {"optimizer states in host memory", "--offload " + offload_word(to)};
    case FitKey::kOffloadActivations:
      return {"activations in host memory", "--offload " + offload_word(to)};
    case FitKey::kMicroBatch:
      return number_change("micro-batch", "--micro-batch", from.batch.micro, to.batch.micro);
    case FitKey::kTp:
      return number_change("TP", "--tp", from.tp, to.tp);
    case FitKey::kPp:
      return number_change("PP", "--pp", from.pp, to.pp);
    case FitKey::kCp:
      return number_change("CP", "--cp", from.cp, to.cp);
    case FitKey::kEp:
      break;
  }
  return number_change("EP", "--ep", from.ep, to.ep);
}

/// In words, with the flags.
FitChange change_of(const step::TrainRun& run, FittingLayout found) {
  FitChange out{"", "", std::move(found.layout), found.memory, run.memory_capacity, found.step};
  for (const FitKey key : found.keys) {
    const KeyChange change = change_of(key, run.layout, out.layout);
    append_word(out.what, change.what);
    if (out.flags.find(change.flag) == std::string::npos)  // both kinds of offload have one
      out.flags += (out.flags.empty() ? "" : " ") + change.flag;
  }
  if (!run.scenario.layout.places.contains("global_batch"))
    out.flags += fmt::format(" --global-batch {}", out.layout.batch.global);  // the default depends on the layout
  if (run.scenario.layout.dp != 0 && out.layout.dp != run.layout.dp)
    out.flags += fmt::format(" --dp {}", out.layout.dp);
  return out;
}

/// A machine that `set` makes of that of a run, and its name in words.
struct OtherMachine {
  std::string what, set;
};

/// More and more servers; nothing for machines whose size is part of their name.
std::vector<OtherMachine> more_servers(const step::TrainRun& run) {
  std::vector<OtherMachine> out;
  const std::size_t servers = run.cluster().topology.blocks().size();
  for (std::size_t times = 2; times <= kMostTimes; times *= 2)
    out.push_back(
        {fmt::format("{} servers instead of {}", times * servers, servers), fmt::format("nodes={}", times * servers)});
  return out;
}

Result<std::vector<OtherMachine>> larger_parts(const step::TrainRun& run) {
  const spec::Catalog catalog(run.scenario.cluster_overrides.catalog);
  BUSBAR_ASSIGN(const std::vector<spec::LargerGpu> gpus,
                spec::larger_gpus(run.cluster().gpu_part, topology::gpu_memory(run.cluster().topology), catalog));
  std::vector<OtherMachine> out;
  for (const spec::LargerGpu& gpu : gpus)
    if (out.size() < kMostGpuParts)
      out.push_back({fmt::format("GPUs with {}: {}", format_size(static_cast<double>(count(gpu.memory))), gpu.name),
                     "node.gpu=" + gpu.name});
  return out;
}

/// The first of `machines` on which the layout fits with at most kKeysOnMachine keys changed.
std::optional<FitChange> first_machine(const step::TrainRun& run, const step::TrainAsk& ask,
                                       const std::vector<OtherMachine>& machines) {
  for (const OtherMachine& machine : machines) {
    LayoutTimer timer(run, ask, machine.set);
    const Result<FitAsk> fit = timer.fit_ask();
    if (!fit.ok()) continue;
    FitTimes times = timer.times();
    times.wanted = 1;
    times.most = kTimedOnMachine;
    times.least_keys = 0;
    times.most_keys = kKeysOnMachine;
    for (FittingLayout& found : smallest_fits(run.scenario.model, *fit, times)) {
      FitChange out = change_of(run, std::move(found));
      out.what = machine.what + (out.what.empty() ? "" : ", " + out.what);
      out.flags = "--set " + machine.set + (out.flags.empty() ? "" : " " + out.flags);
      out.capacity = fit->capacity;
      return out;
    }
  }
  return {};
}

bool quicker(const FitChange& a, const FitChange& b) { return a.step < b.step; }

/// The fastest layout of `space` on the machine with `set` changed; nothing where none fits or the machine is refused.
std::optional<FitChange> best_with(const step::TrainRun& machine, const step::TrainAsk& ask, const PlanSpace& space,
                                   const OtherMachine& other) {
  Result<step::TrainRun> opened = open_changed(machine, ask, offloads(space.base), other.set);
  if (!opened.ok()) return {};
  opened->scenario.layout = space.base;
  const std::uint32_t gpus = gpus_of(*opened);
  const Result<PlannedLayout> best =
      plan_fastest(*opened, gpus, space, limit_by_default(gpus, space.base), [&] { return !stops(ask.stop); });
  if (!best.ok()) return {};
  std::string flags = other.set.empty() ? "--offload " + offload_word(space.base) : "--set " + other.set;
  if (!space.base.places.contains("global_batch")) flags += fmt::format(" --global-batch {}", space.base.batch.global);
  return FitChange{
      other.what,          flags, best->layout, best->memory, topology::gpu_memory(opened->cluster().topology),
      best->step.step_time};
}

}  // namespace

Result<std::vector<FitChange>> changes_that_fit(const step::TrainRun& run, const step::TrainAsk& ask) {
  if (run.none_fits) {
    PlanSpace space;
    space.base = *run.none_fits;
    space.base.batch.global = run.layout.batch.global;
    space.schedule = {workload::PipelineSchedule::k1F1B};
    return searches_that_fit(run, ask, space);
  }
  LayoutTimer timer(run, ask);
  BUSBAR_ASSIGN(const FitAsk fit, timer.fit_ask());
  FitTimes times = timer.times();
  times.wanted = kFitChanges;
  if (fit.gpus > kManyGpus) times.most = kFitChanges;
  std::vector<FitChange> out;
  for (FittingLayout& f : smallest_fits(run.scenario.model, fit, times)) out.push_back(change_of(run, std::move(f)));
  if (out.size() < kFitChanges)
    if (auto change = first_machine(run, ask, more_servers(run))) out.push_back(std::move(*change));
  if (out.size() < kFitChanges) {
    BUSBAR_ASSIGN(const std::vector<OtherMachine> parts, larger_parts(run));
    if (auto change = first_machine(run, ask, parts)) out.push_back(std::move(*change));
  }
  return out;
}

Result<std::vector<FitChange>> searches_that_fit(const step::TrainRun& machine, const step::TrainAsk& ask,
                                                 const PlanSpace& space) {
  std::vector<FitChange> out;
  const auto add = [&](const std::optional<FitChange>& change) {
    if (change) out.push_back(*change);
    return change.has_value();
  };
  const bool optimizer = !space.base.offload.optimizer, activations = !space.base.offload.activations;
  PlanSpace with = space;
  const auto offload = [&](bool states, bool tensors) {
    with.base.offload.optimizer = space.base.offload.optimizer || states;
    with.base.offload.activations = space.base.offload.activations || tensors;
    return add(best_with(machine, ask, with, {offload_words(with.base), ""}));
  };
  const bool by_optimizer = optimizer && offload(true, false);
  const bool by_activations = activations && offload(false, true);
  const bool one = by_optimizer || by_activations;
  if (!one && optimizer && activations) offload(true, true);
  std::stable_sort(out.begin(), out.end(), quicker);
  for (const OtherMachine& other : more_servers(machine))
    if (out.size() >= kFitChanges || add(best_with(machine, ask, space, other))) break;
  BUSBAR_ASSIGN(const std::vector<OtherMachine> parts, larger_parts(machine));
  for (const OtherMachine& other : parts)
    if (out.size() >= kFitChanges || add(best_with(machine, ask, space, other))) break;
  return out;
}

}  // namespace busbar::plan
