// Bandwidths that NCCL assumes for links, per version. GB/s is 1e9 bytes/s per direction.
//
// Source: NVIDIA NCCL 2.30.7, src/graph/topo.h and topo.cc; ROCm RCCL, src/graph/topo.h for XGMI. They are NCCL's
// assumptions, not properties of a product, so they stand here and not in the catalogue.
#pragma once

#include <cstdint>
#include <string_view>

#include "busbar/nccl/version.h"

namespace busbar::nccl {

inline constexpr float kNcclLocalGBps = 5000;  ///< links of type LOC
inline constexpr std::uint32_t kMostNcclChannels = 64;
inline constexpr std::uint32_t kMostNcclGpus = 72;  ///< ranks of one node or NVLink domain

/// Rate of one NVLink of a GPU with compute capability `cc` (times ten).
float nvlink_GBps(int cc, NcclVersion version);
/// Rate of one xGMI link between GPUs of this LLVM target: "gfx906", "gfx90a", "gfx942", ...
float xgmi_GBps(std::string_view target);
/// Rate of a PCIe link with `lanes` lanes, each at `gigatransfers` GT/s.
float pcie_GBps(double gigatransfers, int lanes);

enum class CpuArch : std::uint8_t { kX86, kArm, kPower, kUnknown };
enum class CpuVendor : std::uint8_t { kIntel, kAmd, kZhaoxin, kUnknown };
struct CpuType {
  CpuArch arch = CpuArch::kUnknown;
  CpuVendor vendor = CpuVendor::kUnknown;
  int family = 0, model = 0;
  bool operator==(const CpuType&) const = default;
};
/// Rate between two NUMA nodes of one machine.
float inter_cpu_GBps(const CpuType& cpu, NcclVersion version);

}  // namespace busbar::nccl
