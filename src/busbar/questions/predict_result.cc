#include "busbar/questions/predict_result.h"

#include <fmt/core.h>

namespace busbar::questions {

const Record& record_of(const LaunchResult*) {
  using L = LaunchResult;
  static const Record record(
      "launch", {{"mode", &L::mode, "", "graph, loop, process or unknown; machine: its own figure"},
                 {"us", &L::us, "us", "from the start of a collective to its first byte"},
                 Field("host_us_per_gpu", &L::host_us_per_gpu, "us", "of the process that starts all GPUs of a node")
                     .or_absent()});
  return record;
}

const Record& record_of(const PolicyResult*) {
  using P = PolicyResult;
  static const Record record("policy", {{"nccl", &P::nccl, "", "release whose rules apply"},
                                        {"env", &P::env, "", "variables of NCCL that are set"},
                                        {"launch", &P::launch, "", "how collectives start"}});
  return record;
}

PolicyResult policy_result(const predict::PredictPolicy& policy, const std::string& mode, Duration launch) {
  PolicyResult r{nccl::to_string(policy.nccl), policy.env, {mode.empty() ? "machine" : mode, launch.in_us(), {}}};
  if (policy.host_per_gpu > Duration()) r.launch.host_us_per_gpu = policy.host_per_gpu.in_us();
  return r;
}

const Record& record_of(const PenaltyResult*) {
  using P = PenaltyResult;
  static const Record record("penalty", {{"transport", &P::transport, "", "of packets: dcqcn"},
                                         {"lb", &P::lb, "", "how it chooses paths"},
                                         {"fan_in", &P::fan_in, "", "senders to one receiver at a time"},
                                         {"mean", &P::mean, "", "factor on transfers between servers"},
                                         {"p99", &P::p99, "", "factor on the slowest of 100"},
                                         {"source", &P::source, "", "entry of the catalogue"}});
  return record;
}

PenaltyResult penalty_result(const predict::NetworkPenalty& p) {
  return {p.transport, p.balance, p.fan_in,
          p.mean,      p.p99,     fmt::format("catalog penalties/{}-{}", p.transport, p.balance)};
}

}  // namespace busbar::questions
