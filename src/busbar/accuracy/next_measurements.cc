#include <algorithm>

#include "busbar/accuracy/fault_search.h"

namespace busbar::accuracy {
namespace {

constexpr double kWorthATest = 0.05;  // of the likelihood

bool any_fault(const FaultSearchResult& found, std::initializer_list<const char*> rules) {
  return std::any_of(found.ranked.begin(), found.ranked.end(), [&](const Culprit& c) {
    if (c.confidence < kWorthATest) return false;
    return std::any_of(c.faults.begin(), c.faults.end(),
                       [&](const Suspect& s) { return std::find(rules.begin(), rules.end(), s.rule) != rules.end(); });
  });
}

}  // namespace

std::vector<NextMeasurement> next_measurements(const FaultSearchResult& found) {
  std::vector<NextMeasurement> out;
  const bool network =
      any_fault(found, {"slow-cable", "slow-nic", "slow-nic-slot", "slow-node", "slow-switch", "slow-uplink",
                        "over-subscribed-spine", "fabric-misconfigured", "single-rail"});
  const bool inside = any_fault(found, {"slow-nvlink", "slow-gpu", "slow-gpu-slot", "slow-nvswitch", "slow-socket-link",
                                        "slow-pcie-uplink", "slow-node", "p2p-disabled", "nvls-off"});
  const bool setting = any_fault(found, {"nccl-setting", "tcp-fallback", "no-gpudirect", "single-rail", "nvls-off"});
  const bool clocks = any_fault(found, {"slow-gpu"});
  constexpr std::size_t kMost = 2;  // more are not done
  const auto add = [&](bool worth, const char* tells, const char* command) {
    if (worth && out.size() < kMost) out.push_back({tells, command});
  };
  // nccl-tests: -g GPUs per process; Open MPI: -H hosts with slots, -N processes per node.
  add(setting, "which setting or transport",
      "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,TUNING mpirun all_reduce_perf -b 1G -e 1G > nccl.log; "
      "busbar doctor nccl.log");
  add(inside && !found.several_nodes, "which GPU: each pair alone",
      "nvbandwidth -t device_to_device_memcpy_write_ce > pairs.txt");
  add(clocks && !found.several_nodes, "clocks from links: during the test",
      "nvidia-smi --query-gpu=index,clocks.sm,clocks.max.sm,clocks_event_reasons.active --format=csv");
  add(network, "which NIC or cable: each rail alone",
      "for r in 0 1 2 3 4 5 6 7; do CUDA_VISIBLE_DEVICES=$r mpirun -N 1 -x CUDA_VISIBLE_DEVICES -x "
      "NCCL_IB_HCA==mlx5_$r all_reduce_perf -b 1G -e 8G -f 2 -g 1 > rail-$r.txt; done");
  add(inside && found.several_nodes, "which node: each one alone",
      "i=0; for h in $HOSTS; do mpirun -H $h all_reduce_perf -b 1G -e 8G -f 2 -g 8 > node-$((i++)).txt; done");
  add(network, "which node or switch: each pair of nodes",
      "i=0; for a in $HOSTS; do j=0; for b in $HOSTS; do [ $i -lt $j ] && mpirun -H $a,$b alltoall_perf -b 1G "
      "-e 8G -f 2 -g 8 > pair-$i-$j.txt; j=$((j+1)); done; i=$((i+1)); done");
  return out;
}

}  // namespace busbar::accuracy
