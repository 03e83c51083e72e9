// How a model is divided over ranks, and a batch into steps.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/units.h"
#include "busbar/workload/adapters.h"
#include "busbar/workload/model.h"
#include "busbar/workload/optimizer.h"

namespace busbar::workload {

/// Precision of matrix products in layers; the head, attention scores, norms and communication stay in 16 bits.
enum class Precision : std::uint8_t { kBf16, kFp16, kFp8, kFp4, kInt8 };
/// Operands of products are cast to fewer bits than the 16 of activations.
constexpr bool is_narrow(Precision p) { return p == Precision::kFp8 || p == Precision::kFp4 || p == Precision::kInt8; }
enum class Recompute : std::uint8_t {
  kNone,
  kSelective,  ///< the backward pass recomputes parts of layers: RecomputeModules
  kFull,       ///< the backward pass recomputes whole layers; only their inputs are kept
};
/// What kSelective recomputes, by Megatron's names (--recompute-modules).
struct RecomputeModules {
  bool core_attn = true;     ///< scores of unfused attention, or the fused kernel once more
  bool act = false;          ///< the activation of the MLP and of experts (Megatron: moe_act)
  bool layernorm = false;    ///< outputs of the norms
  bool mla_up_proj = false;  ///< queries, keys and values of latent attention
  bool mlp = false;          ///< dense MLPs and shared experts; only their inputs are kept
};
enum class PipelineSchedule : std::uint8_t {
  k1F1B,  ///< with vpp > 1: interleaved
  kGPipe,
  kZbH1,       ///< gradients of weights fill the bubble; memory as 1F1B
  kZbV,        ///< the same with two chunks per stage, down the stages and up again; needs vpp 2
  kDualPipeV,  ///< such chunks, with a forward and a backward pass as one; needs vpp 2
};
enum class ContextParallel : std::uint8_t {
  kRing,       ///< keys and values go around the group while attention works on those that have arrived
  kAllGather,  ///< keys and values are gathered first
  kAllToAll,   ///< around attention each rank has whole sequences of a share of the heads (DeepSpeed-Ulysses)
};
enum class ExpertExchange : std::uint8_t {
  kAllToAll,  ///< NCCL's: a token travels once to each of its experts
  kPerNode,   ///< DeepEP's: once to each node that has one of them, and from there once to each GPU that has one
};
/// Whose kernels exchange tokens. What they take of a GPU: workload/expert_kernels.h.
enum class ExpertKernels : std::uint8_t {
  kOfExchange,  ///< NCCL's sends and receives with kAllToAll, DeepEP's with kPerNode
  kDeepEp,
  kHybridEp,
  kGin,  ///< sends by the GPU itself (NCCL's device API), as DeepEP V2 has them
};
/// How compressed gradients travel.
enum class CompressedExchange : std::uint8_t {
  kAllToAll,   ///< quantised: each rank adds the pieces of its shard; without shards an all-gather of the sums follows
  kAllReduce,  ///< what can be added while compressed, in two calls one after the other (PowerSGD's factors)
  kAllGather,  ///< a choice of elements that differs between ranks goes to all of them (top-k)
};
struct Compression {
  double bytes = 0;  ///< per gradient on the wire; 0: gradients are not compressed
  double work = -1;  ///< bytes of HBM traffic per gradient in the kernels before and after; below 0: read, write, read
  CompressedExchange exchange = CompressedExchange::kAllToAll;
};
enum class AttentionKernel : std::uint8_t {
  kFlash,    ///< the newest fused kernels in the GPU's table
  kFlash8,   ///< the newest kernels with scores and values in 8 bits
  kFlash2,   ///< FlashAttention-2, as in PyTorch's own attention
  kFlash1,   ///< the first generation of fused kernels, including Triton's
  kUnfused,  ///< scores are written to memory: batched GEMMs and a softmax kernel
};
/// How the loss is computed, which decides what the last stage keeps of the logits (docs/models/step.md, memory).
enum class LossKernel : std::uint8_t {
  kVocabParallel,  ///< Megatron's: softmax in fp32, written over its input
  kTorch,          ///< PyTorch's: logits in fp32, log-softmax and gradient are tensors of their own
  kFused,          ///< one kernel on 16-bit logits, gradient written over them (flash-attn's)
  kChunked,        ///< a piece of the tokens at a time, from the head's GEMM to the gradient (Liger and its like)
};
enum class ParallelAxis : std::uint8_t { kTp, kCp, kDp, kPp };
/// The innermost degree first: neighbours of TP have adjacent ranks in {kTp, ...}.
using RankOrder = std::array<ParallelAxis, 4>;
/// Megatron's default and torchtitan's mesh: rank = tp + TP x (cp + CP x (dp + DP x pp)).
constexpr RankOrder kTpCpDpPp{ParallelAxis::kTp, ParallelAxis::kCp, ParallelAxis::kDp, ParallelAxis::kPp};
/// Meta's order for Llama 3, and Megatron's with --use-tp-pp-dp-mapping: stages of one replica next to each other.
constexpr RankOrder kTpCpPpDp{ParallelAxis::kTp, ParallelAxis::kCp, ParallelAxis::kPp, ParallelAxis::kDp};
const char* name_of(Precision p);
const char* name_of(Recompute r);
const char* name_of(PipelineSchedule s);
const char* name_of(ContextParallel c);
const char* name_of(AttentionKernel a);
const char* name_of(ExpertExchange e);
const char* name_of(ExpertKernels kernels);  ///< "auto", "deepep", ...
const char* name_of(LossKernel k);
const char* name_of(CompressedExchange e);
const char* name_of(ParallelAxis a);      ///< "tp"
std::string name_of(const RankOrder& o);  ///< "tp-cp-dp-pp"

/// The sequences of a step.
struct Batch {
  std::uint32_t seq = 4096;  ///< tokens of a sequence
  std::uint32_t micro = 1;   ///< sequences
  std::uint32_t global = 0;  ///< sequences per step; 0: usual_batch()
  std::string basis;         ///< where a batch comes from that was not given; empty: it was
  /// Lengths of documents that share sequences, each as frequent as the others. A token sees only tokens of its own
  /// document. Empty: a sequence is one document.
  std::vector<std::uint32_t> documents;
};

/// Which layers a pipeline stage has (layer_split.h).
struct StageSplit {
  std::uint32_t layers_per_chunk = 0;                      ///< instead of vpp: layers of a model chunk; 0: as vpp says
  std::uint32_t first_layers = 0;                          ///< layers of the first model chunk; 0: as in other chunks
  std::uint32_t last_layers = 0;                           ///< the same for the last chunk
  bool balanced = false;                                   ///< cut by cost even where layers divide
  bool embedding_as_layer = false, head_as_layer = false;  ///< each takes the place of one layer in its chunk
  std::vector<std::uint32_t> chunk_layers;                 ///< of each chunk, in order: given, or by resolve_layout
};

/// What the ranks that hold the same parameters divide among them.
struct Sharding {
  std::uint32_t zero = 1;      ///< 0 nothing, 1 optimizer states, 2 gradients too, 3 parameters too (FSDP)
  std::uint32_t group = 0;     ///< ranks that share one set of shards; 0: all DP x CP; fewer: hybrid sharding (HSDP)
  bool whole_tensors = false;  ///< shards are whole tensors, reduced to and broadcast by their owners
  bool prefetch = true;        ///< ZeRO-3: a layer's parameters are gathered while the previous layer computes
  /// ZeRO-3: gathered parameters are dropped after forward and gathered again in backward. If false, they stay until
  /// their backward pass ends or, with pipeline stages, until the step's last backward pass ends.
  bool reshard = true;
  /// ZeRO-2 and 3: whole gradients are kept and reduced once, after all micro-batches.
  bool accumulate_gradients = false;
  /// ZeRO-3: groups of so many ranks keep a second copy of the parameters, from which they gather again in backward
  /// (ZeRO++ hpZ). 0: none.
  std::uint32_t secondary = 0;
  std::uint32_t copy_bytes = 0;  ///< ZeRO-3: HBM bytes per parameter and micro-batch between tensors and buffers
  /// Local SGD and DiLoCo: groups of `group` ranks train alone and exchange what changed once in so many steps. 0: they
  /// exchange gradients in every step.
  std::uint32_t local_steps = 0;
  std::uint32_t outer_bytes = 4;  ///< of a parameter in that exchange
};

/// How gradients and parameters travel between these ranks.
struct DataExchange {
  std::uint64_t bucket_parameters = 0;  ///< 0: Megatron's max(40M, 1M x DP), see bucket_size()
  std::uint32_t gradient_bytes = 4;     ///< fp32 gradients, Megatron's default
  std::uint32_t parameter_bytes = 2;
  Compression compression;
};

/// What backward computes again.
struct Recomputation {
  Recompute kind = Recompute::kSelective;
  RecomputeModules modules;  ///< kSelective
  std::uint32_t layers = 0;  ///< kFull: layers of each model chunk that are recomputed; 0: all
  std::uint32_t every = 0;   ///< kFull: one of so many layers is; 0: as `layers` says
  bool choose = false;       ///< the least with which the step fits in memory (`recompute: auto`)
  bool early_stop = false;   ///< ends at the last kept tensor (PyTorch), without the last GEMM
};

/// What is kept in host memory.
struct Offload {
  bool optimizer = false;    ///< states, which the CPU updates
  bool activations = false;  ///< kept tensors leave during forward and return during backward
};

/// The experts of a layer, apart from the degrees.
struct ExpertRun {
  std::uint32_t dispatch_bytes = 2;  ///< per element of a token on the way to its experts: 1 is fp8
  ExpertExchange exchange = ExpertExchange::kAllToAll;
  /// Share of the exchanges that run while another micro-batch computes, with forward and backward passes in pairs.
  double overlap = 0;
  bool computed_overlap = false;  ///< as many exchanges as a pair of passes can hide; `overlap` is then 1
  ExpertKernels kernels = ExpertKernels::kOfExchange;
  std::uint32_t cores = 0;  ///< of a GPU, for kernels that exchange tokens; 0: as published
  /// Host time per kernel that runs once for each expert of a rank. CUDA graphs do not hold these kernels.
  Duration launch;
  bool fused = false;   ///< tokens are put in order by the exchange; activation and casts run inside GEMMs
  double capacity = 0;  ///< places for tokens in an expert, of the mean load; further ones are dropped; 0: none is
  /// Tokens go to places of experts, and back, by products with masks of the places (GShard), not by copies. Needs
  /// `capacity`; the places are those of one sequence.
  bool masks = false;
  double skew = 0.05;  ///< standard deviation of the load of one expert, of its mean; 0: forced balance
};

/// Which transfers run while the GPU computes.
struct Overlap {
  bool grad_reduce = true;
  bool param_gather = true;
  bool p2p = true;              ///< used only with vpp > 1, as in Megatron
  bool tp = false;              ///< pipelined GEMM and collective (user buffers); needs sequence parallelism
  bool tp_backward = true;      ///< an input's gradient is reduced during the gradient of the weights
  bool shared_experts = false;  ///< shared experts compute while tokens travel to routed ones
};

/// The slowest GPU; its stage and all replicas wait for it.
struct Straggler {
  double speed = 1;         ///< 1: none
  std::uint32_t stage = 0;  ///< of that GPU
};

/// Degrees of parallelism, batch and options.
struct LayoutSpec {
  std::uint32_t tp = 1;
  std::uint32_t pp = 1;
  std::uint32_t vpp = 1;  ///< model chunks per pipeline stage; above 1: interleaved 1F1B
  std::uint32_t dp = 0;   ///< 0: GPUs of the machine / (tp x pp x cp)
  std::uint32_t cp = 1;   ///< ranks that share each sequence
  std::uint32_t ep = 1;   ///< ranks that share the experts of a layer; taken from TP x CP x DP, innermost ranks first
  std::uint32_t expert_tp = 0;  ///< ranks that share each expert; 0: tp without EP, 1 with EP
  RankOrder rank_order = kTpCpDpPp;
  PipelineSchedule schedule = PipelineSchedule::k1F1B;
  ContextParallel context = ContextParallel::kRing;
  AttentionKernel attention = AttentionKernel::kFlash;
  LossKernel loss = LossKernel::kVocabParallel;
  Precision precision = Precision::kBf16;
  Batch batch;
  StageSplit split;
  Sharding sharding;
  DataExchange exchange;
  Recomputation recomputation;
  Offload offload;
  AdapterSpec adapters;
  OptimizerSpec optimizer;
  ExpertRun experts;
  Overlap overlap;
  Straggler straggler;
  std::vector<double> stage_speed;  ///< of each stage's slowest kind of GPU, of the fastest kind; empty: one kind
  bool sequence_parallel = true;
  /// Stages have buffers to receive all their micro-batches in and keep what they compute (PyTorch's pipelining).
  bool stage_buffers = false;
  bool cuda_graphs = false;             ///< the GPU launches kernels itself: no host time
  double kernel_time = 1;               ///< of all kernels, against those of Megatron-Core: the software's share
  std::map<std::string, Where> places;  ///< where each key was given (file or flag), for messages

