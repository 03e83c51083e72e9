// A scenario names one machine, one model and one layout.
#pragma once

#include <string>

#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"
#include "busbar/spec/layout_file.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar {

struct Scenario {
  std::string cluster;          ///< for load_cluster(): a preset, NAME:N, or a file
  Where cluster_named_at;       ///< in the scenario file; empty: a flag named it
  Overrides cluster_overrides;  ///< what of --set, --degrade, --fail concerns the machine
  ModelSpec model;
  LayoutSpec layout;  ///< as written; resolve_layout() fits it to the machine
  std::string text;   ///< everything read but the cluster, for inputs_hash
};

/// What a command line says instead of, or over, a scenario file. Empty: not said.
struct ScenarioFlags {
  std::string cluster;
  std::string model;   ///< catalogue name or file
  std::string layout;  ///< file
  LayoutFlags degrees;
};

/// `path` is a file with the keys cluster, model, layout: each a catalogue name, a file relative to it, or (model,
/// layout) a map in place. Flags win over the file. Of --set, keys below model. and layout. stay here, keys below
/// cluster. go to the machine without that prefix.
Result<Scenario> load_scenario(const std::string& path, const ScenarioFlags& flags, const Overrides& overrides,
                               const Catalog& catalog);
/// All from flags: cluster and model must be said.
Result<Scenario> scenario_from_flags(const ScenarioFlags& flags, const Overrides& overrides, const Catalog& catalog);

}  // namespace busbar
