// The machine a command works on: a cluster of ours, or the description that another program made of one.
#pragma once

#include <string>

#include "busbar/base/result.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/part_figures.h"

namespace busbar {

/// A file that describes a machine in another program's words (see import_formats()) is imported; everything else is
/// load_cluster()'s. What the import had to assume stands among the cluster's sources.
Result<Cluster> load_machine(const std::string& name, const Overrides& overrides);

/// Figures of parts for readers of foreign files. `catalog_directory`: what --catalog says.
Result<PartFigures> catalog_part_figures(const std::string& catalog_directory);

}  // namespace busbar
