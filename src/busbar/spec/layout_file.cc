#include "busbar/spec/layout_file.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/text.h"
#include "busbar/workload/trained_names.h"

namespace busbar::spec {
namespace {

constexpr std::int64_t kMostUnits = 1 << 24;  // GPUs, tokens, sequences: above any machine

/// The words of an enumeration, in its order.
template <typename E, std::size_t N>
Status set_word(const char* const (&words)[N], const char* what, const std::string& word, const Where& where, E& out) {
  std::string known;
  for (std::size_t i = 0; i < N; ++i) {
    if (word == words[i]) {
      out = static_cast<E>(i);
      return {};
    }
    known += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(words[i]);
  }
  return invalid(fmt::format("'{}' is not a {}; write {}", word, what, known), where);
}

Status set_precision(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"bf16", "fp16", "fp8", "fp4", "int8"};
  BUSBAR_RETURN_IF_ERROR(set_word(kWords, "precision that is modelled", word, where, l.precision));
  l.places["precision"] = where;
  return {};
}

Status set_recompute(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"none", "selective", "full", "auto"};
  std::uint8_t chosen = 0;
  BUSBAR_RETURN_IF_ERROR(set_word(kWords, "kind of recomputation", word, where, chosen));
  l.recomputation.choose = chosen == std::size(kWords) - 1;
  l.recomputation.kind = l.recomputation.choose ? workload::Recompute::kNone : static_cast<workload::Recompute>(chosen);
  l.recomputation.every = 0;
  return {};
}

Status set_schedule(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"1f1b", "gpipe", "zb-h1", "zb-v", "dualpipe-v"};
  if (word == "dualpipe")
    return invalid(
        "'dualpipe' is modelled as dualpipe-v, which has half as many stages and twice as many replicas for "
        "the same GPUs and the same work; halve pp, double dp and write dualpipe-v",
        where);
  return set_word(kWords, "pipeline schedule", word, where, l.schedule);
}

Status set_context(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"ring", "all_gather", "all_to_all"};
  if (word == "ulysses") return invalid("'ulysses' is called all_to_all here", where);
  return set_word(kWords, "kind of context parallelism", word, where, l.context);
}

Status set_attention(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"flash", "flash8", "flash2", "flash1", "unfused"};
  return set_word(kWords, "kind of attention kernel", word, where, l.attention);
}

Status set_loss(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"vocab_parallel", "torch", "fused", "chunked"};
  return set_word(kWords, "way to compute the loss", word, where, l.loss);
}

Status set_expert_exchange(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"all_to_all", "per_node"};
  return set_word(kWords, "exchange of experts' tokens", word, where, l.experts.exchange);
}

Status set_expert_kernels(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"auto", "deepep", "hybridep", "gin"};
  return set_word(kWords, "kind of kernels that exchange tokens", word, where, l.experts.kernels);
}

Status set_compressed_exchange(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  static constexpr const char* kWords[] = {"all_to_all", "all_reduce", "all_gather"};
  return set_word(kWords, "exchange of compressed gradients", word, where, l.exchange.compression.exchange);
}

Status set_base_weights(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  l.places["lora_base"] = where;
  return set_word(workload::kBaseWeightNames, "form of weights that are not trained", word, where, l.adapters.base);
}

Status set_optimizer(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  l.places["optimizer"] = where;
  return set_word(workload::kOptimizerNames, "optimizer that is modelled", word, where, l.optimizer.kind);
}

Status set_moments(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  return set_word(workload::kMomentNames, "form of an optimizer's moments", word, where, l.optimizer.moments);
}

Status set_muon_tp(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  l.places["muon_tp"] = where;
  return set_word(workload::kMuonTpNames, "way of Muon with TP", word, where, l.optimizer.tp);
}

