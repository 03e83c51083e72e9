#include "busbar/cli/transport_range.h"

#include <algorithm>
#include <map>

#include "busbar/cli/penalties.h"

namespace busbar {
namespace {

/// The penalties of calls by their fan-in, each read once.
class CallPenalties {
 public:
  CallPenalties(const std::string& transport, const std::string& balance, const std::string& directory)
      : transport_(transport), balance_(balance), directory_(directory) {}
  Result<NetworkPenalty> of(const CollectiveCall& call, const Topology& topology) {
    if (transport_.empty()) return NetworkPenalty{};
    const double fan_in = fan_in_of(call.op, call.groups.size(), topology);
    const auto known = read_.find(fan_in);
    if (known != read_.end()) return known->second;
    BUSBAR_ASSIGN(NetworkPenalty read, load_call_penalty(transport_, balance_, fan_in, directory_));
    return read_.emplace(fan_in, std::move(read)).first->second;
  }

 private:
  const std::string &transport_, &balance_, &directory_;
  std::map<double, NetworkPenalty> read_;
};

}  // namespace

Result<TransportRange> transport_range(const TrainRun& run, const std::string& transport, const std::string& balance,
                                       const std::string& catalog_directory) {
  const double step = run.step.step_time.in_s();
  TransportRange out{transport, balance, step, step, 0};
  CallPenalties penalties(transport, balance, catalog_directory);
  for (const CallUse& use : run.step.calls) {
    const CollectiveCall& call = run.program.calls[index(use.call)];
    const double exposed = use.exposed.in_s();
    if (exposed <= 0 || !run.machine->several_nodes(call.groups)) continue;
    out.exposed_s += exposed;
    BUSBAR_ASSIGN(const NetworkPenalty p, penalties.of(call, run.cluster().topology));
    out.low_s += exposed * (std::min({1.0, p.mean, p.p99}) - 1);
    out.high_s += exposed * (std::max({1.0, p.mean, p.p99}) - 1);
  }
  return out;
}

}  // namespace busbar
