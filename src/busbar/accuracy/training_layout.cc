#include "busbar/accuracy/internal/training_layout.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/spec/framework.h"
#include "busbar/spec/layout_file.h"

namespace busbar {
namespace {

bool has(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

/// Whole numbers of one row; keeps the name of the first missing one.
class RowNumbers {
 public:
  RowNumbers(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}
  std::uint32_t need(const char* column) {
    const auto n = read(column);
    if (n == 0 && missing_.empty()) missing_ = column;
    return n;
  }
  std::uint32_t read(const char* column, std::uint32_t otherwise = 0) {
    const auto n = table_.number(row_, column);
    if (!n.ok() || !*n || **n < 1 || **n > 1e9) return otherwise;
    return static_cast<std::uint32_t>(**n);
  }
  Status status() const {
    if (missing_.empty()) return {};
    return unsupported(fmt::format("{} is not known", missing_));
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
  std::string missing_;
};

Precision precision_of(const std::string& text) {
  if (has(text, "fp4") || has(text, "FP4")) return Precision::kFp4;
  if (has(text, "fp8") || has(text, "FP8") || has(text, "float8")) return Precision::kFp8;
  return has(text, "fp16") ? Precision::kFp16 : Precision::kBf16;
}

/// The number after `words` in `text`; 0 if there is none.
std::uint32_t number_after(const std::string& text, const char* words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) return 0;
  return static_cast<std::uint32_t>(std::strtoul(text.c_str() + at + std::string(words).size(), nullptr, 10));
}

/// How states are sharded, from the text of the zero_fsdp column.
void set_sharding(const std::string& text, LayoutSpec& l) {
  const std::uint32_t data = l.data_ranks();
  std::uint32_t group = 0;
  if (has(text, "FSDP") || has(text, "ZeRO-3") || has(text, "fully sharded")) {
    l.zero = 3;
    l.reshard = !has(text, "SHARD_GRAD_OP");  // PyTorch's name for keeping parameters between forward and backward
    group = std::max(number_after(text, "FSDP group "), number_after(text, "FSDP="));
    if (has(text, "float8 all-gather")) l.parameter_bytes = 1;
  } else if (has(text, "ZeRO-2") && l.pp == 1) {  // with stages, gradients accumulate first: as ZeRO-1
    l.zero = 2;
  } else if (has(text, "none") || text.empty()) {
    l.zero = 0;
  } else {
    l.zero = 1;
    group = number_after(text, "ZeRO-1 over ");
  }
  if (group > 0 && group < data && data % group == 0 && group % l.cp == 0) l.shard_group = group;
}

/// What the text of the overlap column says against the framework's defaults.
void set_overlap(const std::string& framework, const std::string& overlap, LayoutSpec& l) {
  if (framework == "fsdp2-torchtitan")
    l.overlap_tp = l.sequence_parallel && (has(overlap, "async TP") || has(overlap, "AsyncTP"));
  if (has(overlap, "TP-comm overlap off")) l.overlap_tp = false;
  if (has(overlap, "CUDA graphs")) l.cuda_graphs = true;
}

/// If layers do not divide evenly: one place each for embedding and head if that makes it even, otherwise cut by cost.
void set_layers(const ModelSpec& m, LayoutSpec& l) {
  l.embedding_as_layer = l.head_as_layer = m.layers % l.chunks() != 0 && (m.layers + 2) % l.chunks() == 0;
}

}  // namespace

namespace {

/// What the columns do not say: latent attention, dense layers, the nodes of a token. Taken from the catalogue's model
/// whose layers have the same shape, whatever its name.
void complete_from_catalog(RowCatalog& catalog, ModelSpec& m) {
  for (const ModelSpec& known : catalog.models()) {
    if (known.hidden != m.hidden || known.heads != m.heads || known.kv_heads != m.kv_heads ||
        known.moe.experts != m.moe.experts || known.moe.per_token != m.moe.per_token || known.moe.ffn != m.moe.ffn)
      continue;
    m.latent = known.latent;
    m.window = known.window;
    m.qk_norm = known.qk_norm;
    m.mtp = known.mtp;
    m.tied_embeddings = known.tied_embeddings;
    const std::uint32_t shared = m.moe.shared;
    m.moe = known.moe;
    m.moe.shared = std::max(shared, m.moe.shared);
    if (m.moe.dense_layers >= m.layers) m.moe.dense_layers = 0;  // an excerpt of few layers
    return;
  }
}

}  // namespace

std::string release_of(const std::string& source) {
  const std::size_t at = source.find(" NeMo Container");
  if (at == std::string::npos) return "";
  const std::size_t from = source.rfind('"', at);
  return from == std::string::npos ? "" : source.substr(from + 1, at - from - 1);
}

Result<double> kernel_time_of(const std::string& framework, const std::string& release, RowCatalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument* const document, catalog.framework(framework));
  if (document == nullptr) return 1.0;
  return kernel_time_in(*document, release);
}

namespace {

/// Keys of a layout that the recipe of a published run sets and no column says. Each list in `recipes` of
/// catalog/frameworks counts for rows whose cells begin with (source: contain) the given words, from a release on; the
/// first that fits counts.
Status apply_recipe(const CsvTable& table, std::size_t row, RowCatalog& catalog, MeasuredLayout& out) {
  BUSBAR_ASSIGN(const YamlDocument* const document, catalog.framework(table.cell(row, "framework")));
  if (document == nullptr) return {};
  const auto recipes = document->root().find("recipes");
  for (std::size_t i = 0; recipes && i < recipes->size(); ++i) {
    MapReader r(recipes->item(i));
    std::string model, gpu, precision, source, from;
    r.optional("model", &YamlNode::as_string, model);
    r.optional("gpu", &YamlNode::as_string, gpu);
    r.optional("precision", &YamlNode::as_string, precision);
    r.optional("in_source", &YamlNode::as_string, source);
    r.optional("from", &YamlNode::as_string, from);
    r.optional("source");
    const YamlNode layout = r.required("layout");
    BUSBAR_RETURN_IF_ERROR(r.finish());
    const auto begins = [&](const char* column, const std::string& word) {
      return table.cell(row, column).rfind(word, 0) == 0;
    };
    const bool fits = begins("model", model) && begins("gpu", gpu) &&
                      (precision.empty() || precision == name_of(out.layout.precision)) &&
                      has(table.cell(row, "source"), source.c_str()) && release_of(table.cell(row, "source")) >= from;
    if (!fits) continue;
    BUSBAR_ASSIGN(out.layout, read_layout(layout, out.layout));
    if (layout.find("recompute")) out.chooses_recompute = false;
    break;
  }
  return {};
}

/// How tokens reach their experts. Forced balance is in the notes of a row.
Status set_experts(const CsvTable& table, std::size_t row, RowCatalog& catalog, std::optional<Duration> launch,
                   MeasuredLayout& out) {
  if (has(table.cell(row, "notes"), "force-balanced")) out.layout.expert_skew = 0;
  const std::string& framework = table.cell(row, "framework");
  if (framework == "nemo" || framework == "megatron-bridge") {
    BUSBAR_ASSIGN(const YamlDocument* const core, catalog.framework("megatron-core"));
    if (core == nullptr) return apply_recipe(table, row, catalog, out);
    BUSBAR_ASSIGN(out.layout.expert_launch, expert_launch_in(*core));
  }
  if (launch && out.layout.expert_launch > Duration{}) out.layout.expert_launch = *launch;
  return apply_recipe(table, row, catalog, out);
}

}  // namespace

Result<ModelSpec> model_of_row(const CsvTable& table, std::size_t row, RowCatalog& catalog) {
  RowNumbers n(table, row);
  ModelSpec m;
  m.name = table.cell(row, "model");
  m.layers = n.need("layers");
  m.hidden = n.need("hidden");
  m.ffn = n.need("ffn_hidden");
  m.heads = n.need("heads");
  m.kv_heads = n.read("kv_heads", m.heads);
  m.vocab = n.need("vocab");
  if (table.cell(row, "moe") == "yes") {
    m.moe.experts = n.need("moe_experts");
    m.moe.per_token = n.need("moe_topk");
    m.moe.ffn = n.need("moe_ffn_hidden");
    m.moe.shared = n.read("moe_shared");
  }
  BUSBAR_RETURN_IF_ERROR(n.status());
  m.head_dim = n.read("head_dim", m.hidden / m.heads);
  m.gated_mlp = table.cell(row, "gated_mlp") == "y";
  // Tied embeddings or not: the choice whose count is nearer to the given one.
  BUSBAR_ASSIGN(const auto billions, table.number(row, "params_B"));
  if (billions) {
    const double one = static_cast<double>(embedding_parameters(m)), all = static_cast<double>(parameter_count(m));
    m.tied_embeddings = std::abs(all - one - *billions * 1e9) < std::abs(all - *billions * 1e9);
  }
  if (m.moe.experts > 0) complete_from_catalog(catalog, m);
  if (has(table.cell(row, "notes"), "w/o MTP")) m.mtp = 0;
  BUSBAR_RETURN_IF_ERROR(check_model(m));
  return m;
}

Result<MeasuredLayout> layout_of_row(const CsvTable& table, std::size_t row, const ModelSpec& model,
                                     RowCatalog& catalog, std::optional<Duration> expert_launch) {
  RowNumbers n(table, row);
  MeasuredLayout out;
  LayoutSpec& l = out.layout;
  l.tp = n.read("TP", 1);
  l.pp = n.read("PP", 1);
  l.vpp = n.read("VPP", 1);
  l.cp = n.read("CP", 1);
  l.ep = model.moe.experts > 0 ? n.read("EP", 1) : 1;
  l.dp = n.need("DP");
  l.seq = n.need("seq_len");
  l.micro_batch = n.need("micro_batch");
  l.global_batch = n.need("global_batch");
  BUSBAR_RETURN_IF_ERROR(n.status());
  if (l.pp == 1) l.vpp = 1;
  l.precision = precision_of(table.cell(row, "precision"));
  const std::string &parallel = table.cell(row, "sequence_parallel"), &recompute = table.cell(row, "recompute");
  l.sequence_parallel = parallel.empty() ? l.tp > 1 : parallel == "y";
  set_sharding(table.cell(row, "zero_fsdp"), l);
  set_framework(table.cell(row, "framework"), l);
  set_overlap(table.cell(row, "framework"), table.cell(row, "overlap"), l);
  set_layers(model, l);
  out.chooses_recompute = recompute.empty();
  l.recompute = has(recompute, "full")        ? Recompute::kFull
                : has(recompute, "selective") ? Recompute::kSelective
                                              : Recompute::kNone;
  if (table.cell(row, "loss") == "vocab_parallel") l.loss = LossKernel::kVocabParallel;
  const std::string& framework = table.cell(row, "framework");
  if (framework == "fsdp2-torchtitan" && l.recompute == Recompute::kSelective) {
    l.recompute = Recompute::kFull;  // its "selective op" recomputes every second matrix product
    l.recompute_layers = std::max(1u, model.layers / 2);
  }
  if (framework == "other" && has(table.cell(row, "zero_fsdp"), "JAX")) {  // PaxML saves no activations by default
    l.attention = AttentionKernel::kFlash;
    l.early_stop = false;
    l.shard_copy_bytes = 0;
    l.gradient_bytes = 2;
    if (recompute.empty()) {
      l.recompute = Recompute::kFull;
      out.chooses_recompute = false;
    }
  }
  if (model.moe.experts > 0) BUSBAR_RETURN_IF_ERROR(set_experts(table, row, catalog, expert_launch, out));
  return out;
}

}  // namespace busbar