Status set_rank_order(const std::string& word, const Where& where, workload::LayoutSpec& l) {
  workload::RankOrder order = workload::kTpCpDpPp;
  std::sort(order.begin(), order.end());
  do {
    if (workload::name_of(order) != word) continue;
    l.rank_order = order;
    return {};
  } while (std::next_permutation(order.begin(), order.end()));
  return invalid(
      fmt::format("'{}' is not an order of ranks; write tp, cp, dp and pp from the innermost outwards, as in "
                  "tp-cp-dp-pp",
                  word),
      where);
}

constexpr std::pair<const char*, bool workload::RecomputeModules::*> kModules[] = {
    {"core_attn", &workload::RecomputeModules::core_attn},
    {"act", &workload::RecomputeModules::act},
    {"layernorm", &workload::RecomputeModules::layernorm},
    {"mla_up_proj", &workload::RecomputeModules::mla_up_proj},
    {"mlp", &workload::RecomputeModules::mlp}};

/// Names of matrices in Hugging Face's models, in torchtune and in Megatron-Core, and of all of a layer.
constexpr std::uint32_t bit(workload::AdapterTarget t) { return workload::adapter_bits(t); }
constexpr std::uint32_t kQ = bit(workload::AdapterTarget::kQuery), kK = bit(workload::AdapterTarget::kKey),
                        kV = bit(workload::AdapterTarget::kValue), kO = bit(workload::AdapterTarget::kOutput),
                        kG = bit(workload::AdapterTarget::kGate), kU = bit(workload::AdapterTarget::kUp),
                        kD = bit(workload::AdapterTarget::kDown);
constexpr std::pair<const char*, std::uint32_t> kTargets[] = {{"q_proj", kQ},
                                                              {"k_proj", kK},
                                                              {"v_proj", kV},
                                                              {"o_proj", kO},
                                                              {"output_proj", kO},
                                                              {"gate_proj", kG},
                                                              {"up_proj", kU},
                                                              {"down_proj", kD},
                                                              {"linear_qkv", bit(workload::AdapterTarget::kQkvIn)},
                                                              {"linear_proj", kO},
                                                              {"linear_fc1", bit(workload::AdapterTarget::kMlpIn)},
                                                              {"linear_fc2", kD},
                                                              {"attention", kQ | kK | kV | kO},
                                                              {"mlp", kG | kU | kD},
                                                              {"all-linear", kQ | kK | kV | kO | kG | kU | kD}};

Status add_target(const std::string& name, const Where& where, workload::LayoutSpec& l) {
  const auto known =
      std::find_if(std::begin(kTargets), std::end(kTargets), [&](const auto& t) { return name == t.first; });
  if (known == std::end(kTargets))
    return invalid(
        fmt::format("'{}' is not a matrix that can have an adapter; known are q_proj, k_proj, v_proj, o_proj, "
                    "gate_proj, up_proj, down_proj, attention, mlp, all-linear, and Megatron's linear_qkv, "
                    "linear_proj, linear_fc1, linear_fc2",
                    name),
        where);
  l.adapters.targets |= known->second;
  l.places["lora_targets"] = where;
  return {};
}

/// Source: LoRA (arXiv:2106.09685), section 4.2, and PEFT's default for Llama: queries and values.
void fill_targets(workload::AdapterSpec& a) {
  if (a.any() && a.targets == 0) a.targets = kQ | kV;
}

/// Bytes per gradient with a scale in fp32 for each block: 128 elements in 8 bits, 32 in 4, one tensor in 1 bit.
/// Sources: DeepSeek-V3's blocks of 128 (arXiv:2412.19437); ZeRO++ (arXiv:2306.10209); 1-bit Adam (arXiv:2102.02888).
constexpr std::pair<const char*, double> kSchemes[] = {
    {"none", 0}, {"fp8", 1 + 4.0 / 128}, {"int8", 1 + 4.0 / 128}, {"int4", 0.5 + 4.0 / 32}, {"one_bit", 1.0 / 8}};

/// Reads keys and remembers their places.
class LayoutReader {
 public:
  LayoutReader(const YamlNode& node, workload::LayoutSpec base) : layout(std::move(base)), reader_(node) {}

