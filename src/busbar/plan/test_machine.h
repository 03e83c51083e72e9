// A machine for tests of layouts.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "busbar/plan/call_floors.h"
#include "busbar/predict/predictor.h"
#include "busbar/routing/path_view.h"
#include "busbar/spec/cluster.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/step/simulate.h"
#include "busbar/workload/build_program.h"

namespace busbar::plan {

inline std::vector<topology::DeviceId> first_gpus(const std::string& name, std::size_t n) {
  if (n == 0) return {};
  const spec::Cluster cluster = spec::load_cluster(name).value();
  const auto all = cluster.topology.gpus();
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}

/// A machine that times layouts as `busbar train` does.
struct PlanMachine {
  /// `gpus`: that take part, the first ones; 0: all.
  explicit PlanMachine(const std::string& name, bool offloads = false, std::size_t gpus = 0)
      : machine(predict::Predictor::make(spec::load_cluster(name).value(), first_gpus(name, gpus),
                                         {.host_memory = offloads})
                    .value()),
        kernels(spec::load_kernels(machine->cluster(), spec::Catalog("")).value()),
        floors(*machine) {
    if (offloads)
      kernels.host_bytes_per_s = routing::host_rate(machine->router()), kernels.host_ranks = machine->ranks();
  }
  Result<step::StepResult> time(const workload::ModelSpec& model, const workload::LayoutSpec& layout) {
    BUSBAR_ASSIGN(program::Program program, workload::build_program(model, layout, kernels));
    BUSBAR_RETURN_IF_ERROR(machine->prepare(program));
    step::StepOptions options;
    options.contention = kernels.contention;
    options.timeline = false;
    return step::simulate_step(program, *machine->open_engine(), options);
  }
  std::uint32_t gpus() const { return machine->ranks(); }
  std::unique_ptr<predict::Predictor> machine;
  workload::KernelTable kernels;
  CallFloors floors;
};

}  // namespace busbar::plan
