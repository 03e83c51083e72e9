#include "busbar/cli/transport_range.h"

#include <algorithm>

#include "busbar/cli/penalties.h"

namespace busbar {
namespace {

constexpr double kFullLoad = 0.8;  // the highest load of catalog/penalties: calls fill their links

/// Bytes that one member of a call sends to another.
double bytes_per_pair(const CollectiveCall& call) {
  const auto bytes = static_cast<double>(count(call.bytes));
  const bool scattered = call.op == Collective::kAllToAll || call.op == Collective::kAllToAllV;
  return scattered ? bytes / call.groups.size() : bytes;
}

}  // namespace

Result<TransportRange> transport_range(const TrainRun& run, const std::string& transport, const std::string& balance,
                                       const std::string& catalog_directory) {
  const double step = run.step.step_time.in_s();
  TransportRange out{transport, balance, step, step, 0};
  Penalties penalties;
  if (out.known()) {
    BUSBAR_ASSIGN(penalties, load_penalties(transport, balance, kFullLoad, catalog_directory));
  }
  for (const CallUse& use : run.step.calls) {
    const CollectiveCall& call = run.program.calls[index(use.call)];
    const double exposed = use.exposed.in_s();
    if (exposed <= 0 || !run.machine->several_nodes(call.groups)) continue;
    out.exposed_s += exposed;
    const SizePenalty& p = penalties.of(bytes_per_pair(call));
    out.low_s += exposed * (std::min({1.0, p.mean, p.p99}) - 1);
    out.high_s += exposed * (std::max({1.0, p.mean, p.p99}) - 1);
  }
  return out;
}

}  // namespace busbar
