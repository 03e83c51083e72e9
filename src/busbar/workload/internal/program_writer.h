// Appends operations to a Program and keeps the state needed to finish it.
//
// Invariants:
//  1. Operations of one role are appended in the order its streams run them.
//  2. A dependency on an operation not yet written (another stage's transfer) is a promise; finish() resolves it.
//  3. Ids also count the operations of all uses of passes, as if each were written out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "busbar/base/id.h"
#include "busbar/program/program.h"

namespace busbar::workload {

/// The streams of every role, in this order.
enum class StreamId : std::uint16_t { kCompute, kTp, kDp, kPp, kCp, kHost, kEp };

/// The work of an operation, in words: index into Program::labels.
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
  kExchangeKeys,
  kGatherKeys,
  kScatterKeys,
  kExchangeHeads,
  kExchangeOutput,
  kSpreadGradients,
  kCompress,
  kAttentionAgain,
  kMlpAgain,
  kRoute,
  kDispatch,
  kExperts,
  kCombine,
  kCollect,
  kCollectBack,
  kDispatchGradient,
  kExpertsBack,
  kExpertWeights,
  kCombineGradient,
  kRouteBack,
  kGatherTokens,
  kScatterTokens,
  kJoin,
  kJoinBack,
  kJoinWeights,
  kOffload,
  kFetch,
  kShardCopies,
  kGatherMomenta,
  kOuterExchange,
  kCount
};

/// A transfer that may not be written yet and that an operation waits for: (direction, virtual stage, micro-batch).
struct PendingTransfer {
  std::uint32_t key = 0;
};

class ProgramWriter {
 public:
  /// `passes` off: every operation is written out.
  ProgramWriter(std::uint32_t promises, std::size_t expected_ops, bool passes = true);

  /// `streams`: the number of StreamId that this role has, at least the first four.
  program::RoleId add_role(std::string name, collectives::GroupFamily ranks, std::uint32_t streams = 4);
  program::CallId intern(const program::CollectiveCall& call);
  program::OpId delay(program::RoleId role, Label label, program::OpClass cls, Duration duration,
                      std::initializer_list<program::OpId> after, StreamId stream = StreamId::kCompute);
  program::OpId collective(program::RoleId role, StreamId stream, Label label, program::OpClass cls,
                           program::CallId call, std::initializer_list<program::OpId> after);
  /// Adds a dependency to the last operation written.
  void also_after(program::OpId op);
  void also_after(PendingTransfer promise);
  void keep(PendingTransfer promise, program::OpId op) { kept_[promise.key] = op; }
  /// The promise as a value for `entry` of a pass.
  static program::OpId promised(PendingTransfer promise) {
    return static_cast<program::OpId>(promise.key | kPromiseBit);
  }

  static constexpr std::uint32_t kNoPass = 0xffff'ffffu;
  /// Begins a pass: operations written until end_pass() may be repeated. They may depend on each other and on
  /// operations in `entry` (kNone: none), and must belong to one role.
  void begin_pass(std::span<const program::OpId> entry);
  /// The pass's number for repeat_pass(). kNoPass if it depends on other operations; it then stays as written.
  std::uint32_t end_pass();
  /// Writes the pass again with other operations in `entry`. Returns its first operation.
  program::OpId repeat_pass(std::uint32_t pass, program::RoleId role, std::span<const program::OpId> entry);
  program::OpId next() const {
    return static_cast<program::OpId>(in_passes_ + program_.ops.size());
  }  ///< id of the next operation
  /// Sets the position of all operations that follow.
  void set_position(std::uint32_t micro_batch, std::uint32_t layer);

  program::Program finish() &&;

 private:
  /// Dependency values with this bit name a promise, not an operation.
  static constexpr std::uint32_t kPromiseBit = 0x8000'0000u;
  program::OpId append(program::Op op, std::initializer_list<program::OpId> after);
  void use(std::uint32_t pass, program::RoleId role, std::span<const program::OpId> entry);
  program::Program program_;
  const bool passes_;
  std::uint32_t in_passes_ = 0;                       ///< operations of the uses so far
  std::uint32_t pass_begin_ = 0;                      ///< in program_.ops, of the current pass
  std::vector<program::OpId> entry_;                  ///< of the current pass
  std::vector<std::vector<std::uint32_t>> entry_of_;  ///< per pass and outside dependency: its place in the entry
  std::vector<program::OpId> kept_;
  std::uint16_t micro_batch_ = 0, layer_ = 0;
};

}  // namespace busbar::workload
