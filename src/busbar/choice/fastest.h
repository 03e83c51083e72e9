// Which algorithm: the fastest legal one by closed form.
#pragma once

#include "busbar/engine/engine.h"

namespace busbar {

/// `call` with "auto" or "fastest" replaced by the legal algorithm whose time alone on `analytic` is least; ties go to
/// the order of docs/collectives.md. A concrete algorithm comes back as it is. Each trial lowers the call once.
/// Errors: what Engine::prepare says of the last candidate when none can be lowered.
Result<CollectiveCall> resolve_algorithm(Engine& analytic, const Placement& placement, const Topology& topology,
                                         CollectiveCall call);

/// The same for every call of a program.
Status resolve_algorithms(Engine& analytic, const Placement& placement, const Topology& topology, Program& program);

}  // namespace busbar
