// The machine of a question: a cluster of ours, or the description that another program wrote.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/result.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/part_figures.h"

namespace busbar::step {

/// A machine description in the format of another program (see import_formats()) is imported; everything else goes to
/// load_cluster(). Assumptions of the import are listed among the cluster's sources.
Result<spec::Cluster> load_machine(const std::string& name, const spec::Overrides& overrides);

/// The catalogue name of its GPUs, for recipes of frameworks; empty: it is not known.
Result<std::string> gpu_of_machine(const std::string& name, const spec::Overrides& overrides);

/// A machine from a text in the format of another program; `name` is for messages. Error kInvalid: it has no GPU, or
/// the product of its GPUs is not known.
Result<spec::Cluster> read_machine(const std::string& text, const std::string& name, const spec::Overrides& overrides);

/// The machine as a commented file of ours that names no other machine; --degrade and --fail are left out.
Result<std::string> machine_yaml(const std::string& name, const spec::Cluster& loaded,
                                 const spec::Overrides& overrides);

/// Narrows `name` and `overrides` to the servers that hold the first `gpus` GPUs (0: all): "dgx-h100" and 512 become
/// "dgx-h100:64", a file keeps its name and gets Overrides::nodes. Error of --gpus: the machine has a size, and it is
/// too small.
/// Cubes of chips that optical switches join become one torus, as even as the number allows, if a pod holds them.
Status take_servers(std::uint32_t gpus, std::string& name, spec::Overrides& overrides);

/// "GPUs", or "chips" for a machine that names them so (chip0): TPUs.
const char* gpus_in_words(const topology::Topology& topology);

/// Figures of parts for readers of foreign files. `catalog_directory`: the value of --catalog.
Result<topology::PartFigures> catalog_part_figures(const std::string& catalog_directory);

}  // namespace busbar::step
