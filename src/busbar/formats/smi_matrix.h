// The matrices of `nvidia-smi topo -m` and `rocm-smi --showtopo` as machines.
//
// Source: the legend that nvidia-smi prints; ROCm SMI's headings. A matrix says how near devices are, not what they
// are: products, rates and generations stay open and are noted as assumed.
#pragma once

#include <string>
#include <string_view>

#include "busbar/base/result.h"
#include "busbar/formats/imported.h"
#include "busbar/topology/part_figures.h"

namespace busbar {

bool looks_like_nvidia_smi_matrix(std::string_view head);
bool looks_like_rocm_smi_matrix(std::string_view head);

/// Devices that are PIX share a PCIe switch, those that are PXB a switch above their switches, others hang on the CPU
/// of their NUMA node; a NIC stands by the GPUs it is nearest to, or on a CPU of its own where it is SYS to all. NV# is
/// a mesh while a GPU has at most 36 links to its peers together, else an NVSwitch.
Result<ImportedMachine> read_nvidia_smi_matrix(std::string_view text, const std::string& name,
                                               const PartFigures& figures = {});
/// XGMI at one hop is one lane between two GPUs; PCIE leads over the CPUs.
Result<ImportedMachine> read_rocm_smi_matrix(std::string_view text, const std::string& name,
                                             const PartFigures& figures = {});

}  // namespace busbar
