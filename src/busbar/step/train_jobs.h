// Settings of a step beyond its layout: algorithms by purpose, several equal jobs, and what disturbs it at random.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/predict/predictor.h"
#include "busbar/program/program.h"

namespace busbar::step {

/// As typed.
struct StepSettings {
  std::vector<std::string> algorithms;  ///< --algorithm: "dp=tree"
  std::uint32_t jobs = 1;               ///< equal jobs that run in step, each on its share of the machine
  std::string placement = "packed";     ///< of their nodes: packed, interleaved, random or random:SEED
  std::vector<std::string> jitter;      ///< --jitter: "node3.nic2=1%x50us"
  std::string stragglers;               ///< --stragglers: "0.01%x1.3"
  std::uint32_t gpus_per_domain = 0;    ///< that run a job; the others of a server or rack are spares; 0: all
};

/// Each GPU is slow in a step with this chance, and then takes `factor` times as long.
struct Stragglers {
  double chance = 0, factor = 1;
};
Result<Stragglers> parse_stragglers(const std::string& text);

/// The GPUs of all ranks, job by job: whole nodes in turn ("packed"), dealt out ("interleaved"), or in random order; of
/// each node the first `gpus_per_domain`. Empty: one packed job on all GPUs. Errors name the flag.
Result<std::vector<topology::DeviceId>> place_jobs(const topology::Topology& topology, const StepSettings& settings);

/// Gives the calls of each named purpose its algorithm, where that algorithm can run them. Errors name the flag: a
/// purpose none of whose calls it can run; with `all`, also one without calls.
Status set_algorithms(const std::vector<std::string>& algorithms, const predict::Predictor& machine, bool all,
                      program::Program& program);

/// Every call runs in `jobs` copies at once, on `ranks` ranks each.
void copy_calls(std::uint32_t jobs, std::uint32_t ranks, program::Program& program);

}  // namespace busbar::step
