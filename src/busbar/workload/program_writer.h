// Appends operations to a Program and keeps what is needed to close it.
//
// Invariants:
//  1. Operations of one role are appended in the order its streams run them.
//  2. A dependency on an operation that is not written yet (another stage's transfer) is a promise, kept by finish().
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/program/program.h"

namespace busbar {

/// The streams of every role, in this order.
enum class StreamId : std::uint16_t { kCompute, kTp, kDp, kPp, kCp, kHost };

/// What an operation does, in words: index into Program::labels.
enum class Label : std::uint16_t {
  kEmbedding,
  kNorm,
  kAttention,
  kMlp,
  kHead,
  kLoss,
  kEmbeddingBack,
  kNormBack,
  kAttentionBack,
  kAttentionInput,
  kAttentionWeights,
  kMlpBack,
  kMlpInput,
  kMlpWeights,
  kHeadBack,
  kHeadInput,
  kHeadWeights,
  kGatherAttention,
  kScatterAttention,
  kGatherMlp,
  kScatterMlp,
  kScatterEmbedding,
  kGatherHead,
  kLossSum,
  kGatherAttentionGradient,
  kRegatherAttention,
  kScatterAttentionGradient,
  kGatherMlpGradient,
  kRegatherMlp,
  kScatterMlpGradient,
  kGatherEmbeddingGradient,
  kRegatherHead,
  kScatterHeadGradient,
  kSendForward,
  kSendBackward,
  kGatherParameters,
  kReduceGradients,
  kTiedEmbedding,
  kNormSum,
  kGradientNorm,
  kOptimizer,
  kStepOverhead,
  kExchangeKeys,
  kGatherKeys,
  kScatterKeys,
  kSpreadGradients,
  kAttentionAgain,
  kMlpAgain,
  kOffload,
  kFetch,
  kCount
};

/// Who waits for a transfer that may not be written yet: (direction, virtual stage, micro-batch).
struct Promise {
  std::uint32_t key = 0;
};

class ProgramWriter {
 public:
  ProgramWriter(std::uint32_t promises, std::size_t expected_ops);

  /// `streams`: how many of StreamId this role has, at least the first four.
  RoleId add_role(std::string name, GroupFamily ranks, std::uint32_t streams = 4);
  CallId intern(const CollectiveCall& call);
  OpId delay(RoleId role, Label label, OpClass cls, Duration duration, std::initializer_list<OpId> after,
             StreamId stream = StreamId::kCompute);
  OpId collective(RoleId role, StreamId stream, Label label, OpClass cls, CallId call,
                  std::initializer_list<OpId> after);
  /// Adds a dependency to the operation written last.
  void also_after(OpId op);
  void also_after(Promise promise);
  void keep(Promise promise, OpId op) { kept_[promise.key] = op; }
  /// Stamped on all further operations.
  void set_position(std::uint32_t micro_batch, std::uint32_t layer);

  Program finish() &&;

 private:
  OpId append(Op op, std::initializer_list<OpId> after);
  Program program_;
  std::vector<OpId> kept_;
  std::uint16_t micro_batch_ = 0, layer_ = 0;
};

}  // namespace busbar
