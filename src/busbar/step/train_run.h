// One predicted training step: all data of the report, independent of its form.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "busbar/choice/relief.h"
#include "busbar/packet/packet_list.h"
#include "busbar/predict/band.h"
#include "busbar/predict/predict_options.h"
#include "busbar/predict/predictor.h"
#include "busbar/spec/scenario.h"
#include "busbar/step/gpu_kinds.h"
#include "busbar/step/jitter.h"
#include "busbar/step/kept_machines.h"
#include "busbar/step/metrics.h"
#include "busbar/step/simulate.h"
#include "busbar/step/train_jobs.h"
#include "busbar/workload/memory.h"

namespace busbar::step {

struct TrainRun {
  spec::Scenario scenario;
  std::shared_ptr<predict::Predictor> machine;  ///< shared with KeptMachines only; rank r on GPU r
  std::uint32_t gpus = 0;                       ///< of the job
  workload::LayoutSpec layout;                  ///< resolved
  workload::KernelTable kernels;                ///< of the fastest GPUs
  GpuKinds kinds{};                             ///< of GPUs, where there are several
  predict::Band band;                           ///< for the time of the step
  program::Program program;                     ///< with algorithms chosen
  StepResult step;
  workload::MemoryUse memory;
  Bytes memory_capacity{0};
  std::optional<Error> does_not_fit;
  StepMetrics metrics;
  StepCost cost;
  std::optional<double> scaling_efficiency;  ///< only if requested
  std::vector<choice::Relief> relief;        ///< only if requested
  std::string engine;
  predict::PredictOptions predict;  ///< with the framework's launch mode unless one is given
  std::string transport, balance;   ///< for packets
  packet::PacketOptions packets;
  packet::PacketCounts packet_counts;
  std::uint32_t packet_threads = 1;
  Duration p99;  ///< with the penalties of a transport: the step if all transfers between servers took their p99
  StepSettings settings;
  Duration alone;                 ///< the step of one of several jobs, without the others; zero: there is one job
  std::string planned_because;    ///< why a search chose the layout instead of the default one; empty: it did not
  std::string planned_flags;      ///< that give this layout
  std::size_t planned_after = 0;  ///< timed layouts, after which the search stopped
  std::optional<workload::LayoutSpec>
      none_fits;  ///< what was asked for where no layout fits: this one needs least memory
  StepLaw law;    ///< what differs between steps; before the step is timed: of equal steps
  const spec::Cluster& cluster() const { return machine->cluster(); }
  /// GPUs of each server or rack that take no part, because the job keeps them as spares.
  std::uint32_t spares_per_domain() const;
  /// Those of the servers or racks on which `ranks` of the job run, spares included.
  std::uint32_t gpus_with_spares(std::uint32_t ranks) const;
};

/// Steps of one run: the times below which a share of them stays.
struct StepSpread {
  double p10_s = 0, p50_s = 0, p90_s = 0, p99_s = 0;
};
StepSpread step_spread(const TrainRun& run);

/// What can hide the reduction of gradients: at most the backward pass of the last micro-batch, on the critical stage.
struct GradientWindow {
  Duration reduction;  ///< its calls one after another, each alone on the idle machine, without waiting for other ranks
  Duration backward;   ///< computation, including recomputation
};
GradientWindow gradient_window(const TrainRun& run);
/// The part of a step in which the tensor units are idle.
double idle_percent(const Breakdown& parts, Duration step);

struct TrainAsk {
  std::string engine = "flow";
  std::string transport, balance;     ///< empty: packets by nscc, fluids without penalties; the cluster's routing
  double patience_s = 1800;           ///< packets: refuse runs that would take longer
  std::uint32_t packet_threads = 0;   ///< 0: as many as pay
  spec::Overrides packet_settings{};  ///< packets: its --set packet.KEY=VALUE and packet=PROFILE
  bool timeline = true;               ///< spans for the page and the trace
  std::uint32_t gpus = 0;             ///< the first GPUs of the machine; 0: all
  bool scaling = true;                ///< also run one replica alone, for scaling_efficiency
  bool fold = true;                   ///< solve equal parts of a call only once (DESIGN 4.4)
  predict::PredictOptions predict;    ///< an empty launch mode means the frameworks' usual one
  bool relief = false;                ///< run the step again for each improved group of links
  StepSettings settings{};
  double held_share = 1;                             ///< factor on every GPU's rates under load, for fits
  StopFlag stop = nullptr;                           ///< ends the step at its next event; null: nothing does
  KeptMachines* kept = nullptr;                      ///< machines that are ready; null: none
  std::function<void(const std::string&)> notice{};  ///< packets: takes what a user should know
};

using Ask = TrainAsk;
using Prediction = TrainRun;

/// THE way to time a training step: machine, kernels, framework, layout, routing and program are made here and nowhere
/// else. Memory that does not fit is a result, not an error.
///   BUSBAR_ASSIGN(const Scenario scenario, scenario_from_flags(flags, {}, catalog));
///   BUSBAR_ASSIGN(const step::Prediction run, step::predict(scenario, {}));
Result<Prediction> predict(spec::Scenario scenario, const Ask& ask);

/// The parts of step::predict(), for those who ask much about one machine. Loads the machine and the kernel table;
/// `layout` stays open. Error of --gpus: the machine has fewer than ask.gpus.
Result<TrainRun> open_train(spec::Scenario scenario, const TrainAsk& ask);
/// The same, and fits the layout. `recompute: auto` is decided here: the least with which the step fits or, where a
/// chip-to-chip link reaches the host's memory, activations kept there.
Result<TrainRun> load_train(spec::Scenario scenario, const TrainAsk& ask);
/// Simulates the loaded step and fills in the rest of `run`. Memory that does not fit is a result, not an error.
Status predict_train(TrainRun& run, const TrainAsk& ask);
/// Fills in the metrics and the cost that follow from run.step.
void rate_step(TrainRun& run);

/// The step with other link rates, or in another layout of the same ranks; on fluids. It varies as that of the run.
Result<Duration> step_if(const TrainRun& run, const lowering::WhatIf& change);
Result<StepResult> step_with(const TrainRun& run, const workload::LayoutSpec& layout);
/// The same in two parts: the program with algorithms chosen, and its step, perhaps with other link rates.
Result<program::Program> program_with(const TrainRun& run, const workload::LayoutSpec& layout);
Result<StepResult> step_of(const TrainRun& run, const program::Program& program, const lowering::WhatIf& change = {});

}  // namespace busbar::step
