// A run of many steps with failures and checkpoints: all data of its report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/step/train_run.h"
#include "busbar/survive/checkpoint_run.h"
#include "busbar/survive/failure_rates.h"
#include "busbar/survive/goodput.h"
#include "busbar/survive/spare_policies.h"

namespace busbar::survive {

/// As typed. Defaults and their sources: docs/models/survive.md.
struct GoodputAsk {
  std::string failures = "llama3";
  std::string detect = "30s", watchdog = "600s", restart = "300s";
  CheckpointAsk checkpoint;
  std::string interval;             ///< empty: Daly's
  std::string hot_restart = "60s";  ///< initialisation alone, on servers that wait started
  std::string silent_after = "0s";  ///< until silent corruption is noticed
  bool failover = false;            ///< failures of NICs, cables and switches do not end the job
  double repair_hours = 24;
  std::string slow_servers = "0.5%x1.1";
  std::string tokens;           ///< of the run: "15T"; empty: none
  double usd_per_gpu_hour = 0;  ///< 0: the machine's
};

/// One thing that a person could change, and the useful share with it.
struct GoodputLever {
  std::string what;
  double useful = 0;
};

/// Pods of cubes that optical switches join: where hardware fails, a spare cube takes the place of the whole cube.
struct SpareCubes {
  std::uint64_t cubes = 0;  ///< that the job uses; 0: the machine has none
  double switching_s = 0, initialisation_s = 0;
  double per_day = 0;        ///< exchanges
  std::uint64_t spares = 0;  ///< cubes
  double event_s = 0;        ///< from such a failure to the point where the job was, on average
};

/// Failures of the network that collectives go round.
struct FailoverCost {
  double per_day = 0;    ///< 0: they end the job
  double pause_s = 0;    ///< each, until the collectives go on over other paths
  double slow_step = 0;  ///< share by which a step takes longer without a NIC, at most
  double out_share = 0;  ///< of the time, in which a part is out
};

struct GoodputRun {
  FailureRates rates;
  PartCounts parts{};
  Interruptions interruptions;
  CheckpointRun checkpoint;
  double detect_s = 0, restart_s = 0;
  CheckpointTerms terms;
  double interval_s = 0, young_s = 0;
  double best_s = 0;  ///< Daly's interval, in whole steps
  FailoverCost failover;
  double silent_s = 0;  ///< until silent corruption is noticed
  Goodput shares, at_low_rates, at_high_rates;
  std::uint64_t spares = 0;  ///< servers
  double in_repair = 0;      ///< servers, on average
  SpareCubes cubes;
  double slow_chance = 0, slow_step_s = 0;
  std::vector<GoodputLever> levers;   ///< best first
  std::vector<SparePolicy> policies;  ///< cheapest first
  double step_s = 0, usd_per_hour = 0;
  double run_days = 0, run_usd = 0;  ///< of all tokens asked for; 0: none
};
/// `run`: of one step, for which parts are counted and times taken. Errors name the member.
Result<GoodputRun> run_goodput(const step::TrainRun& run, const GoodputAsk& ask, const spec::Catalog& catalog);

}  // namespace busbar::survive
