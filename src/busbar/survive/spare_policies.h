// Ways to go on after a failure: with which spares, from which state, at which price.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/survive/goodput.h"

namespace busbar::survive {

/// All times in seconds.
struct SpareTerms {
  CheckpointTerms run;    ///< of a job that starts again on spare servers
  double interval_s = 0;  ///< between checkpoints
  double step_s = 0;
  double detect_s = 0;
  double saved_by_hot_s = 0;  ///< of the restart, where servers wait started
  double load_s = 0;
  double hardware_share = 0;  ///< of all failures: these take a server out for repair
  double repair_s = 0;
  double servers = 1;          ///< of the job, without those it keeps
  double domains = 1;          ///< scale-up domains; as many as servers: a spare may be anywhere
  double kept_per_domain = 0;  ///< servers of each domain that the layout leaves idle, as spares
  std::uint32_t replicas = 1;
  bool peers_hold_state = false;  ///< another replica has all that a lost one had
};

struct SparePolicy {
  std::string name;
  double restart_s = 0;        ///< from a failure to the next step
  double useful = 0;           ///< steps that count, as a share of those of all servers of the job all the time
  std::uint64_t spares = 0;    ///< servers in addition to those of the job
  double paid_per_useful = 0;  ///< hours of servers, spares included, for one useful hour of a server
};

/// Cheapest first. `confidence`: that spares suffice. What needs replicas, domains or copies of the state that the job
/// does not have is left out.
std::vector<SparePolicy> spare_policies(const SpareTerms& terms, double confidence);

}  // namespace busbar::survive
