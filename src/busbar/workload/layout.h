// How a model is cut over the ranks and the batch over time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "busbar/base/result.h"
#include "busbar/workload/model.h"

namespace busbar {

enum class Precision : std::uint8_t { kBf16 };
enum class Recompute : std::uint8_t {
  kNone,
  kSelective,  ///< the attention core is computed again in the backward pass
};
const char* name_of(Precision p);
const char* name_of(Recompute r);

/// Degrees, batch and switches. Rank order as Megatron's: rank = tp + TP x (dp + DP x pp).
struct LayoutSpec {
  std::uint32_t tp = 1;
  std::uint32_t pp = 1;
  std::uint32_t vpp = 1;  ///< model chunks per pipeline stage; above 1: interleaved 1F1B
  std::uint32_t dp = 0;   ///< 0: what the machine leaves, GPUs / (tp x pp)
  std::uint32_t seq = 4096;
  std::uint32_t micro_batch = 1;   ///< sequences
  std::uint32_t global_batch = 0;  ///< sequences per step; 0: one micro-batch per replica and pipeline stage
  Precision precision = Precision::kBf16;
  std::uint32_t zero = 1;  ///< 0: every replica keeps all optimizer states; 1: sharded over DP
  Recompute recompute = Recompute::kSelective;
  bool sequence_parallel = true;
  std::uint64_t bucket_parameters = 0;  ///< 0: Megatron's max(40M, 1M x DP), see bucket_size()
  std::uint32_t gradient_bytes = 4;     ///< fp32 gradients, Megatron's default
  std::uint32_t parameter_bytes = 2;
  bool overlap_grad_reduce = true;
  bool overlap_param_gather = true;
  bool overlap_p2p = true;              ///< honoured with vpp > 1 only, as in Megatron
  bool overlap_tp = false;              ///< pipelined GEMM and collective (user buffers); needs sequence parallelism
  std::map<std::string, Where> places;  ///< where each key was given (file or flag), for messages

  std::uint32_t ranks() const { return tp * pp * dp; }
  std::uint32_t micro_batches() const { return global_batch / (dp * micro_batch); }  ///< per replica and step
  std::uint32_t tokens() const { return seq * micro_batch; }                         ///< per micro-batch
  bool shards_optimizer() const { return zero >= 1 && dp > 1; }
  Where place(const std::string& key) const;
};

/// Megatron-LM, core/distributed/distributed_data_parallel.py: at least 40M parameters, 1M per rank of the DP group.
std::uint64_t bucket_size(const LayoutSpec& layout);

/// Fills what was left open and refuses what cannot run on `gpus` GPUs, naming place and remedy.
/// `gpus` 0: the machine is not asked (dp must be given).
Result<LayoutSpec> resolve_layout(LayoutSpec layout, const ModelSpec& model, std::uint32_t gpus);

/// The same TP x PP and micro-batches per replica with one replica: the base line of scaling_efficiency.
LayoutSpec single_replica(const LayoutSpec& layout);

}  // namespace busbar
