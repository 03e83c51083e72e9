// The machine that a measured row describes, from its normalised columns alone: node, nodes, gpus_per_node,
// node_variant, nics_per_node, nic_gbps, fabric, gpudirect.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/csv.h"
#include "busbar/spec/catalog.h"
#include "busbar/spec/cluster.h"

namespace busbar {

struct MeasuredMachine {
  std::string node;                    ///< catalogue name of the board
  std::uint32_t nodes = 1;             ///< as the row counts them
  std::uint32_t gpus_per_node = 0;     ///< that take part
  std::vector<std::uint32_t> gpu_ids;  ///< which of a node; empty: the first
  std::string text;                    ///< cluster file in braces, as load_cluster() takes it
};

/// `row` as a cluster file. Error kUnsupported: what the columns leave open or the model cannot express, in a few words
/// that are alike for alike reasons; kInvalid: the table is wrong.
Result<MeasuredMachine> machine_of_row(const CsvTable& table, std::size_t row, const Catalog& catalog);

/// The GPUs of `topology`, built from m.text, that take part, in order of ranks.
Result<std::vector<DeviceId>> gpus_taking_part(const MeasuredMachine& m, const Topology& topology);

/// Catalogue entry in networks/ for a fabric of the measured tables and the rate of a port in Gb/s; empty: none.
std::string network_of(const std::string& fabric, int gbps, int nics, const Catalog& catalog);

}  // namespace busbar
