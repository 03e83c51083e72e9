// One training step predicted: everything the report needs, before anyone decides how it looks.
#pragma once

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
#include "busbar/step/metrics.h"
#include "busbar/step/simulate.h"
#include "busbar/workload/memory.h"

namespace busbar {

struct TrainRun {
  Scenario scenario;
  std::unique_ptr<Predictor> machine;  ///< rank r on GPU r
  LayoutSpec layout;  ///< resolved
  KernelTable kernels;
  Band band;        ///< of the step's time
  Program program;  ///< algorithms resolved
  StepResult step;
  MemoryUse memory;
  Bytes memory_capacity{0};
  std::optional<Error> does_not_fit;
  StepMetrics metrics;
  StepCost cost;
  double scaling_efficiency = 1;
  std::vector<Relief> relief;  ///< filled when asked
  std::string engine;
  PredictOptions predict;  ///< with the framework's launch mode where none was asked for
  std::string transport, balance;  ///< of packets
  PacketOptions packets;
  const Cluster& cluster() const { return machine->cluster(); }
};

/// The step with all GPUs waiting for the slowest: expected, and the times that a share of steps stays below.
struct StepSpread {
  double expected_s = 0, p10_s = 0, p50_s = 0, p90_s = 0, p99_s = 0;
};
StepSpread step_spread(const TrainRun& run);

/// What hides the reduction of gradients, at most: the backward pass of the last micro-batch, on the critical stage.
struct GradientWindow {
  Duration reduction;  ///< its calls one after another, each alone on the idle machine; not on other ranks' account
  Duration backward;   ///< computation, recomputation included
};
GradientWindow gradient_window(const TrainRun& run);
/// The part of a step in which tensor units have nothing to do.
double idle_percent(const Breakdown& parts, Duration step);

struct TrainAsk {
  std::string engine = "flow";
  std::string transport, balance;  ///< packets; empty: nscc, as the cluster routes
  double patience_s = 1800;        ///< packets: refuse what would take longer
  bool timeline = true;            ///< spans for the page and the trace
  std::uint32_t gpus = 0;          ///< of the machine, the first ones; 0: all
  bool scaling = true;             ///< run one replica alone, for scaling_efficiency
  bool fold = true;                ///< solve one of many alike parts of a call (DESIGN 4.4)
  PredictOptions predict;          ///< launch, where empty: as frameworks do
  bool relief = false;             ///< re-run the step with each group of links relieved
};

/// Loads the machine and the kernel table and fits the layout.
Result<TrainRun> load_train(Scenario scenario, const TrainAsk& ask);
/// Simulates what was loaded and fills in the rest of `run`. Memory that does not fit is a result, not an error.
Status predict_train(TrainRun& run, const TrainAsk& ask);
/// Both.
Result<TrainRun> run_train(Scenario scenario, const TrainAsk& ask);

}  // namespace busbar
