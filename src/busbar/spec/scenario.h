// A scenario names one machine, one model and one layout.
#pragma once

#include <functional>
#include <string>

#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"
#include "busbar/spec/layout_file.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::spec {

struct Scenario {
  std::string cluster;          ///< for load_cluster(): a preset, NAME:N, or a file
  Where cluster_named_at;       ///< place in the scenario file; empty: a flag named it
  Overrides cluster_overrides;  ///< the parts of --set, --degrade, --fail that concern the machine
  workload::ModelSpec model;
  workload::LayoutSpec layout;     ///< as written; resolve_layout() fits it to the machine
  std::vector<PacketLine> packet;  ///< of the scenario file: instead of equal ones of the machine
  std::string framework;           ///< whose defaults hold where the layout names no key; empty: Busbar's own
  std::string framework_release;   ///< empty: its file lists none
  std::uint32_t gpus = 0;          ///< `gpus` of the layout: the first of the machine take part; 0: all
  /// `gpus_per_domain`: the first of each server or rack take part, the others are spares; 0: all.
  std::uint32_t gpus_per_domain = 0;
  std::string framework_sets;  ///< "loss torch, early_stop true": what it changed
  std::string text;            ///< everything read except the cluster, for inputs_hash
};

/// Flags that replace or override a scenario file. Empty: not given.
struct ScenarioFlags {
  std::string cluster;
  std::string model;      ///< catalogue name or file
  std::string layout;     ///< file
  std::string framework;  ///< NAME or NAME:RELEASE
  std::string recipe;     ///< "auto", which is the default, or "none"
  LayoutFlags degrees;
};

/// The catalogue name of the GPUs of a machine, for recipes of frameworks.
using GpuOfMachine = std::function<Result<std::string>(const std::string& cluster, const Overrides& overrides)>;
/// The same name, of a machine that load_cluster() knows.
Result<std::string> gpu_of_cluster(const std::string& cluster, const Overrides& overrides);

/// `path` is a file with the keys cluster, model, layout, packet. Each of the first three is a catalogue name, a file
/// relative to `path`, or (model, layout) a map. Flags override the file. Keys of --set below model. and layout. apply
/// here; keys below cluster. go to the machine without that prefix.
Result<Scenario> load_scenario(const std::string& path, const ScenarioFlags& flags, const Overrides& overrides,
                               const Catalog& catalog, const GpuOfMachine& gpu_of = gpu_of_cluster);
/// `error` about what the user named at `name`, with that place if its own is at most a file that could not be read.
Error at_name(Error error, const Where& name);
/// Everything from flags; cluster and model are required.
Result<Scenario> scenario_from_flags(const ScenarioFlags& flags, const Overrides& overrides, const Catalog& catalog,
                                     const GpuOfMachine& gpu_of = gpu_of_cluster);

}  // namespace busbar::spec
