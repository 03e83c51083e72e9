#include "busbar/plan/step_bound.h"

#include <algorithm>

#include "busbar/base/id.h"
#include "busbar/lowering/lowering.h"
#include "busbar/plan/internal/longest_path.h"
#include "busbar/plan/internal/slowed_stream.h"
#include "busbar/step/registered_kernels.h"
#include "busbar/workload/build_program.h"
#include "busbar/workload/expert_kernels.h"

namespace busbar::plan {
namespace {

Duration bound_of(const program::Program& program, std::span<const Duration> calls,
                  const workload::Contention& contention) {
  return std::max(longest_path(program, calls), slowed_streams(program, calls, contention));
}

}  // namespace

Result<Duration> step_bound(const workload::ModelSpec& model, const workload::LayoutSpec& layout,
                            const workload::KernelTable& kernels, CallFloors& floors) {
  BUSBAR_ASSIGN(const program::Program program, workload::build_program(model, layout, kernels));
  std::vector<Duration> calls;
  for (const program::CollectiveCall& call : program.calls) calls.push_back(floors.of(call));
  return bound_of(program, calls,
                  floors.registered() ? workload::Contention() : workload::contention_in(layout, kernels));
}

Result<Duration> closed_step_bound(const workload::ModelSpec& model, const workload::LayoutSpec& layout,
                                   const workload::KernelTable& kernels, predict::Predictor& machine) {
  BUSBAR_ASSIGN(program::Program program, workload::build_program(model, layout, kernels));
  BUSBAR_RETURN_IF_ERROR(machine.prepare(program));
  const auto engine = machine.open_engine();
  std::vector<Duration> calls;
  for (const program::CollectiveCall& call : program.calls) {
    BUSBAR_ASSIGN(const program::CallId id, engine->prepare(call));
    calls.push_back(duration_from_ps(lowering::closed_form_ps(*engine->lowered(id))));
  }
  const workload::Contention usual = workload::contention_in(layout, kernels);
  return bound_of(program, calls,
                  step::with_registered_kernels(usual, program, machine.cluster().topology, kernels.cores));
}

bool has_closed_bounds(const predict::Predictor& machine) { return !machine.router().splits(); }

}  // namespace busbar::plan
