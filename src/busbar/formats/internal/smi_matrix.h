// Reads the matrices of `nvidia-smi topo -m` and `rocm-smi --showtopo` as machines.
//
// Source: the legend that nvidia-smi prints; ROCm SMI's headings. A matrix gives the distances of devices, but not
// their products, rates and generations. These are assumed, and notes say so.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/topology/part_figures.h"

namespace busbar::formats {

bool looks_like_nvidia_smi_matrix(std::string_view head);
bool looks_like_rocm_smi_matrix(std::string_view head);

/// Devices at PIX share a PCIe switch; devices at PXB share a switch above their switches; others are below the CPU of
/// their NUMA node. A NIC is placed next to the GPUs nearest to it, or on its own CPU if it is SYS to all. NV# is a
/// mesh if each GPU has at most 36 links to its peers in total, otherwise an NVSwitch.
Result<ImportedMachine> read_nvidia_smi_matrix(std::string_view text, const std::string& name,
                                               const topology::PartFigures& figures = {});
/// XGMI at one hop is one lane between two GPUs; PCIE goes through the CPUs.
Result<ImportedMachine> read_rocm_smi_matrix(std::string_view text, const std::string& name,
                                             const topology::PartFigures& figures = {});

}  // namespace busbar::formats
