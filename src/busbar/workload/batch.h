// The batch of a step for which none was given: one rule for every command.
//
//   const UsualBatch batch = usual_batch(model, 4096, 512);
//   batch.sequences;  // 1024
//   batch.basis;      // "as published for Llama-3-70B (NVIDIA NeMo, ...)"
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

/// Tokens of a step of a model without a published batch. Source: the batches of Llama 2 (arXiv:2307.09288, table 1:
/// 4M), of the first stage of Llama 3 (arXiv:2407.21783, section 3.4.1: 4M), of BLOOM (arXiv:2211.05100, table 3: 2048
/// x 2048) and of MT-NLG (arXiv:2201.11990, section 3.2: 1920 x 2048).
constexpr std::uint64_t kUsualTokens = std::uint64_t{1} << 22;

/// Lengths of the documents as sequences hold them: longer ones are cut to whole sequences and a rest. Without
/// documents: the sequence.
std::vector<std::uint32_t> document_pieces(const Batch& batch);

struct UsualBatch {
  std::uint32_t sequences = 0;
  std::string basis;  ///< where it comes from: "as published for Llama-3-70B (source)"
};

/// The published tokens of the model's step, or kUsualTokens, in sequences of `seq` tokens. The number is rounded by at
/// most 1/16, so that many numbers of replicas divide it: to a multiple of the odd part of `gpus` with as many factors
/// of two as possible. Where no such multiple is so near, it is not rounded.
UsualBatch usual_batch(const ModelSpec& model, std::uint32_t seq, std::uint32_t gpus);

/// Sets the batch of a layout that has none to usual_batch(), before its degrees are known.
void fill_batch(LayoutSpec& layout, const ModelSpec& model, std::uint32_t gpus);

/// The same for a layout whose degrees are known: the nearest batch that they divide, at least one micro-batch for each
/// replica.
Status fill_batch_of_degrees(LayoutSpec& layout, const ModelSpec& model, std::uint32_t gpus);

}  // namespace busbar::workload
