// Writes one pipeline stage: its passes over layers, its tensor-parallel collectives, its buckets and its transfers.
//
// Passes are in stage_writer.cc, the halves of a layer in stage_blocks.cc, data parallelism in stage_data.cc.
//
// Waiting: a collective on the tp stream starts after the compute written before it, because a communication library's
// stream waits for the stream that launched it. The next compute waits for `arrived_`.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "busbar/workload/internal/buckets.h"
#include "busbar/workload/internal/pipeline_order.h"
#include "busbar/workload/internal/program_writer.h"
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/layer_times.h"

namespace busbar::workload {

/// Parts of the exchange in a ring of context parallelism. Really cp - 1; more than 4 change little.
constexpr std::uint32_t ring_pieces(std::uint32_t cp) { return cp - 1 < 4 ? cp - 1 : 4; }

class StageWriter {
 public:
  /// `machine`: rate to host memory and GPUs of a scale-up domain, set from the machine.
  StageWriter(ProgramWriter& out, const ModelSpec& model, const LayoutSpec& layout, const StepTimes& times,
              std::uint32_t stage, const KernelTable& machine);

  /// Gathers all buckets in forward order, at the same time as the first forward pass.
  void gather_parameters();
  /// Forward or backward pass of one chunk for one micro-batch.
  void pass(const PipelineStep& step);
  /// The rest of the gradient reduction. Returns the last operation that must end before the gradient norm.
  program::OpId reduce_rest();
  /// A collective of this stage together with other stages, on the dp stream.
  program::OpId across_stages(Label label, program::CallId call, const std::vector<program::OpId>& after);
  /// HBM time of this stage for the norm of its gradients.
  program::OpId gradient_norm(Duration duration, program::OpId after);
  /// Adam on the shard, then the parameters' all-gather, unless the next forward pass overlaps it.
  void update(const OptimizerTimes& times, program::OpId norm_sum);

 private:
  struct BlockLabels {
    Label forward, backward, input, weights, gather, scatter, gather_gradient, regather, scatter_gradient, again;
  };
  static BlockLabels attention_labels();
  static BlockLabels mlp_labels();
  struct ContextCalls {
    program::CallId exchange = kNone<program::CallId>, exchange_back = kNone<program::CallId>;  // ring, one piece
    program::CallId gather = kNone<program::CallId>, scatter = kNone<program::CallId>;  // all-gather, of states too
    program::CallId to_heads = kNone<program::CallId>,
                    to_pieces = kNone<program::CallId>;  // all-to-all: Q, K, V; the output
  };
  struct ChunkState {
    BucketPlan plan;
    std::uint32_t first_layer = 0;
    std::vector<program::OpId> gathered;                        ///< per bucket; kNone: the parameters are not sharded
    std::vector<program::CallId> reduce, gather, spread;        ///< per bucket; kNone where nothing is to do
    std::vector<program::CallId> expert_reduce, expert_gather;  ///< of its routed experts
    std::vector<program::CallId> gather_again;                  ///< ZeRO-3: before backward
    std::vector<std::array<program::CallId, 2>> sums;           ///< further calls of a compressed reduction
    std::vector<Duration> compress;                             ///< kernels of a compressed reduction
    std::vector<Duration> copies;                               ///< ZeRO-3: between tensors and buffers of shards
  };
  enum class Run : std::uint8_t { kFirst, kAgain };  ///< a forward pass, or its recomputation in the backward pass

  /// Exchanges of experts that the next computation need not wait for: two (one layer's), each with its part inside
  /// nodes.
  static constexpr std::size_t kHidden = 4;
  /// Earlier operations that the next pass may wait for: the last compute, arrived_, blocking_send_, the awaited
  /// transfer, hidden_, the awaited transfer of the other pass of a pair; kNone if there is none.
  using Entry = std::array<program::OpId, 5 + kHidden>;
  /// A pass that was written once, and the state after it.
  struct Written {
    PipelineStep step;
    bool paired = false;
    Entry before, after;
    program::OpId first{};
    std::uint32_t pass = 0;
  };

  /// A transfer that leaves later than the pass that it belongs to.
  struct HeldSend {
    std::uint32_t virtual_stage, micro_batch, layer;
    bool forward;
  };

