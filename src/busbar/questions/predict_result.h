// How an answer predicted collectives, in results: the library's rules, and penalties of a transport.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/base/units.h"
#include "busbar/predict/policy.h"

namespace busbar::questions {

struct LaunchResult {
  std::string mode;  ///< "machine": its own figure
  double us = 0;
  std::optional<double> host_us_per_gpu;
};
const Record& record_of(const LaunchResult*);

struct PolicyResult {
  std::string nccl;
  std::vector<std::string> env;
  LaunchResult launch;
};
const Record& record_of(const PolicyResult*);

/// `mode`: as asked, or empty; `launch`: the launch time of the predictions.
PolicyResult policy_result(const predict::PredictPolicy& policy, const std::string& mode, Duration launch);

struct PenaltyResult {
  std::string transport, lb;
  double fan_in = 0, mean = 1, p99 = 1;
  std::string source;
};
const Record& record_of(const PenaltyResult*);

PenaltyResult penalty_result(const predict::NetworkPenalty& penalty);

}  // namespace busbar::questions
