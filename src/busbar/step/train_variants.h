// The scenarios of one command: the given one and, with --beside, variants that differ in a few words.
#pragma once

#include <string>
#include <vector>

#include "busbar/spec/scenario.h"

namespace busbar::step {

/// The description of a scenario on the command line.
struct TrainInput {
  std::string scenario;  ///< file; empty: everything from flags
  spec::ScenarioFlags flags;
  spec::Overrides overrides;
};
Result<spec::Scenario> read_scenario(const TrainInput& input);

struct TrainVariant {
  std::string change;  ///< as typed; empty: the scenario itself
  spec::Scenario scenario;
  bool fold = true;
};

/// `input` itself first, then with each of `besides` applied: words separated by spaces, each cluster=NAME, model=NAME,
/// cluster.KEY=VALUE, model.KEY=VALUE, layout.KEY=VALUE or `unfolded`. They override flags and --set. Another machine
/// starts without the --set cluster.*, --degrade and --fail of the first. Errors name --beside.
Result<std::vector<TrainVariant>> read_variants(const TrainInput& input, const std::vector<std::string>& besides);

/// Adds the variant to an error.
Error with_change(Error error, const std::string& change);

/// "as asked", or the change.
std::string heading_of(const TrainVariant& v);

}  // namespace busbar::step