  void prepare_calls();
  ContextCalls context_calls(const MixerSpec& mixer);
  void prepare_data_calls(ChunkState& chunk);
  void prepare_compressed(ChunkState& chunk, const KernelTable& machine);
  void prepare_bucket(ChunkState& chunk, std::size_t b);
  void prepare_expert_calls(std::uint32_t scale_up_gpus);
  void gather_bucket(const ChunkState& chunk, std::size_t b, program::OpId after);
  void data_call(Label label, program::CallId call, program::OpId after);  ///< on the dp stream; nothing without a call
  program::CallId call(collectives::Collective op, std::uint64_t bytes, collectives::GroupFamily groups);
  program::CallId host_call(std::uint64_t bytes, bool to_host);
  bool repeats(const PipelineStep& step) const;
  bool runs_in_a_pair(const PipelineStep& step);
  /// Whether the virtual stage before this one (or after it) is on another stage.
  bool crosses_stages(bool before) const;
  void write(const PipelineStep& step, std::uint32_t first_layer, std::uint32_t layers);
  void repeat(const PipelineStep& step, std::uint32_t first_layer, std::uint32_t layers);
  Entry entry() const;
  void forward(std::uint32_t first_layer, std::uint32_t layers);
  void backward(std::uint32_t first_layer, std::uint32_t layers);
  void backward_weights(std::uint32_t first_layer, std::uint32_t layers);
  void forward_layer(std::uint32_t layer, Run run);
  void backward_layer(std::uint32_t layer);
  void join_forward(std::uint32_t layer);
  void join_backward(std::uint32_t layer);
  void layer_weights(std::uint32_t layer);
  void forward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor, std::uint32_t out_tensor,
                     Run run, bool stops_early);
  void backward_block(const BlockTimes& t, const BlockLabels& names, std::uint32_t in_tensor, std::uint32_t out_tensor);
  void forward_experts(std::uint32_t layer, Run run);
  void backward_experts(std::uint32_t layer);
  void expert_exchange(Label label, program::CallId call, program::CallId inside);
  void expert_tensor(Label label, program::CallId call);
  void while_tokens_travel(const std::function<void()>& shared);
  std::uint32_t expert_layers_of_a_pass() const;
  void attend(Label label, Duration core, bool backward);
  void exchange_during(Label label, Duration core, program::CallId exchange);
  void forward_embedding();
  void backward_embedding();
  void forward_head();
  void backward_head();
  void input_and_weights(Label input, Duration dgrad, Label weights, Duration wgrad, Label regather, Label scatter);
  void receive(bool forward);
  void receive_pair(const PipelineStep& step);
  void send(bool forward);

  Duration slowed(Duration d) const { return slowness_ != 1 ? duration_from_ps(d.in_ps() * slowness_) : d; }
  program::OpId compute(Label label, Duration d);
  program::OpId tp(Label label, program::CallId call);  ///< after the last compute written; kNone without TP
  program::OpId tp_close(Label label) { return tp(label, sequence_parallel_ ? tp_scatter_ : tp_reduce_); }
  program::OpId tp_open(Label label) { return sequence_parallel_ ? tp(label, tp_gather_) : kNone<program::OpId>; }
  /// A reduce-scatter that is pipelined with its GEMM goes in as many chunks; the last begins when the GEMM ends.
  /// Source: Transformer Engine's user buffers, 4 chunks by default (Megatron-Bridge, performance guide).
  static constexpr std::uint32_t kScatterChunks = 4;
  Duration piece(Duration d) const;  ///< of a GEMM that is pipelined with its gather
  void take_pending();               ///< the last operation written waits for the pending ones
  /// Whether this micro-batch's backward pass comes last: GPipe starts with the newest micro-batch.
  bool last_pass() const {
    return micro_batch_ == (layout_.schedule == PipelineSchedule::kGPipe ? 0 : layout_.micro_batches() - 1);
  }
  void await_parameters(std::uint32_t tensor);
  void gradient_ready(std::uint32_t tensor);
  void reduce_bucket(ChunkState& chunk, std::uint32_t bucket);
  // ZeRO-3: a unit's parameters, just in time for their use.
  void fetch(std::uint32_t bucket, bool again);
  program::OpId gather_momenta(program::OpId after);
  void exchange_changes();
  void before_unit(std::uint32_t bucket, std::uint32_t next, bool first, bool again);
  void before_forward_unit(std::uint32_t tensor);
  void before_backward_unit(std::uint32_t tensor);
  void await_again(std::uint32_t tensor);
  /// Of one layer's kept tensors, in each direction: a time, or transfers where host memory is an end.
  struct HostCopies {
    Duration time;
    program::CallId out = kNone<program::CallId>, in = kNone<program::CallId>;
  };
  const HostCopies& host_copies(std::uint32_t layer) const;
  void offload_layer(std::uint32_t layer);
  void fetch_layer(std::uint32_t layer);
  std::uint32_t promise_key(bool forward, std::uint32_t virtual_stage, std::uint32_t micro_batch) const;

