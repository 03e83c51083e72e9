#include "busbar/formats/nccl_identity.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace busbar {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

struct Capability {
  std::string_view word;
  int value;
};
/// Source: NVIDIA, "CUDA GPU Compute Capability" (developer.nvidia.com/cuda-gpus, 2026). The first match counts.
constexpr Capability kCapabilities[] = {
    {"gb300", 103}, {"b300", 103},    {"gb200", 100},  {"b200", 100},     {"gh200", 90},    {"h200", 90}, {"h100", 90},
    {"h800", 90},   {"h20", 90},      {"l40", 89},     {"rtx-4090", 89},  {"rtx4090", 89},  {"a100", 80}, {"a800", 80},
    {"a10", 86},    {"rtx-3090", 86}, {"rtx3090", 86}, {"rtx-5090", 120}, {"rtx5090", 120}, {"v100", 70}, {"p100", 60},
};

struct Processor {
  std::string_view word;
  ProcessorIdentity identity;
};
/// Source: Linux, arch/x86/include/asm/intel-family.h, and AMD's processor programming references for family and first
/// model of a generation (Rome 0x31, Milan 0x01, Genoa 0x11, Turin 0x02). NCCL tells generations apart by them.
constexpr Processor kProcessors[] = {
    {"e5-26", {"x86_64", "GenuineIntel", 6, 79}},
    {"8168", {"x86_64", "GenuineIntel", 6, 85}},
    {"8275", {"x86_64", "GenuineIntel", 6, 85}},
    {"skylake", {"x86_64", "GenuineIntel", 6, 85}},
    {"cascade", {"x86_64", "GenuineIntel", 6, 85}},
    {"ice lake", {"x86_64", "GenuineIntel", 6, 106}},
    {"848", {"x86_64", "GenuineIntel", 6, 143}},
    {"sapphire", {"x86_64", "GenuineIntel", 6, 143}},
    {"857", {"x86_64", "GenuineIntel", 6, 207}},
    {"emerald", {"x86_64", "GenuineIntel", 6, 207}},
    {"6776p", {"x86_64", "GenuineIntel", 6, 173}},
    {"granite", {"x86_64", "GenuineIntel", 6, 173}},
    {"7742", {"x86_64", "AuthenticAMD", 23, 49}},
    {"rome", {"x86_64", "AuthenticAMD", 23, 49}},
    {"milan", {"x86_64", "AuthenticAMD", 25, 1}},
    {"trento", {"x86_64", "AuthenticAMD", 25, 1}},
    {"genoa", {"x86_64", "AuthenticAMD", 25, 17}},
    {"turin", {"x86_64", "AuthenticAMD", 26, 2}},
    {"epyc", {"x86_64", "AuthenticAMD", 25, 1}},
    {"grace", {"arm64", "", 0, 0}},
    {"vera", {"arm64", "", 0, 0}},
    {"power", {"ppc64", "", 0, 0}},
};

}  // namespace

std::optional<int> compute_capability(std::string_view gpu_part) {
  const std::string part = lower(gpu_part);
  for (const Capability& c : kCapabilities)
    if (part.find(c.word) != std::string::npos) return c.value;
  return std::nullopt;
}

std::optional<ProcessorIdentity> processor_identity(std::string_view cpu_part) {
  const std::string part = lower(cpu_part);
  for (const Processor& p : kProcessors)
    if (part.find(p.word) != std::string::npos) return p.identity;
  return std::nullopt;
}

}  // namespace busbar
