// The machine of a command: a cluster of ours, or the description that another program wrote.
#pragma once

#include <cstdint>
#include <string>

#include "busbar/base/result.h"
#include "busbar/host/host_files.h"
#include "busbar/spec/cluster.h"
#include "busbar/topology/part_figures.h"

namespace busbar {

/// A machine description in the format of another program (see import_formats()) is imported; everything else goes to
/// load_cluster(). Assumptions of the import are listed among the cluster's sources.
Result<Cluster> load_machine(const std::string& name, const Overrides& overrides);

/// The host of `files`, if it has a GPU. Error kInvalid otherwise, and where the product of the GPUs is not known.
Result<Cluster> load_host(const HostFiles& files, const Overrides& overrides);

/// A preset with as many nodes as hold `asked` GPUs: "dgx-h100" and 512 give "dgx-h100:64".
struct SizedMachine {
  std::string name;
  std::uint32_t gpus = 0;  ///< at least those asked for
  std::uint32_t per_node = 0;
};
/// Errors name --gpus: `preset` is a file, or has a size already.
Result<SizedMachine> sized_machine(const std::string& preset, std::uint32_t asked, const Overrides& overrides);

/// "GPUs", or "chips" for a machine that names them so (chip0): TPUs.
const char* gpus_in_words(const Topology& topology);

/// Figures of parts for readers of foreign files. `catalog_directory`: the value of --catalog.
Result<PartFigures> catalog_part_figures(const std::string& catalog_directory);

}  // namespace busbar