  bool recomputes(bool RecomputeModules::*module) const {
    return recomputation.kind == Recompute::kSelective && recomputation.modules.*module;
  }
  std::uint32_t ranks() const { return tp * cp * pp * dp; }
  std::uint32_t micro_batches() const { return batch.global / (dp * batch.micro); }  ///< per replica and step
  std::uint32_t tokens() const { return batch.seq / cp * batch.micro; }              ///< per micro-batch and CP rank
  std::uint32_t data_ranks() const { return dp * cp; }                               ///< that hold the same parameters
  std::uint32_t expert_tensor() const { return expert_tp > 0 ? expert_tp : ep > 1 ? 1 : tp; }
  std::uint32_t expert_data_ranks() const { return tp * cp * dp / (ep * expert_tensor()); }  ///< with the same experts
  /// Tokens of a micro-batch that a rank routes to experts: its own piece of the sequence.
  std::uint32_t routed_tokens() const { return tokens() / tp; }
  std::uint32_t shard_ranks() const { return sharding.group == 0 ? data_ranks() : sharding.group; }
  std::uint32_t shard_copies() const { return data_ranks() / shard_ranks(); }  ///< above 1: hybrid sharding
  bool shards_optimizer() const { return sharding.zero >= 1 && shard_ranks() > 1; }
  bool trains_apart() const { return sharding.local_steps > 0; }  ///< copies of shards exchange now and then
  /// Of the kernels of a stage, against the fastest GPUs.
  double speed_of(std::uint32_t stage) const {
    return (stage == straggler.stage ? straggler.speed : 1) * (stage_speed.empty() ? 1 : stage_speed[stage]);
  }
  bool shards_gradients() const { return sharding.zero >= 2 && shard_ranks() > 1 && !sharding.accumulate_gradients; }
  bool shards_parameters() const { return sharding.zero >= 3 && shard_ranks() > 1; }
  bool keeps_gathered() const { return shards_parameters() && !sharding.reshard && pp > 1; }  ///< gathered once a step
  std::uint32_t chunks() const { return pp * vpp; }  ///< model chunks: virtual stages
  /// A backward pass is two: gradients of inputs, and later those of weights.
  bool splits_backward() const { return schedule == PipelineSchedule::kZbH1 || goes_back(); }
  /// The second chunks of the stages are in reverse order.
  bool goes_back() const { return schedule == PipelineSchedule::kZbV || schedule == PipelineSchedule::kDualPipeV; }
  /// The virtual stage that is chunk `chunk` of `stage`. Stages take turns, or the second chunks go back.
  std::uint32_t virtual_stage(std::uint32_t stage, std::uint32_t chunk) const {
    return goes_back() && chunk == 1 ? 2 * pp - 1 - stage : chunk * pp + stage;
  }
  std::uint32_t stage_of(std::uint32_t virtual_stage) const {
    return goes_back() && virtual_stage >= pp ? 2 * pp - 1 - virtual_stage : virtual_stage % pp;
  }
  std::uint32_t last_stage() const { return stage_of(chunks() - 1); }  ///< that has the head
  Where place(const std::string& key) const;
};

/// Megatron-LM, core/distributed/distributed_data_parallel.py: at least 40M parameters, 1M per rank of the DP group.
std::uint64_t bucket_size(const LayoutSpec& layout);

/// The layers of model chunk `chunk` (virtual stage) that the backward pass recomputes: the first ones.
/// Precondition: `layout` is resolved.
std::uint32_t recomputed_layers_of(const LayoutSpec& layout, std::uint32_t chunk);

/// "7, 14 x 8, 7": the layers of the model chunks. Precondition: `layout` is resolved.
std::string chunk_layers_text(const LayoutSpec& layout);

/// Fills in open values. Refuses a layout that cannot run on `gpus` GPUs, naming place and remedy.
/// `gpus` 0: the machine is not checked (dp must be given).
Result<LayoutSpec> resolve_layout(LayoutSpec layout, const ModelSpec& model, std::uint32_t gpus);

/// One replica (as many as hold all experts) with the same TP x PP and micro-batches per replica: the baseline of
/// scaling_efficiency.
LayoutSpec single_replica(const LayoutSpec& layout);

}  // namespace busbar::workload
