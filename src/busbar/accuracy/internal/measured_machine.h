// The machine that a measured row describes, from its normalised columns alone: node, nodes, gpus_per_node,
// node_variant, nics_per_node, nic_gbps, fabric, gpudirect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/csv.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar::accuracy {

struct MeasuredMachine {
  std::string node;                    ///< catalogue name of the board
  std::uint32_t nodes = 1;             ///< as in the row
  std::uint32_t gpus_per_node = 0;     ///< number of GPUs that take part
  std::vector<std::uint32_t> gpu_ids;  ///< their indices in a node; empty: the first ones
  std::string text;                    ///< cluster file in braces, for load_cluster()
};

/// `row` as a cluster file. Error kUnsupported: missing or inexpressible data, in a few words that are equal for equal
/// reasons; kInvalid: the table is wrong.
Result<MeasuredMachine> machine_of_row(const CsvTable& table, std::size_t row, const spec::Catalog& catalog);

/// The GPUs that take part, in order of ranks; `topology` was built from m.text.
Result<std::vector<topology::DeviceId>> gpus_taking_part(const MeasuredMachine& m, const topology::Topology& topology);

/// The entry of networks/ for a fabric of the measured tables and a port rate in Gb/s; empty: none.
std::string network_of(const std::string& fabric, int gbps, int nics, const spec::Catalog& catalog);

}  // namespace busbar::accuracy
