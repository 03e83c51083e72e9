#include "busbar/nccl/constants.h"

namespace busbar::nccl {

float nvlink_GBps(int cc, NcclVersion v) {
  if (cc >= 100) return v >= NcclVersion{2, 27} ? 40.1f : 40.0f;
  if (cc >= 90) return v >= NcclVersion{2, 19} ? 20.6f : 20.0f;
  if (cc == 86) return 12;
  return cc >= 70 ? 20 : 18;
}

float xgmi_GBps(std::string_view target) {
  if (target.starts_with("gfx95") || target.starts_with("gfx94")) return 48;
  if (target == "gfx90a") return 36;
  return 24;
}

float pcie_GBps(double gigatransfers, int lanes) {
  // Rates in units of 100 Mb/s per lane.
  struct Speed {
    double gigatransfers;
    int units;
  };
  constexpr Speed kSpeeds[] = {{64, 480}, {32, 240}, {16, 120}, {8, 60}, {5, 30}, {2.5, 15}};
  int units = 60;  // an unknown speed counts as generation 3
  for (const Speed& s : kSpeeds)
    if (gigatransfers >= s.gigatransfers * 0.9) {  // files may give the rate after line coding
      units = s.units;
      break;
    }
  return static_cast<float>((lanes == 0 ? 16 : lanes) * units) / 80.0f;
}

namespace {

float intel_GBps(int model, NcclVersion v) {
  constexpr int kSkylake = 0x55, kSapphireRapids = 0x8F, kEmeraldRapids = 0xCF;
  if (v < NcclVersion{2, 26}) return model >= kSkylake ? 10 : 6;
  if (model >= kEmeraldRapids) return 40;
  if (model >= kSapphireRapids) return 22;
  return model >= kSkylake ? 10 : 6;
}

}  // namespace

float inter_cpu_GBps(const CpuType& cpu, NcclVersion v) {
  if (cpu.arch == CpuArch::kPower) return 32;
  if (cpu.arch == CpuArch::kArm) return 6;
  if (cpu.arch != CpuArch::kX86) return kNcclLocalGBps;
  switch (cpu.vendor) {
    case CpuVendor::kIntel:
      return intel_GBps(cpu.model, v);
    case CpuVendor::kAmd:
      return 16;
    case CpuVendor::kZhaoxin:
      return cpu.model == 0x5B ? 9 : 6;  // Yongfeng
    case CpuVendor::kUnknown:
      break;
  }
  return kNcclLocalGBps;
}

}  // namespace busbar::nccl