  void size(const char* key, std::uint32_t& out, std::int64_t low = 1) {
    reader_.optional(key, &YamlNode::as_int, out, low, kMostUnits);
    note_place(key);
  }
  void sizes(const char* key, std::vector<std::uint32_t>& out, std::int64_t low = 0) {
    const auto node = reader_.optional(key);
    if (!node || !reader_.ok()) return;
    if (node->kind() != YamlNode::Kind::kSequence) {
      return reader_.fail(node->error("write a list of numbers, as in [7, 8, 8, 7]"));
    }
    out.clear();
    for (std::size_t i = 0; i < node->size(); ++i) {
      const auto value = node->item(i).as_int(low, kMostUnits);
      if (!value.ok()) return reader_.fail(value.error());
      out.push_back(static_cast<std::uint32_t>(*value));
    }
    layout.places[key] = node->where();
  }
  /// One name or a list of them.
  void lora_targets() {
    const auto node = reader_.optional("lora_targets");
    if (!node || !reader_.ok()) return;
    const bool list = node->kind() == YamlNode::Kind::kSequence;
    layout.adapters.targets = 0;
    for (std::size_t i = 0; i < (list ? node->size() : 1); ++i) {
      const YamlNode one = list ? node->item(i) : *node;
      const auto name = one.as_string();
      if (!name.ok()) return reader_.fail(name.error());
      const Status added = add_target(*name, one.where(), layout);
      if (!added.ok()) return reader_.fail(added.error());
    }
  }
  /// Megatron's names; those that are not listed are off.
  void recompute_modules() {
    const auto node = reader_.optional("recompute_modules");
    if (!node || !reader_.ok()) return;
    if (node->kind() != YamlNode::Kind::kSequence)
      return reader_.fail(node->error("write a list, as in [core_attn, act]"));
    layout.recomputation.modules = {.core_attn = false};
    for (std::size_t i = 0; i < node->size(); ++i) {
      const auto name = node->item(i).as_string();
      if (!name.ok()) return reader_.fail(name.error());
      const auto known =
          std::find_if(std::begin(kModules), std::end(kModules), [&](const auto& m) { return *name == m.first; });
      if (known == std::end(kModules)) {
        return reader_.fail(node->item(i).error(fmt::format(
            "'{}' is not recomputed alone; known are core_attn, act, layernorm, mla_up_proj and mlp", *name)));
      }
      layout.recomputation.modules.*known->second = true;
    }
    layout.places["recompute_modules"] = node->where();
  }
  void word(const char* key, Status (*set)(const std::string&, const Where&, workload::LayoutSpec&)) {
    const auto node = reader_.optional(key);
    if (!node || !reader_.ok()) return;
    const auto value = node->as_string();
    if (!value.ok()) return reader_.fail(value.error());
    const Status status = set(*value, node->where(), layout);
    if (!status.ok()) reader_.fail(status.error());
  }
  void share(const char* key, double& out, double low = 0) {
    reader_.optional(key, &YamlNode::as_number, out, low, 10);
    note_place(key);
  }
  void duration(const char* key, Duration& out) {
    reader_.optional(key, &YamlNode::as_duration, out);
    note_place(key);
  }
  void flag(const char* key, bool& out) {
    reader_.optional(key, &YamlNode::as_bool, out);
    note_place(key);
  }
  void offload() {
    reader_.inner("offload", [&](MapReader& inner) {
      inner.optional("optimizer", &YamlNode::as_bool, layout.offload.optimizer);
      inner.optional("activations", &YamlNode::as_bool, layout.offload.activations);
    });
    note_place("offload");
  }
  /// A scheme by name, or bytes, work and exchange of one's own.
  void compression() {
    const auto node = reader_.optional("compression");
    if (!node || !reader_.ok()) return;
    layout.places["compression"] = node->where();
    if (node->kind() == YamlNode::Kind::kScalar) {
      const std::optional<double> known = compressed_gradient_bytes(node->scalar());
      if (!known) {
        return reader_.fail(node->error(fmt::format(
            "'{}' is not a compression that is known: fp8, int8, int4, one_bit; or write {{bytes: 0.25, work: 8}}",
            node->scalar())));
      }
      layout.exchange.compression.bytes = *known;
      return;
    }
    reader_.inner("compression", [&](MapReader& inner) {
      inner.optional("bytes", &YamlNode::as_number, layout.exchange.compression.bytes, 0, 4);
      inner.optional("work", &YamlNode::as_number, layout.exchange.compression.work, 0, 1000);
      const auto exchange = inner.optional("exchange");
      if (!exchange || !inner.ok()) return;
      const Status status = set_compressed_exchange(exchange->scalar(), exchange->where(), layout);
      if (!status.ok()) inner.fail(status.error());
    });
  }
  void straggler() {
    reader_.inner("straggler", [&](MapReader& inner) {
      inner.optional("speed", &YamlNode::as_number, layout.straggler.speed, 0.01, 1);
      inner.optional("stage", &YamlNode::as_int, layout.straggler.stage, 0, kMostUnits);
    });
    note_place("straggler");
  }
  void overlap() {
    reader_.inner("overlap", [&](MapReader& inner) {
      inner.optional("grad_reduce", &YamlNode::as_bool, layout.overlap.grad_reduce);
      inner.optional("param_gather", &YamlNode::as_bool, layout.overlap.param_gather);
      inner.optional("p2p", &YamlNode::as_bool, layout.overlap.p2p);
      inner.optional("tp", &YamlNode::as_bool, layout.overlap.tp);
      workload::ExpertRun& experts = layout.experts;
      if (const auto ep = inner.optional("ep")) {
        const Result<std::string> word = ep->as_string();
        experts.computed_overlap = word.ok() && *word == "auto";
        if (experts.computed_overlap) experts.overlap = 1;
        if (!experts.computed_overlap) inner.optional("ep", &YamlNode::as_number, experts.overlap, 0, 1);
      }
      inner.optional("shared_experts", &YamlNode::as_bool, layout.overlap.shared_experts);
      inner.optional("tp_backward", &YamlNode::as_bool, layout.overlap.tp_backward);
    });
    if (const auto node = reader_.optional("overlap")) layout.places["overlap_tp"] = node->where();
  }
  Status finish() {
    for (const char* key : {"framework", "recipe", "gpus", "gpus_per_domain"})
      reader_.optional(key);  // read by the scenario
    return reader_.finish();
  }
  workload::LayoutSpec layout;

