// Data parallelism in a stage: buckets of gradients, shards of parameters, the end of the step.
#include <algorithm>
#include <numeric>

#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/internal/stage_writer.h"
#include "busbar/workload/internal/trained.h"

namespace busbar::workload {
namespace {

/// Bytes that ranks with shards of a bucket gather: what was updated, or with ZeRO-3 also weights that are not trained.
std::uint64_t parameter_bytes(const LayoutSpec& l, std::uint64_t parameters, std::uint64_t trained) {
  const std::uint64_t updated = trained * l.exchange.parameter_bytes;
  if (!l.adapters.any() || !l.shards_parameters()) return updated;
  return updated + static_cast<std::uint64_t>(static_cast<double>(parameters) * base_weight_bytes(l.adapters));
}

}  // namespace

void StageWriter::prepare_data_calls(ChunkState& chunk) {
  const std::size_t buckets = chunk.plan.bucket_parameters.size();
  for (auto* calls :
       {&chunk.reduce, &chunk.gather, &chunk.spread, &chunk.expert_reduce, &chunk.expert_gather, &chunk.gather_again}) {
    calls->assign(buckets, kNone<program::CallId>);
  }
  chunk.sums.assign(buckets, {kNone<program::CallId>, kNone<program::CallId>});
  chunk.compress.assign(buckets, Duration{});
  chunk.copies.assign(buckets, Duration{});
  for (std::size_t b = 0; b < buckets; ++b) {
    prepare_bucket(chunk, b);
    const std::uint64_t experts = chunk.plan.expert_trained[b];
    const std::uint64_t gathered = parameter_bytes(layout_, chunk.plan.bucket_experts[b], experts);
    if (chunk.plan.bucket_experts[b] == 0 || layout_.expert_data_ranks() == 1) continue;
    const collectives::GroupFamily copies = expert_data_groups(layout_, stage_);
    const collectives::Collective reduce =
        layout_.sharding.zero >= 1 ? collectives::Collective::kReduceScatter : collectives::Collective::kAllReduce;
    if (experts > 0) chunk.expert_reduce[b] = call(reduce, experts * layout_.exchange.gradient_bytes, copies);
    if (layout_.sharding.zero >= 1 && gathered > 0)
      chunk.expert_gather[b] = call(collectives::Collective::kAllGather, gathered, copies);
  }
}

void StageWriter::prepare_bucket(ChunkState& chunk, std::size_t b) {
  if (layout_.data_ranks() == 1) return;
  const std::uint64_t n = chunk.plan.bucket_trained[b], gradients = n * layout_.exchange.gradient_bytes;
  if (!layout_.shards_optimizer()) {
    if (n > 0) chunk.reduce[b] = call(collectives::Collective::kAllReduce, gradients, dp_groups(layout_, stage_));
    return;
  }
  const collectives::GroupFamily shards = shard_groups(layout_, stage_);
  const bool whole = layout_.sharding.whole_tensors;
  if (n > 0)
    chunk.reduce[b] =
        call(whole ? collectives::Collective::kReduce : collectives::Collective::kReduceScatter, gradients, shards);
  const std::uint64_t parameters = parameter_bytes(layout_, chunk.plan.bucket_parameters[b], n);
  if (parameters == 0) return;
  chunk.gather[b] = whole ? call(collectives::Collective::kBroadcast, parameters / chunk.plan.tensors_of(b), shards)
                          : call(collectives::Collective::kAllGather, parameters, shards);
  chunk.gather_again[b] = chunk.gather[b];
  if (layout_.sharding.secondary > 0 && layout_.sharding.secondary < layout_.shard_ranks()) {
    LayoutSpec near = layout_;
    near.sharding.group = layout_.sharding.secondary;
    chunk.gather_again[b] = call(collectives::Collective::kAllGather, parameters, shard_groups(near, stage_));
  }
  if (layout_.shard_copies() == 1 || n == 0 || layout_.trains_apart()) return;
  const std::uint64_t shard = gradients / layout_.shard_ranks();
  chunk.spread[b] = call(collectives::Collective::kAllReduce, shard, copy_groups(layout_, stage_));
}

/// Replaces the reductions of gradients. Gradients of experts stay as they are. All-to-alls go inside nodes first, so
/// that each node sends sums to the others (ZeRO++ qgZ).
void StageWriter::prepare_compressed(ChunkState& chunk, const KernelTable& machine) {
  const Compression& c = layout_.exchange.compression;
  const double work = c.work >= 0 ? c.work : layout_.exchange.gradient_bytes + 2 * c.bytes;
  const bool sharded = layout_.shards_optimizer();
  const collectives::GroupFamily ranks = sharded ? shard_groups(layout_, stage_) : dp_groups(layout_, stage_);
  LayoutSpec node = layout_;
  node.sharding.group = std::gcd(layout_.data_ranks(), std::max(1u, machine.scale_up_gpus / layout_.tp));
  const bool two_hops = layout_.sharding.group == 0 && node.sharding.group > 1 &&
                        node.sharding.group % layout_.cp == 0 && node.sharding.group < layout_.data_ranks();
  for (std::size_t b = 0; b < chunk.reduce.size(); ++b) {
    if (chunk.reduce[b] == kNone<program::CallId>) continue;
    const auto elements = static_cast<double>(chunk.plan.bucket_trained[b]);
    const auto wire = static_cast<std::uint64_t>(elements * c.bytes);
    chunk.compress[b] = machine.memory_time(elements * work);
    if (c.exchange == CompressedExchange::kAllReduce) {
      chunk.reduce[b] = chunk.sums[b][0] = call(collectives::Collective::kAllReduce, wire / 2, ranks);
    } else if (c.exchange == CompressedExchange::kAllGather) {
      chunk.reduce[b] = call(collectives::Collective::kAllGather, wire * ranks.size(), ranks);
    } else if (two_hops) {
      chunk.reduce[b] = call(collectives::Collective::kAllToAll, wire, shard_groups(node, stage_));
      chunk.sums[b][0] =
          call(collectives::Collective::kAllToAll, wire / node.sharding.group, copy_groups(node, stage_));
    } else {
      chunk.reduce[b] = call(collectives::Collective::kAllToAll, wire, ranks);
    }
    if (c.exchange == CompressedExchange::kAllToAll && !sharded)
      chunk.sums[b][1] = call(collectives::Collective::kAllGather, wire, ranks);
  }
}

void StageWriter::data_call(Label label, program::CallId call, program::OpId after) {
  if (call == kNone<program::CallId>) return;
  last_dp_ = out_.collective(role_, StreamId::kDp, label, program::OpClass::kDp, call, {after});
}

/// Owners of whole tensors broadcast them one by one, as the parameters are there at once and the roots differ.
void StageWriter::gather_bucket(const ChunkState& chunk, std::size_t b, program::OpId after) {
  const std::uint32_t calls = layout_.sharding.whole_tensors ? chunk.plan.tensors_of(b) : 1;
  for (std::uint32_t i = 0; i < calls; ++i) data_call(Label::kGatherParameters, chunk.gather[b], after);
  data_call(Label::kGatherParameters, chunk.expert_gather[b], after);
}

void StageWriter::gather_parameters() {
  if (layout_.sharding.zero == 0 || layout_.shards_parameters()) return;
  for (ChunkState& chunk : chunks_) {
    for (std::size_t b = chunk.gather.size(); b-- > 0;) {
      gather_bucket(chunk, b, kNone<program::OpId>);
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
  fetched_ = kNone<program::OpId>;
}

void StageWriter::fetch(std::uint32_t bucket, bool again) {
  data_call(Label::kGatherParameters, (again ? chunk_->gather_again : chunk_->gather)[bucket], last_compute_);
  data_call(Label::kGatherParameters, chunk_->expert_gather[bucket], last_compute_);
  chunk_->gathered[bucket] = last_dp_;
}

void StageWriter::before_unit(std::uint32_t bucket, std::uint32_t next, bool first, bool again) {
  if (first || !layout_.sharding.prefetch) fetch(bucket, again);
  if (layout_.sharding.prefetch && next < chunk_->gather.size()) fetch(next, again);
}

void StageWriter::before_forward_unit(std::uint32_t tensor) {
  if (!layout_.shards_parameters() || (layout_.keeps_gathered() && micro_batch_ > 0)) return;
  const std::uint32_t bucket = chunk_->plan.bucket_of[tensor];  // bucket numbers descend
  before_unit(bucket, bucket - 1, bucket + 1 == chunk_->gather.size(), false);
}

/// The last unit of forward is the first of backward. It is still present if no other pass came between. The
/// embedding's gradient needs no table.
void StageWriter::before_backward_unit(std::uint32_t tensor) {
  if (!layout_.shards_parameters() || !layout_.sharding.reshard) return;
  const std::uint32_t bucket = chunk_->plan.bucket_of[tensor], next = bucket + 1;
  const auto units = static_cast<std::uint32_t>(chunk_->gather.size());
  const bool last = chunk_->plan.has_embedding && next + 1 == units;
  const std::uint32_t prefetched = last ? units : next;
  if (bucket > 0 || !comes_after_its_forward_) return before_unit(bucket, prefetched, bucket == 0, true);
  if (layout_.sharding.prefetch && prefetched < units) fetch(prefetched, true);
}

/// Of a layer that is recomputed only the input was kept.
const StageWriter::HostCopies& StageWriter::host_copies(std::uint32_t layer) const {
  return host_copies_[layer < recomputed_layers_of(layout_, virtual_stage_) ? 1 : 0];
}

void StageWriter::offload_layer(std::uint32_t layer) {
  const HostCopies& copies = host_copies(layer);
  if (copies.out != kNone<program::CallId>)
    out_.collective(role_, StreamId::kHost, Label::kOffload, program::OpClass::kOther, copies.out, {last_compute_});
  else
    out_.delay(role_, Label::kOffload, program::OpClass::kOther, copies.time, {last_compute_}, StreamId::kHost);
}

void StageWriter::fetch_layer(std::uint32_t layer) {
  const HostCopies& copies = host_copies(layer);
  next_fetched_ =
      copies.in != kNone<program::CallId>
          ? out_.collective(role_, StreamId::kHost, Label::kFetch, program::OpClass::kOther, copies.in, {last_compute_})
          : out_.delay(role_, Label::kFetch, program::OpClass::kOther, copies.time, {last_compute_}, StreamId::kHost);
}

void StageWriter::gradient_ready(std::uint32_t tensor) {
  const bool now = layout_.shards_gradients() || (last_pass() && layout_.overlap.grad_reduce);
  if (!now) return;
  const std::uint32_t bucket = chunk_->plan.bucket_of[tensor];
  if (chunk_->plan.last_tensor[bucket] == tensor) reduce_bucket(*chunk_, bucket);
}

/// All copies of a micro-batch stand before its reduction, those of gathered parameters too.
void StageWriter::reduce_bucket(ChunkState& chunk, std::uint32_t bucket) {
  if (chunk.copies[bucket] > Duration{}) compute(Label::kShardCopies, chunk.copies[bucket]);
  program::OpId ready = last_compute_;
  if (chunk.compress[bucket] > Duration{})
    ready = last_dp_ =
        out_.delay(role_, Label::kCompress, program::OpClass::kDp, chunk.compress[bucket], {ready}, StreamId::kDp);
  data_call(Label::kReduceGradients, chunk.reduce[bucket], ready);
  for (const program::CallId sum : chunk.sums[bucket]) data_call(Label::kReduceGradients, sum, ready);
  if (last_pass()) data_call(Label::kSpreadGradients, chunk.spread[bucket], kNone<program::OpId>);
  data_call(Label::kReduceGradients, chunk.expert_reduce[bucket], last_compute_);
}

program::OpId StageWriter::reduce_rest() {
  if (!layout_.overlap.grad_reduce && !layout_.shards_gradients()) {
    for (ChunkState& chunk : chunks_) {
      for (std::uint32_t b = 0; b < chunk.reduce.size(); ++b) reduce_bucket(chunk, b);
    }
  }
  return last_dp_;
}

program::OpId StageWriter::across_stages(Label label, program::CallId call, const std::vector<program::OpId>& after) {
  last_dp_ = out_.collective(role_, StreamId::kDp, label, program::OpClass::kDp, call, {});
  for (const program::OpId op : after) out_.also_after(op);
  return last_dp_;
}

program::OpId StageWriter::gradient_norm(Duration duration, program::OpId after) {
  last_compute_ =
      out_.delay(role_, Label::kGradientNorm, program::OpClass::kOptimizer, slowed(duration), {arrived_, after});
  arrived_ = kNone<program::OpId>;
  take_pending();
  return last_compute_;
}

/// Muon's products need whole matrices: ranks that have shards of a momentum, or parts of TP, gather it in 16 bits.
/// Source: Moonlight (arXiv:2502.16982), section 2.3, Distributed Muon.
program::OpId StageWriter::gather_momenta(program::OpId after) {
  constexpr std::uint64_t kBytes = 2;
  if (layout_.optimizer.kind != OptimizerKind::kMuon) return after;
  const auto [dense, experts] = stage_trained(model_, layout_, stage_);
  const std::uint64_t matrices = dense - stage_table_parameters(model_, layout_, stage_);
  const auto gather = [&](StreamId stream, program::OpClass cls, std::uint64_t bytes, collectives::GroupFamily groups) {
    if (bytes == 0 || groups.size() == 1) return;
    const program::CallId gathered = call(collectives::Collective::kAllGather, bytes, std::move(groups));
    after = out_.collective(role_, stream, Label::kGatherMomenta, cls, gathered, {after});
  };
  if (gathers_shards_of_momenta(layout_)) {
    gather(StreamId::kDp, program::OpClass::kDp, matrices * kBytes, shard_groups(layout_, stage_));
    gather(StreamId::kDp, program::OpClass::kDp, experts * kBytes, expert_data_groups(layout_, stage_));
  }
  if (layout_.optimizer.tp == MuonTp::kDuplicated)
    gather(StreamId::kTp, program::OpClass::kTp, matrices * layout_.tp * kBytes, tp_groups(layout_, stage_));
  return after;
}

/// Groups that train apart: of the exchange of all changes every so many steps, the share of one step.
void StageWriter::exchange_changes() {
  if (!layout_.trains_apart()) return;
  const std::uint64_t bytes = stage_trained(model_, layout_, stage_).dense * layout_.sharding.outer_bytes /
                              layout_.shard_ranks() / layout_.sharding.local_steps;
  if (bytes == 0) return;
  data_call(Label::kOuterExchange, call(collectives::Collective::kAllReduce, bytes, copy_groups(layout_, stage_)),
            last_compute_);
  arrived_ = last_dp_;
}

void StageWriter::update(const OptimizerTimes& times, program::OpId norm_sum) {
  norm_sum = gather_momenta(norm_sum);
  const auto move = [&](std::uint64_t bytes, bool to_host, program::OpId after) {
    return out_.collective(role_, StreamId::kCompute, Label::kOptimizer, program::OpClass::kOptimizer,
                           host_call(bytes, to_host), {after});
  };
  if (times.to_host > 0) norm_sum = move(times.to_host, true, norm_sum);
  last_compute_ = out_.delay(role_, Label::kOptimizer, program::OpClass::kOptimizer, slowed(times.update), {norm_sum});
  if (times.from_host > 0) last_compute_ = move(times.from_host, false, last_compute_);
  exchange_changes();
  if (layout_.sharding.zero >= 1 && !layout_.shards_parameters() && !layout_.overlap.param_gather) {
    for (ChunkState& chunk : chunks_) {
      for (std::size_t b = 0; b < chunk.gather.size(); ++b) {
        gather_bucket(chunk, b, last_compute_);
      }
    }
    arrived_ = last_dp_;
  }
}

}  // namespace busbar::workload
