// Writes one pipeline stage: its passes over layers, its tensor-parallel collectives, its buckets and its transfers.
//
// Rule of waiting: a collective on the tp stream starts after the compute written before it (as a communication
// library's stream waits for the stream that launched it); the next compute waits for `arrived_`.
#pragma once

#include <vector>

#include "busbar/workload/buckets.h"
#include "busbar/workload/layer_times.h"
#include "busbar/workload/pipeline_order.h"
#include "busbar/workload/program_writer.h"
#include "busbar/workload/rank_groups.h"

namespace busbar {

class StageWriter {
 public:
  StageWriter(ProgramWriter& out, const ModelSpec& model, const LayoutSpec& layout, const StepTimes& times,
              std::uint32_t stage);

  /// All buckets in forward order, beside the first forward pass.
  void gather_parameters();
  /// Forward or backward of one chunk for one micro-batch.
  void pass(const PipelineStep& step);
  /// What is left of the reduction of gradients; returns the last operation that must end before their norm.
  OpId reduce_rest();
  /// A collective of this stage over other stages too, on the dp stream.
  OpId across_stages(Label label, CallId call, const std::vector<OpId>& after);
  /// Time on this stage's HBM for the norm of its gradients.
  OpId gradient_norm(Duration duration, OpId after);
  /// Adam on the shard; then parameters, unless they are gathered beside the next forward pass.
  void update(Duration duration, OpId norm_sum);

 private:
  struct BlockLabels {
    Label forward, backward, input, weights, gather, scatter, gather_gradient, regather, scatter_gradient;
  };
  static BlockLabels attention_labels();
  static BlockLabels mlp_labels();
  struct ChunkState {
    BucketPlan plan;
    std::vector<OpId> gathered;  ///< per bucket; kNone: the parameters are simply there
    std::vector<CallId> reduce, gather;
  };

  void prepare_chunks();
  void prepare_calls();
  void forward(std::uint32_t first_layer, std::uint32_t layers);
  void backward(std::uint32_t first_layer, std::uint32_t layers);
  void forward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor, std::uint32_t out_tensor);
  void backward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor, std::uint32_t out_tensor);
  void forward_embedding();
  void backward_embedding();
  void forward_head();
  void backward_head();
  void input_and_weights(Label input, Duration dgrad, Label weights, Duration wgrad, Label regather, Label scatter);
  void receive(bool forward);
  void send(bool forward);

  OpId compute(Label label, Duration d);
  OpId tp(Label label, CallId call);  ///< after the compute written last; kNone without TP
  OpId tp_close(Label label) { return tp(label, sequence_parallel_ ? tp_scatter_ : tp_reduce_); }
  OpId tp_open(Label label) { return sequence_parallel_ ? tp(label, tp_gather_) : kNone<OpId>; }
  Duration piece(Duration d) const;  ///< of a GEMM that is pipelined with its collective
  void take_pending();               ///< the operation written last waits for what was awaited
  void await_parameters(std::uint32_t tensor);
  void gradient_ready(std::uint32_t tensor);
  void reduce_bucket(ChunkState& chunk, std::uint32_t bucket);
  std::uint32_t promise_key(bool forward, std::uint32_t virtual_stage) const;

  ProgramWriter& out_;
  const ModelSpec& model_;
  const LayoutSpec& layout_;
  const StepTimes& times_;
  std::uint32_t stage_ = 0, virtual_stages_ = 1;
  bool sequence_parallel_ = false, overlap_tp_ = false, blocking_p2p_ = false;
  RoleId role_{};
  std::vector<ChunkState> chunks_;
  CallId tp_gather_ = kNone<CallId>, tp_scatter_ = kNone<CallId>, tp_reduce_ = kNone<CallId>;
  CallId tp_loss_ = kNone<CallId>, send_next_ = kNone<CallId>, send_previous_ = kNone<CallId>;

  ChunkState* chunk_ = nullptr;  ///< of the pass being written
  std::uint32_t virtual_stage_ = 0, micro_batch_ = 0;
  OpId arrived_ = kNone<OpId>;        ///< the collective whose result the next compute needs
  OpId blocking_send_ = kNone<OpId>;  ///< without p2p overlap everything later waits for it
  bool receiving_ = false;
  Promise awaited_;
  OpId last_compute_ = kNone<OpId>, last_dp_ = kNone<OpId>;
};

}  // namespace busbar
