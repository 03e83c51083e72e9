// What the optimizer keeps and does for each parameter that is trained.
#pragma once

#include <cstdint>

namespace busbar::workload {

enum class OptimizerKind : std::uint8_t {
  kAdamW,      ///< two moments
  kSgd,        ///< one, with momentum
  kLion,       ///< one
  kAdafactor,  ///< sums of rows and columns instead of the second moment, and no first
  kMuon,       ///< matrices of layers have one, which is made orthogonal at each step; the rest has AdamW
};

/// Numbers of the moments.
enum class MomentKind : std::uint8_t { kFp32, kBf16, kFp8, kInt8, kInt4, kNvfp4 };

/// kMuon: what is made orthogonal of a matrix that TP divides. Names: Megatron-LM, --muon-tp-mode.
enum class MuonTp : std::uint8_t {
  kBlockwise,   ///< the part of each rank alone
  kDuplicated,  ///< the whole matrix, gathered first, on every rank
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kAdamW;
  MomentKind moments = MomentKind::kFp32;
  std::uint32_t master_bytes = 4;  ///< copy of the weights that is updated; 0: the weights themselves are
  std::uint32_t steps = 5;         ///< kMuon: Newton-Schulz iterations
  MuonTp tp = MuonTp::kBlockwise;
};

}  // namespace busbar::workload
