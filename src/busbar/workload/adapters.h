// Low-rank adapters (LoRA): what is trained while the model's own weights stay as they are.
//
//   layout.adapters = {.rank = 16, .targets = adapter_bits(AdapterTarget::kQuery) |
//   adapter_bits(AdapterTarget::kValue)};
#pragma once

#include <cstdint>

namespace busbar::workload {

/// Matrices that can have an adapter. Those of an "in" kind have one for all their parts (Megatron's linear_qkv and
/// linear_fc1), the others one for each.
enum class AdapterTarget : std::uint8_t { kQuery, kKey, kValue, kOutput, kGate, kUp, kDown, kQkvIn, kMlpIn };
constexpr std::uint32_t adapter_bits(AdapterTarget t) { return 1u << static_cast<std::uint32_t>(t); }

/// The form of the weights that are not trained. All but matrices of layers stay in 16 bits.
enum class BaseWeights : std::uint8_t {
  kBf16,
  kFp8,    ///< with one scale for each matrix
  kNf4,    ///< 4 bits with scales of blocks (QLoRA); becomes bf16 for each product
  kNvfp4,  ///< 4 bits with a scale in 8 bits for each 16; becomes bf16 for each product
};

/// Source: LoRA, arXiv:2106.09685 (2021); QLoRA, arXiv:2305.14314 (2023), section 3.
struct AdapterSpec {
  std::uint32_t rank = 0;     ///< 0: no adapters, all parameters are trained
  std::uint32_t targets = 0;  ///< sum of adapter_bits
  BaseWeights base = BaseWeights::kBf16;
  bool double_quantised = true;  ///< kNf4: scales of blocks are 8 bits themselves
  bool any() const { return rank > 0; }
  bool on(AdapterTarget t) const { return any() && (targets & adapter_bits(t)) != 0; }
};

}  // namespace busbar::workload
