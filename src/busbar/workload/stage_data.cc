// Data parallelism in a stage: buckets of gradients, shards of parameters, the end of the step.
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/internal/stage_writer.h"

namespace busbar {

void StageWriter::prepare_data_calls(ChunkState& chunk) {
  if (layout_.data_ranks() == 1) return;
  for (const std::uint64_t n : chunk.plan.bucket_parameters) {
    const std::uint64_t gradients = n * layout_.gradient_bytes;
    if (!layout_.shards_optimizer()) {
      chunk.reduce.push_back(call(Collective::kAllReduce, gradients, dp_groups(layout_, stage_)));
      continue;
    }
    const GroupFamily shards = shard_groups(layout_, stage_);
    const bool whole = layout_.whole_tensors;
    chunk.reduce.push_back(call(whole ? Collective::kReduce : Collective::kReduceScatter, gradients, shards));
    chunk.gather.push_back(
        call(whole ? Collective::kBroadcast : Collective::kAllGather, n * layout_.parameter_bytes, shards));
    if (layout_.shard_copies() == 1) continue;
    const std::uint64_t shard = gradients / layout_.shard_ranks();
    chunk.spread.push_back(call(Collective::kAllReduce, shard, copy_groups(layout_, stage_)));
  }
}

void StageWriter::gather_parameters() {
  if (!layout_.shards_optimizer() || layout_.shards_parameters()) return;
  for (ChunkState& chunk : chunks_) {
    for (std::size_t b = chunk.gather.size(); b-- > 0;) {
      last_dp_ = out_.collective(role_, StreamId::kDp, Label::kGatherParameters, OpClass::kDp, chunk.gather[b], {});
      chunk.gathered[b] = last_dp_;
    }
  }
}

void StageWriter::await_parameters(std::uint32_t tensor) {
  if (micro_batch_ != 0 && !layout_.shards_parameters()) return;
  out_.also_after(chunk_->gathered[chunk_->plan.bucket_of[tensor]]);
}

/// Inputs of a layer's backward pass besides gradients: its parameters, gathered again, and kept tensors from the host.
void StageWriter::await_again(std::uint32_t tensor) {
  if (layout_.shards_parameters()) out_.also_after(chunk_->gathered[chunk_->plan.bucket_of[tensor]]);
  out_.also_after(fetched_);
  fetched_ = kNone<OpId>;
}

void StageWriter::fetch(std::uint32_t bucket) {
  last_dp_ = out_.collective(role_, StreamId::kDp, Label::kGatherParameters, OpClass::kDp, chunk_->gather[bucket],
                             {last_compute_});
  chunk_->gathered[bucket] = last_dp_;
}

void StageWriter::before_unit(std::uint32_t bucket, std::uint32_t next, bool first) {
  if (first || !layout_.prefetch) fetch(bucket);
  if (layout_.prefetch && next < chunk_->gather.size()) fetch(next);
}

void StageWriter::before_forward_unit(std::uint32_t tensor) {
  if (!layout_.shards_parameters() || (layout_.keeps_gathered() && micro_batch_ > 0)) return;
  const std::uint32_t bucket = chunk_->plan.bucket_of[tensor];  // bucket numbers descend
  before_unit(bucket, bucket - 1, bucket + 1 == chunk_->gather.size());
}

/// The last unit of forward is the first of backward. It is still present if no other pass came between. The
/// embedding's gradient needs no table.
void StageWriter::before_backward_unit(std::uint32_t tensor) {
  if (!layout_.shards_parameters() || !layout_.reshard) return;
  const std::uint32_t bucket = chunk_->plan.bucket_of[tensor], next = bucket + 1;
  const auto units = static_cast<std::uint32_t>(chunk_->gather.size());
  const bool last = chunk_->plan.has_embedding && next + 1 == units;
  const std::uint32_t prefetched = last ? units : next;
  if (bucket > 0 || !comes_after_its_forward_) return before_unit(bucket, prefetched, bucket == 0);
  if (layout_.prefetch && prefetched < units) fetch(prefetched);
}

void StageWriter::offload_layer() {
  out_.delay(role_, Label::kOffload, OpClass::kOther, host_copy_, {last_compute_}, StreamId::kHost);
}

void StageWriter::fetch_layer() {
  next_fetched_ = out_.delay(role_, Label::kFetch, OpClass::kOther, host_copy_, {last_compute_}, StreamId::kHost);
}

void StageWriter::gradient_ready(std::uint32_t tensor) {
  const bool now = layout_.shards_gradients() || (last_pass() && layout_.overlap_grad_reduce);
  if (!now) return;
  const std::uint32_t bucket = chunk_->plan.bucket_of[tensor];
  if (chunk_->plan.last_tensor[bucket] == tensor) reduce_bucket(*chunk_, bucket);
}

void StageWriter::reduce_bucket(ChunkState& chunk, std::uint32_t bucket) {
  if (layout_.data_ranks() == 1) return;
  last_dp_ = out_.collective(role_, StreamId::kDp, Label::kReduceGradients, OpClass::kDp, chunk.reduce[bucket],
                             {last_compute_});
  if (chunk.spread.empty() || !last_pass()) return;
  last_dp_ = out_.collective(role_, StreamId::kDp, Label::kSpreadGradients, OpClass::kDp, chunk.spread[bucket], {});
}

OpId StageWriter::reduce_rest() {
  if (!layout_.overlap_grad_reduce && !layout_.shards_gradients()) {
    for (ChunkState& chunk : chunks_) {
      for (std::uint32_t b = 0; b < chunk.reduce.size(); ++b) reduce_bucket(chunk, b);
    }
  }
  return last_dp_;
}

OpId StageWriter::across_stages(Label label, CallId call, const std::vector<OpId>& after) {
  last_dp_ = out_.collective(role_, StreamId::kDp, label, OpClass::kDp, call, {});
  for (const OpId op : after) out_.also_after(op);
  return last_dp_;
}

OpId StageWriter::gradient_norm(Duration duration, OpId after) {
  last_compute_ = out_.delay(role_, Label::kGradientNorm, OpClass::kOptimizer, slowed(duration), {arrived_, after});
  arrived_ = kNone<OpId>;
  take_pending();
  return last_compute_;
}

void StageWriter::update(Duration duration, OpId norm_sum) {
  last_compute_ = out_.delay(role_, Label::kOptimizer, OpClass::kOptimizer, slowed(duration), {norm_sum});
  if (layout_.shards_optimizer() && !layout_.shards_parameters() && !layout_.overlap_param_gather) {
    for (ChunkState& chunk : chunks_) {
      for (const CallId call : chunk.gather) {
        arrived_ = out_.collective(role_, StreamId::kDp, Label::kGatherParameters, OpClass::kDp, call, {last_compute_});
      }
    }
  }
  if (times_.overhead > Duration{}) {
    last_compute_ = out_.delay(role_, Label::kStepOverhead, OpClass::kOther, times_.overhead, {arrived_});
  }
}

}  // namespace busbar
