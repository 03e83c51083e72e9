// Parameters, work and memory of what mixes the tokens of a layer.
//
//   for (const Matrix& x : mixer_matrices(kind.mixer, model.hidden)) n += x.inner * x.columns;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/workload/layer_kind.h"

namespace busbar::workload {

/// Which part of a matrix each rank of TP holds.
enum class MatrixCut : std::uint8_t {
  kWhole,    ///< all of it, applied to the rank's part of the sequence
  kColumns,  ///< outputs of the rank's heads
  kRows,     ///< inputs from the rank's heads
};

struct Matrix {
  std::uint64_t inner = 0, columns = 0;
  MatrixCut cut = MatrixCut::kColumns;
  bool output = false;  ///< after the core
  std::uint64_t parameters() const { return inner * columns; }
};

/// All matrices of one layer's mixer; none of kNone.
std::vector<Matrix> mixer_matrices(const MixerSpec& mixer, std::uint64_t hidden);
/// Parameters that are in no matrix: convolutions, norms inside, scalars of heads.
std::uint64_t mixer_vectors(const MixerSpec& mixer);
std::uint64_t mixer_parameters(const MixerSpec& mixer, std::uint64_t hidden);

/// "window of 128" or "delta": its name for people.
std::string mixer_words(const MixerSpec& mixer);

/// Heads that TP divides, and those of keys and values (or of the keys of states).
std::uint32_t mixer_heads(const MixerSpec& mixer);
std::uint32_t mixer_key_heads(const MixerSpec& mixer);
/// Elements of a head: the mean of query (or key) and value.
std::uint32_t attention_width(const MixerSpec& mixer);
bool has_scores(const MixerSpec& mixer);  ///< every token sees keys of tokens before it

/// Keys that a token of a layer with `window` keys sees in the mean over a sequence, relative to those of a causal
/// layer.
double window_share(std::uint32_t window, std::uint32_t seq);
/// The same of any mixer, with those that an indexer or a compression leaves.
double key_share(const MixerSpec& mixer, std::uint32_t seq);

/// FLOPs of one token, forward, 2 per multiply-add.
struct MixerFlops {
  double matrices = 0;
  double scores = 0;  ///< if it saw all `seq` tokens of its share; causal attention has half of them
  double states = 0;  ///< updates and reads of states, and convolutions: linear in the sequence
};
/// Source of states: Megatron-LM, num_floating_point_operations (2026): 7 per element of a Mamba-2 state, 8 of a delta
/// rule; linear attention updates and reads once (4).
MixerFlops mixer_flops(const MixerSpec& mixer, std::uint64_t hidden, std::uint32_t seq);

/// Bytes that inference keeps: for every token seen, up to `most_tokens` of them (0: no limit), and of a sequence.
struct MixerCache {
  std::uint64_t per_token = 0, most_tokens = 0, per_sequence = 0;
};
MixerCache mixer_cache(const MixerSpec& mixer);

}  // namespace busbar::workload
