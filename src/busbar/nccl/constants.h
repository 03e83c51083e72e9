// Bandwidths that NCCL counts for links, per version. GB/s is 1e9 bytes/s per direction.
//
// Source: NVIDIA NCCL 2.30.7, src/graph/topo.h and topo.cc; ROCm RCCL, src/graph/topo.h for XGMI. They are NCCL's
// assumptions and say nothing about what a product does, hence here and not in the catalogue.
#pragma once

#include <cstdint>
#include <string_view>

#include "busbar/nccl/version.h"

namespace busbar {

inline constexpr float kNcclLocalGBps = 5000;  ///< LOC links
inline constexpr std::uint32_t kMostNcclChannels = 64;
inline constexpr std::uint32_t kMostNcclGpus = 72;  ///< ranks in one node or NVLink domain

/// One NVLink of a GPU of compute capability `cc` (times ten).
float nvlink_GBps(int cc, NcclVersion version);
/// One xGMI link between GPUs of that LLVM target: "gfx906", "gfx90a", "gfx942", ...
float xgmi_GBps(std::string_view target);
/// A PCIe link of `lanes` at `gigatransfers` per lane.
float pcie_GBps(double gigatransfers, int lanes);

enum class CpuArch : std::uint8_t { kX86, kArm, kPower, kUnknown };
enum class CpuVendor : std::uint8_t { kIntel, kAmd, kZhaoxin, kUnknown };
struct CpuType {
  CpuArch arch = CpuArch::kUnknown;
  CpuVendor vendor = CpuVendor::kUnknown;
  int family = 0, model = 0;
};
/// From one NUMA node to another of the same machine.
float inter_cpu_GBps(const CpuType& cpu, NcclVersion version);

}  // namespace busbar