 private:
  void note_place(const char* key) {
    if (const auto node = reader_.optional(key)) layout.places[key] = node->where();
  }

  MapReader reader_;
};

Where flag_place(const char* key) {
  Where where;
  where.path = fmt::format("--{}", key);
  for (char& c : where.path) c = c == '_' ? '-' : c;
  return where;
}

Status apply(const char* key, const std::optional<std::int64_t>& flag, std::uint32_t& out, workload::LayoutSpec& l,
             std::int64_t low = 1) {
  if (!flag) return {};
  const Where where = flag_place(key);
  if (*flag < low || *flag > kMostUnits) {
    return invalid(fmt::format("{} is not between {} and {}", *flag, low, kMostUnits), where);
  }
  out = static_cast<std::uint32_t>(*flag);
  l.places[key] = where;
  return {};
}

Status apply_documents(const std::string& list, workload::LayoutSpec& l) {
  const Where where = flag_place("documents");
  l.batch.documents.clear();
  for (const std::string_view word : split_at(list, ',')) {
    std::int64_t length = 0;
    if (!is_number(word, length) || length < 1 || length > kMostUnits)
      return invalid(fmt::format("'{}' is no length of a document; write tokens, as in 512,2048", word), where);
    l.batch.documents.push_back(static_cast<std::uint32_t>(length));
  }
  l.places["documents"] = where;
  return {};
}

