// The machine a command works on: a cluster of ours, or the description that another program made of one.
#pragma once

#include <string>

#include "busbar/base/result.h"
#include "busbar/spec/cluster.h"

namespace busbar {

/// A file that is a foreign description (a topology file of NCCL or RCCL) is imported; everything else is
/// load_cluster()'s. What the import had to assume stands among the cluster's sources.
Result<Cluster> load_machine(const std::string& name, const Overrides& overrides);

/// The whole of a file; kNotFound or kIo with its name.
Result<std::string> read_whole_file(const std::string& name);

}  // namespace busbar
