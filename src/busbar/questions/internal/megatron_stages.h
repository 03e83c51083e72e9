// The layers of each model chunk in Megatron-LM's words: "Et*3|(tt|)*29,m|L". E is the embedding, t a layer, m a layer
// that predicts a further token, L the head; | ends a chunk, X*N and (...)*N repeat. Chunks stand in the order of the
// forward pass. Source: Megatron-Core user guide, Custom Pipeline Model Parallel Layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace busbar::questions {

inline constexpr std::string_view kStageLayout = "pipeline-model-parallel-layout";

/// `mtp`: layers that predict further tokens, in the last chunk.
std::string stage_words(std::span<const std::uint32_t> chunk_layers, std::uint32_t mtp);

struct StageWords {
  std::vector<std::uint32_t> layers;  ///< of each chunk
  bool usual_ends =
      true;  ///< the embedding is in the first chunk, the head in the last, and with it what predicts more
};
/// Nothing: they are not such words, or have more than 65,536 parts.
std::optional<StageWords> read_stage_words(std::string_view text);

}  // namespace busbar::questions
