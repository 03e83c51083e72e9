// The scenarios of one command: the one that was asked for and, with --beside, others that differ in a few words.
#pragma once

#include <string>
#include <vector>

#include "busbar/spec/scenario.h"

namespace busbar {

/// What a command line says of a scenario.
struct TrainInput {
  std::string scenario;  ///< file; empty: all from flags
  ScenarioFlags flags;
  Overrides overrides;
};
Result<Scenario> read_scenario(const TrainInput& input);

struct TrainVariant {
  std::string change;  ///< as typed; empty: what was asked for
  Scenario scenario;
  bool fold = true;
};

/// `input` itself first, then with each of `besides` changed: words apart by spaces, each cluster=NAME, model=NAME,
/// cluster.KEY=VALUE, model.KEY=VALUE, layout.KEY=VALUE or `unfolded`. They win over flags and --set; another machine
/// starts without the --set cluster.*, --degrade and --fail of the first. Errors name --beside.
Result<std::vector<TrainVariant>> read_variants(const TrainInput& input, const std::vector<std::string>& besides);

/// Says which variant an error comes from.
Error with_change(Error error, const std::string& change);

/// "as asked", or the change.
std::string heading_of(const TrainVariant& v);

}  // namespace busbar
