// Which algorithm: the fastest legal one by closed form.
#pragma once

#include <string>
#include <vector>

#include "busbar/engine/engine.h"

namespace busbar {

/// `call` with "fastest" replaced by the legal algorithm whose time alone on `analytic` is least, and "auto" by the
/// least of those that libraries have everywhere: ring, tree and hierarchical where there is a choice of them, else as
/// "fastest"; a protocol of kAuto by the protocol of that least time. Ties go to the order of docs/collectives.md. A
/// concrete algorithm comes back as it is. Each trial lowers the call once. Errors: what Engine::prepare says of the
/// last candidate when none can be lowered.
Result<CollectiveCall> resolve_algorithm(Engine& analytic, const Placement& placement, const Topology& topology,
                                         CollectiveCall call);

/// The same for every call of a program.
Status resolve_algorithms(Engine& analytic, const Placement& placement, const Topology& topology, Program& program);

}  // namespace busbar
