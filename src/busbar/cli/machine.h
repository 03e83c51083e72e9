// The machine of a command: a cluster of ours, or the description that another program wrote.
#pragma once

#include <string>

#include "busbar/base/result.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/part_figures.h"

namespace busbar {

/// A machine description in the format of another program (see import_formats()) is imported; everything else goes to
/// load_cluster(). Assumptions of the import are listed among the cluster's sources.
Result<Cluster> load_machine(const std::string& name, const Overrides& overrides);

/// Figures of parts for readers of foreign files. `catalog_directory`: the value of --catalog.
Result<PartFigures> catalog_part_figures(const std::string& catalog_directory);

}  // namespace busbar