Status apply_trained(const TrainedFlags& f, workload::LayoutSpec& l) {
  BUSBAR_RETURN_IF_ERROR(apply("lora_rank", f.lora_rank, l.adapters.rank, l, 0));
  if (f.lora_targets) {
    l.adapters.targets = 0;
    for (const std::string_view name : split_at(*f.lora_targets, ','))
      BUSBAR_RETURN_IF_ERROR(add_target(std::string(name), flag_place("lora_targets"), l));
  }
  if (f.lora_base) BUSBAR_RETURN_IF_ERROR(set_base_weights(*f.lora_base, flag_place("lora_base"), l));
  if (f.optimizer) BUSBAR_RETURN_IF_ERROR(set_optimizer(*f.optimizer, flag_place("optimizer"), l));
  if (f.moments) BUSBAR_RETURN_IF_ERROR(set_moments(*f.moments, flag_place("moments"), l));
  if (f.documents) BUSBAR_RETURN_IF_ERROR(apply_documents(*f.documents, l));
  for (const char* key : {"lora_targets", "lora_base", "lora_double_quantised"})
    if (l.places.contains(key) && !l.adapters.any()) return invalid("needs lora_rank, as in 16", l.place(key));
  fill_targets(l.adapters);
  return {};
}

}  // namespace

Result<workload::LayoutSpec> read_layout(const YamlNode& node, workload::LayoutSpec base) {
  LayoutReader r(node, std::move(base));
  workload::LayoutSpec& l = r.layout;
  r.size("tp", l.tp);
  r.size("pp", l.pp);
  r.size("vpp", l.vpp);
  r.size("dp", l.dp);
  r.size("cp", l.cp);
  r.size("ep", l.ep);
  r.size("expert_tp", l.expert_tp);
  r.size("dispatch_bytes", l.experts.dispatch_bytes);
  r.share("expert_skew", l.experts.skew);
  r.share("expert_capacity", l.experts.capacity);
  r.flag("expert_masks", l.experts.masks);
  r.word("expert_exchange", set_expert_exchange);
  r.word("expert_kernels", set_expert_kernels);
  r.flag("fused_experts", l.experts.fused);
  r.size("expert_cores", l.experts.cores);
  r.duration("expert_launch", l.experts.launch);
  r.size("seq", l.batch.seq);
  r.size("micro_batch", l.batch.micro);
  r.size("global_batch", l.batch.global);
  r.size("zero", l.sharding.zero, 0);
  r.word("precision", set_precision);
  r.size("shard_group", l.sharding.group);
  r.size("local_steps", l.sharding.local_steps, 0);
  r.size("outer_bytes", l.sharding.outer_bytes);
  r.flag("whole_tensors", l.sharding.whole_tensors);
  r.flag("prefetch", l.sharding.prefetch);
  r.flag("reshard", l.sharding.reshard);
  r.flag("accumulate_gradients", l.sharding.accumulate_gradients);
  r.word("recompute", set_recompute);
  r.size("recompute_layers", l.recomputation.layers);
  r.size("recompute_every", l.recomputation.every);
  r.recompute_modules();
  r.flag("early_stop", l.recomputation.early_stop);
  r.flag("stage_buffers", l.stage_buffers);
  r.word("schedule", set_schedule);
  r.size("first_layers", l.split.first_layers);
  r.size("last_layers", l.split.last_layers);
  r.flag("balanced_layers", l.split.balanced);
  r.flag("embedding_as_layer", l.split.embedding_as_layer);
  r.flag("head_as_layer", l.split.head_as_layer);
  r.sizes("chunk_layers", l.split.chunk_layers);
  r.size("layers_per_chunk", l.split.layers_per_chunk);
  r.word("context", set_context);
  r.word("attention", set_attention);
  r.size("lora_rank", l.adapters.rank, 0);
  r.lora_targets();
  r.word("lora_base", set_base_weights);
  r.flag("lora_double_quantised", l.adapters.double_quantised);
  r.word("optimizer", set_optimizer);
  r.word("moments", set_moments);
  r.size("newton_schulz_steps", l.optimizer.steps);
  r.word("muon_tp", set_muon_tp);
  r.size("master_bytes", l.optimizer.master_bytes, 0);
  r.sizes("documents", l.batch.documents, 1);
  r.word("loss", set_loss);
  r.word("rank_order", set_rank_order);
  r.flag("cuda_graphs", l.cuda_graphs);
  r.compression();
  r.size("secondary_shards", l.sharding.secondary);
  r.offload();
  r.straggler();
  r.flag("sequence_parallel", l.sequence_parallel);
  std::uint32_t bucket_millions = 0;
  r.size("bucket_million_parameters", bucket_millions);
  if (bucket_millions > 0) l.exchange.bucket_parameters = bucket_millions * 1'000'000ull;
  r.size("gradient_bytes", l.exchange.gradient_bytes);
  r.size("parameter_bytes", l.exchange.parameter_bytes);
  r.size("shard_copy_bytes", l.sharding.copy_bytes, 0);
  r.overlap();
  r.share("kernel_time", l.kernel_time, 0.1);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  fill_targets(l.adapters);
  if (l.optimizer.master_bytes != 0 && l.optimizer.master_bytes != 2 && l.optimizer.master_bytes != 4)
    return invalid("the copy of the weights takes 4 bytes (fp32), 2 (fp16) or 0 (none)", l.place("master_bytes"));
  if (l.exchange.gradient_bytes != 2 && l.exchange.gradient_bytes != 4) {
    return invalid("gradients are reduced in 2 bytes (bf16) or 4 (fp32)", l.place("gradient_bytes"));
  }
  if (l.experts.dispatch_bytes != 1 && l.experts.dispatch_bytes != 2) {
    return invalid("tokens are dispatched in 1 byte (fp8) or 2 (bf16) per element", l.place("dispatch_bytes"));
  }
  if (l.exchange.parameter_bytes != 1 && l.exchange.parameter_bytes != 2 && l.exchange.parameter_bytes != 4) {
    return invalid("parameters are gathered in 1 byte (fp8), 2 (bf16) or 4 (fp32)", l.place("parameter_bytes"));
  }
  return l;
}

