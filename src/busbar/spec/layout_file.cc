#include "busbar/spec/layout_file.h"

#include <fmt/core.h>

namespace busbar {
namespace {

constexpr std::int64_t kMost = 1 << 24;  // GPUs, tokens, sequences: above any machine

Status set_precision(const std::string& word, const Where& where, LayoutSpec& l) {
  if (word == "bf16") return {};
  (void)l;
  return Error{ErrorCode::kUnsupported, fmt::format("precision '{}' is not modelled; use bf16", word), where};
}

Status set_recompute(const std::string& word, const Where& where, LayoutSpec& l) {
  if (word == "none") {
    l.recompute = Recompute::kNone;
  } else if (word == "selective") {
    l.recompute = Recompute::kSelective;
  } else if (word == "full") {
    return Error{ErrorCode::kUnsupported, "full recomputation is not modelled; use none or selective", where};
  } else {
    return invalid(fmt::format("'{}' is not a kind of recomputation; write none or selective", word), where);
  }
  return {};
}

Status refuse_degree(const char* name, std::int64_t value, const Where& where) {
  if (value == 1) return {};
  return Error{ErrorCode::kUnsupported, fmt::format("{} {} is not modelled; leave it out or use 1", name, value),
               where};
}

/// Reads keys and remembers where each one was.
class LayoutReader {
 public:
  explicit LayoutReader(const YamlNode& node) : reader_(node) {}

  void size(const char* key, std::uint32_t& out, std::int64_t low = 1) {
    const auto node = reader_.optional(key);
    if (!node || !reader_.ok()) return;
    const auto value = node->as_int(low, kMost);
    if (!value.ok()) return reader_.fail(value.error());
    out = static_cast<std::uint32_t>(*value);
    layout.places[key] = node->where();
  }
  void word(const char* key, Status (*set)(const std::string&, const Where&, LayoutSpec&)) {
    const auto node = reader_.optional(key);
    if (!node || !reader_.ok()) return;
    const auto value = node->as_string();
    if (!value.ok()) return reader_.fail(value.error());
    const Status status = set(*value, node->where(), layout);
    if (!status.ok()) reader_.fail(status.error());
  }
  void degree_one(const char* key) {
    std::uint32_t value = 1;
    size(key, value);
    if (!reader_.ok()) return;
    const Status status = refuse_degree(key, value, layout.place(key));
    if (!status.ok()) reader_.fail(status.error());
  }
  void flag(const char* key, bool& out) { reader_.optional(key, &YamlNode::as_bool, out); }
  void overlap() {
    const auto node = reader_.optional("overlap");
    if (!node || !reader_.ok()) return;
    MapReader inner(*node);
    inner.optional("grad_reduce", &YamlNode::as_bool, layout.overlap_grad_reduce);
    inner.optional("param_gather", &YamlNode::as_bool, layout.overlap_param_gather);
    inner.optional("p2p", &YamlNode::as_bool, layout.overlap_p2p);
    inner.optional("tp", &YamlNode::as_bool, layout.overlap_tp);
    layout.places["overlap_tp"] = node->where();
    const Status status = inner.finish();
    if (!status.ok()) reader_.fail(status.error());
  }
  Status finish() { return reader_.finish(); }
  LayoutSpec layout;

 private:
  MapReader reader_;
};

Status apply(const char* key, const std::optional<std::int64_t>& flag, std::uint32_t& out, LayoutSpec& l,
             std::int64_t low = 1) {
  if (!flag) return {};
  Where where;
  where.path = fmt::format("--{}", key);
  for (char& c : where.path) c = c == '_' ? '-' : c;
  if (*flag < low || *flag > kMost) {
    return invalid(fmt::format("{} is not between {} and {}", *flag, low, kMost), where);
  }
  out = static_cast<std::uint32_t>(*flag);
  l.places[key] = where;
  return {};
}

}  // namespace

Result<LayoutSpec> read_layout(const YamlNode& node) {
  LayoutReader r(node);
  LayoutSpec& l = r.layout;
  r.size("tp", l.tp);
  r.size("pp", l.pp);
  r.size("vpp", l.vpp);
  r.size("dp", l.dp);
  r.degree_one("cp");
  r.degree_one("ep");
  r.size("seq", l.seq);
  r.size("micro_batch", l.micro_batch);
  r.size("global_batch", l.global_batch);
  r.size("zero", l.zero, 0);
  r.word("precision", set_precision);
  r.word("recompute", set_recompute);
  r.flag("sequence_parallel", l.sequence_parallel);
  std::uint32_t bucket_millions = 0;
  r.size("bucket_million_parameters", bucket_millions);
  l.bucket_parameters = bucket_millions * 1'000'000ull;
  r.size("gradient_bytes", l.gradient_bytes);
  r.overlap();
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (l.gradient_bytes != 2 && l.gradient_bytes != 4) {
    return invalid("gradients are reduced in 2 bytes (bf16) or 4 (fp32)", l.place("gradient_bytes"));
  }
  return l;
}

Status apply_flags(const LayoutFlags& flags, LayoutSpec& l) {
  BUSBAR_RETURN_IF_ERROR(apply("tp", flags.tp, l.tp, l));
  BUSBAR_RETURN_IF_ERROR(apply("pp", flags.pp, l.pp, l));
  BUSBAR_RETURN_IF_ERROR(apply("vpp", flags.vpp, l.vpp, l));
  BUSBAR_RETURN_IF_ERROR(apply("dp", flags.dp, l.dp, l));
  BUSBAR_RETURN_IF_ERROR(apply("seq", flags.seq, l.seq, l));
  BUSBAR_RETURN_IF_ERROR(apply("micro_batch", flags.micro_batch, l.micro_batch, l));
  BUSBAR_RETURN_IF_ERROR(apply("global_batch", flags.global_batch, l.global_batch, l));
  BUSBAR_RETURN_IF_ERROR(apply("zero", flags.zero, l.zero, l, 0));
  const auto flag = [](const char* name) {
    Where where;
    where.path = name;
    return where;
  };
  BUSBAR_RETURN_IF_ERROR(refuse_degree("cp", flags.cp.value_or(1), flag("--cp")));
  BUSBAR_RETURN_IF_ERROR(refuse_degree("ep", flags.ep.value_or(1), flag("--ep")));
  if (flags.precision) BUSBAR_RETURN_IF_ERROR(set_precision(*flags.precision, flag("--precision"), l));
  if (flags.recompute) BUSBAR_RETURN_IF_ERROR(set_recompute(*flags.recompute, flag("--recompute"), l));
  return {};
}

}  // namespace busbar
