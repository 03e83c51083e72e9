// What NCCL must be told of a part and cannot read from a file: compute capability, processor family and model.
#pragma once

#include <optional>
#include <string_view>

namespace busbar {

/// Compute capability x 10 of an NVIDIA GPU by its catalogue name ("h100-sxm": 90); none for what is not known.
std::optional<int> compute_capability(std::string_view gpu_part);

struct ProcessorIdentity {
  std::string_view arch, vendor;  ///< as NCCL spells them: "x86_64", "GenuineIntel"
  int family = 0, model = 0;      ///< decimal, x86 only
};
/// By the words in a CPU's catalogue name ("Xeon 8480C"); none for what is not known.
std::optional<ProcessorIdentity> processor_identity(std::string_view cpu_part);

}  // namespace busbar
