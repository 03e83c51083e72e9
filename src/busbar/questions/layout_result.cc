#include "busbar/questions/layout_result.h"

namespace busbar::questions {

const Record& record_of(const CompressionResult*) {
  using C = CompressionResult;
  static const Record record("compression", {{"bytes", &C::bytes, "bytes", "per gradient on the wire; 0: none"},
                                             {"exchange", &C::exchange, "", "how the pieces travel"}});
  return record;
}

const Record& record_of(const StragglerResult*) {
  using S = StragglerResult;
  static const Record record("straggler", {{"speed", &S::speed, "", "of the slowest GPU, relative to the others"},
                                           {"stage", &S::stage, "", "its pipeline stage"}});
  return record;
}

const Record& record_of(const OffloadResult*) {
  using O = OffloadResult;
  static const Record record("offload", {{"optimizer", &O::optimizer, "", "its states are in host memory"},
                                         {"activations", &O::activations, "", "they are in host memory"}});
  return record;
}

const Record& record_of(const LayoutResult*) {
  using L = LayoutResult;
  static const Record record(
      "layout",
      {{"tp", &L::tp, "", "tensor-parallel degree"},
       {"pp", &L::pp, "", "pipeline stages"},
       {"vpp", &L::vpp, "", "model chunks per stage"},
       {"dp", &L::dp, "", "data-parallel replicas"},
       {"cp", &L::cp, "", "context-parallel degree"},
       {"ep", &L::ep, "", "expert-parallel degree"},
       {"expert_tp", &L::expert_tp, "", "tensor-parallel degree of experts"},
       {"expert_exchange", &L::expert_exchange, "", "how tokens travel to experts"},
       {"seq", &L::seq, "tokens", "sequence length"},
       {"micro_batch", &L::micro_batch, "", "sequences per micro-batch"},
       {"global_batch", &L::global_batch, "", "sequences per step"},
       {"global_batch_basis", &L::global_batch_basis, "", "given, or why this batch was taken"},
       {"micro_batches", &L::micro_batches, "", "of a replica in a step"},
       {"precision", &L::precision, "", "bf16, fp16, fp8, fp4 or int8"},
       {"zero", &L::zero, "", "what is sharded: 1: optimizer, 2: also gradients, 3: also parameters"},
       {"recompute", &L::recompute, "", "none, selective or full"},
       {"sequence_parallel", &L::sequence_parallel, "", "TP ranks share norms and dropouts along the sequence"},
       {"shard_ranks", &L::shard_ranks, "", "that share the sharded states"},
       {"schedule", &L::schedule, "", "of the pipeline"},
       {"context", &L::context, "", "how context parallelism exchanges keys and values"},
       {"attention", &L::attention, "", "kernel"},
       {"rank_order", &L::rank_order, "", "innermost first"},
       {"chunk_layers", &L::chunk_layers, "", "layers of each model chunk"},
       {"compression", &L::compression, "", "of gradients"},
       {"secondary_shards", &L::secondary_shards, "", "ranks that keep a second copy of the parameters; 0: none"},
       {"straggler", &L::straggler, "", "the slowest GPU that the layout states"},
       {"offload", &L::offload, "", "what host memory keeps"},
       Field("stage_speed", &L::stage_speed, "", "of the slowest kind of GPU of each stage, of the fastest kind")
           .or_absent()});
  return record;
}

LayoutResult layout_result(const workload::LayoutSpec& l) {
  LayoutResult r;
  r.tp = l.tp;
  r.pp = l.pp;
  r.vpp = l.vpp;
  r.dp = l.dp;
  r.cp = l.cp;
  r.ep = l.ep;
  r.expert_tp = l.expert_tensor();
  r.expert_exchange = workload::name_of(l.experts.exchange);
  r.seq = l.batch.seq;
  r.micro_batch = l.batch.micro;
  r.global_batch = l.batch.global;
  r.global_batch_basis = l.batch.basis.empty() ? "given" : l.batch.basis;
  r.micro_batches = l.micro_batches();
  r.precision = workload::name_of(l.precision);
  r.zero = l.sharding.zero;
  r.recompute = workload::name_of(l.recomputation.kind);
  r.sequence_parallel = l.sequence_parallel;
  r.shard_ranks = l.shard_ranks();
  r.schedule = workload::name_of(l.schedule);
  r.context = workload::name_of(l.context);
  r.attention = workload::name_of(l.attention);
  r.rank_order = workload::name_of(l.rank_order);
  r.chunk_layers = l.split.chunk_layers;
  r.compression = {l.exchange.compression.bytes, workload::name_of(l.exchange.compression.exchange)};
  r.secondary_shards = l.sharding.secondary;
  r.straggler = {l.straggler.speed, l.straggler.stage};
  if (!l.stage_speed.empty()) r.stage_speed = l.stage_speed;
  r.offload = {l.offload.optimizer, l.offload.activations};
  return r;
}

}  // namespace busbar::questions