std::optional<double> compressed_gradient_bytes(std::string_view scheme) {
  for (const auto& [name, bytes] : kSchemes)
    if (scheme == name) return bytes;
  return std::nullopt;
}

Status apply_flags(const LayoutFlags& flags, workload::LayoutSpec& l) {
  BUSBAR_RETURN_IF_ERROR(apply("tp", flags.tp, l.tp, l));
  BUSBAR_RETURN_IF_ERROR(apply("pp", flags.pp, l.pp, l));
  BUSBAR_RETURN_IF_ERROR(apply("vpp", flags.vpp, l.vpp, l));
  BUSBAR_RETURN_IF_ERROR(apply("dp", flags.dp, l.dp, l));
  BUSBAR_RETURN_IF_ERROR(apply("cp", flags.cp, l.cp, l));
  BUSBAR_RETURN_IF_ERROR(apply("ep", flags.ep, l.ep, l));
  BUSBAR_RETURN_IF_ERROR(apply("seq", flags.seq, l.batch.seq, l));
  BUSBAR_RETURN_IF_ERROR(apply("micro_batch", flags.micro_batch, l.batch.micro, l));
  BUSBAR_RETURN_IF_ERROR(apply("global_batch", flags.global_batch, l.batch.global, l));
  BUSBAR_RETURN_IF_ERROR(apply("zero", flags.zero, l.sharding.zero, l, 0));
  const auto flag = [](const char* name) {
    Where where;
    where.path = name;
    return where;
  };
  if (flags.precision) BUSBAR_RETURN_IF_ERROR(set_precision(*flags.precision, flag("--precision"), l));
  if (flags.offload) {  // the flag table allows no other words
    l.offload.optimizer = *flags.offload == "optimizer" || *flags.offload == "both";
    l.offload.activations = *flags.offload == "activations" || *flags.offload == "both";
    l.places["offload"] = flag("--offload");
  }
  if (flags.recompute) BUSBAR_RETURN_IF_ERROR(set_recompute(*flags.recompute, flag("--recompute"), l));
  return apply_trained(flags.trained, l);
}

}  // namespace busbar::spec