  ProgramWriter& out_;
  const ModelSpec& model_;
  const LayoutSpec& layout_;
  const StepTimes& times_;
  std::uint32_t stage_ = 0, virtual_stages_ = 1;
  bool sequence_parallel_ = false, overlap_tp_ = false, blocking_p2p_ = false;
  double slowness_ = 1;                    ///< time of this stage's kernels: above 1 with a straggler or slow software
  std::array<HostCopies, 2> host_copies_;  ///< the second: of a layer that is recomputed
  std::uint32_t host_ranks_ = 0;           ///< KernelTable::host_ranks
  program::RoleId role_{};
  std::vector<ChunkState> chunks_;
  program::CallId tp_gather_ = kNone<program::CallId>, tp_scatter_ = kNone<program::CallId>,
                  tp_reduce_ = kNone<program::CallId>;
  program::CallId tp_scatter_first_ = kNone<program::CallId>,
                  tp_scatter_last_ = kNone<program::CallId>;  ///< pipelined with their GEMM
  std::vector<ContextCalls> context_;                         ///< of each kind of layer
  std::uint16_t kind_ = 0;                                    ///< of the layer being written
  program::CallId ep_dispatch_ = kNone<program::CallId>,
                  ep_gradient_ = kNone<program::CallId>;  // to the experts: tokens, gradients
  program::CallId ep_combine_ = kNone<program::CallId>;   // back from them: results, gradients
  program::CallId ep_fan_out_ = kNone<program::CallId>,
                  ep_fan_in_ = kNone<program::CallId>;  // at the same time, inside a node
  program::CallId ep_gather_ = kNone<program::CallId>,
                  ep_scatter_ = kNone<program::CallId>;  // of the ranks that share each expert
  program::CallId tp_loss_ = kNone<program::CallId>, send_next_ = kNone<program::CallId>,
                  send_previous_ = kNone<program::CallId>;

  ChunkState* chunk_ = nullptr;           ///< of the pass being written
  bool comes_after_its_forward_ = false;  ///< a backward pass directly after the forward pass of the same chunk
  ChunkState* forward_before_ = nullptr;  ///< the chunk of the previous pass, if that was a forward pass
  std::uint32_t virtual_stage_ = 0, micro_batch_ = 0;
  program::OpId arrived_ = kNone<program::OpId>;         ///< the collective with the next compute's input
  program::OpId arrived_inside_ = kNone<program::OpId>;  ///< its part inside the node, if it has two
  bool paired_ = false;               ///< the pass runs at the same time as one of another micro-batch (overlap_ep)
  double hidden_share_ = 0;           ///< of the exchanges of a pass in a pair: expert_kernels.h
  double hides_ = 0;                  ///< of the pass: exchanges that computation should hide, not yet taken
  std::uint32_t passes_[2] = {0, 0};  ///< written so far: backward, forward
  std::array<program::OpId, kHidden> hidden_;           ///< of pairs of passes, the oldest exchange first
  program::OpId blocking_send_ = kNone<program::OpId>;  ///< without p2p overlap all later operations wait for it
  bool receiving_ = false, receiving_pair_ = false;
  PendingTransfer awaited_, awaited_pair_;
  program::OpId last_compute_ = kNone<program::OpId>, last_dp_ = kNone<program::OpId>;
  std::vector<Written> written_;
  std::vector<HeldSend> held_;
  program::OpId fetched_ = kNone<program::OpId>,
                next_fetched_ = kNone<program::OpId>;  ///< kept tensors fetched from the host
};

}  // namespace busbar::workload
