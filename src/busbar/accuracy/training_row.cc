#include "busbar/accuracy/internal/training_row.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/text.h"
#include "busbar/spec/model_file.h"

namespace busbar::accuracy {
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

/// The number after `words` in `text`; 0 if there is none.
std::uint32_t number_after(const std::string& text, const char* words) {
  const std::size_t at = text.find(words);
  if (at == std::string::npos) return 0;
  return static_cast<std::uint32_t>(std::strtoul(text.c_str() + at + std::string(words).size(), nullptr, 10));
}

const char* precision_of(const std::string& text) {
  if (has(text, "int8")) return "int8";
  if (has(text, "fp4") || has(text, "FP4")) return "fp4";
  if (has(text, "fp8") || has(text, "FP8") || has(text, "float8")) return "fp8";
  return has(text, "fp16") ? "fp16" : "bf16";
}

/// Keys of a layout that have no flag.
class LayoutKeys {
 public:
  explicit LayoutKeys(std::vector<std::string>& sets) : sets_(sets) {}
  void set(const char* key, const std::string& value) { sets_.push_back(fmt::format("layout.{}={}", key, value)); }
  void set(const char* key, bool value) { set(key, std::string(value ? "true" : "false")); }
  void set(const char* key, std::uint32_t value) { set(key, std::to_string(value)); }

 private:
  std::vector<std::string>& sets_;
};

/// The vocabulary of zero_fsdp.
void set_sharding(const std::string& text, spec::LayoutFlags& l, LayoutKeys& keys) {
  const auto cp = static_cast<std::uint32_t>(*l.cp), data = static_cast<std::uint32_t>(*l.dp) * cp;
  std::uint32_t group = 0;
  if (has(text, "FSDP") || has(text, "ZeRO-3") || has(text, "fully sharded")) {
    l.zero = 3;
    if (has(text, "SHARD_GRAD_OP")) keys.set("reshard", false);  // PyTorch's name: parameters stay until backward
    group = std::max(number_after(text, "FSDP group "), number_after(text, "FSDP="));
    if (has(text, "float8 all-gather")) keys.set("parameter_bytes", 1u);
  } else if (has(text, "ZeRO-2") && l.pp == 1) {  // with stages, gradients accumulate first: as ZeRO-1
    l.zero = 2;
  } else if (has(text, "none") || text.empty()) {
    l.zero = 0;
  } else {
    l.zero = 1;
    group = number_after(text, "ZeRO-1 over ");
  }
  if (group > 0 && group < data && data % group == 0 && group % cp == 0) keys.set("shard_group", group);
  if (has(text, "JAX")) {  // sharded by XLA, which copies nothing and reduces in the type of the weights
    keys.set("attention", std::string("flash"));
    keys.set("early_stop", true);  // what no backward pass uses is not computed
    keys.set("shard_copy_bytes", 0u);
    keys.set("gradient_bytes", 2u);
  }
}

/// The vocabulary of overlap.
void set_overlap(const std::string& text, bool sequence_parallel, LayoutKeys& keys) {
  if (has(text, "async TP") || has(text, "AsyncTP")) keys.set("overlap.tp", sequence_parallel);
  if (has(text, "TP-comm overlap off")) keys.set("overlap.tp", false);
  if (has(text, "CUDA graphs")) keys.set("cuda_graphs", true);
}

/// The vocabulary of recompute; nothing where the framework's default holds.
std::optional<std::string> recompute_of(const std::string& text) {
  if (text.empty()) return {};
  return has(text, "full") ? "full" : has(text, "selective") ? "selective" : "none";
}

/// If layers do not divide evenly: one place each for embedding and head if that makes it even, otherwise cut by cost.
void set_layers(const workload::ModelSpec& m, const spec::LayoutFlags& l, LayoutKeys& keys) {
  const auto chunks = static_cast<std::uint32_t>(*l.pp * *l.vpp);
  if (m.layers % chunks == 0 || (m.layers + 2) % chunks != 0) return;
  keys.set("embedding_as_layer", true);
  keys.set("head_as_layer", true);
}

/// What the columns do not say: latent attention, dense layers, the nodes of a token. Taken from the catalogue's model
/// whose layers have the same shape, whatever its name.
void complete_from_catalog(RowCatalog& catalog, workload::ModelSpec& m) {
  for (const workload::ModelSpec& known : catalog.models()) {
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

Result<workload::ModelSpec> model_of_row(const CsvTable& table, std::size_t row, RowCatalog& catalog) {
  RowNumbers n(table, row);
  workload::ModelSpec m;
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
    const double one = static_cast<double>(workload::embedding_parameters(m)),
                 all = static_cast<double>(workload::parameter_count(m));
    m.tied_embeddings = std::abs(all - one - *billions * 1e9) < std::abs(all - *billions * 1e9);
  }
  if (m.moe.experts > 0) complete_from_catalog(catalog, m);
  BUSBAR_RETURN_IF_ERROR(workload::check_model(m));
  return m;
}

Status read_degrees(const CsvTable& table, std::size_t row, bool experts, spec::LayoutFlags& l) {
  RowNumbers n(table, row);
  l.tp = n.read("TP", 1);
  l.pp = n.read("PP", 1);
  l.vpp = *l.pp == 1 ? 1 : n.read("VPP", 1);
  l.cp = n.read("CP", 1);
  l.ep = experts ? n.read("EP", 1) : 1;
  l.dp = n.need("DP");
  l.seq = n.need("seq_len");
  l.micro_batch = n.need("micro_batch");
  l.global_batch = n.need("global_batch");
  return n.status();
}

}  // namespace

Result<StepQuestion> question_of_row(const CsvTable& table, std::size_t row, RowCatalog& catalog) {
  const auto cell = [&](const char* column) -> const std::string& { return table.cell(row, column); };
  BUSBAR_ASSIGN(const workload::ModelSpec model, model_of_row(table, row, catalog));
  StepQuestion out;
  spec::LayoutFlags& l = out.scenario.degrees;
  LayoutKeys keys(out.overrides.set);
  out.scenario.model = spec::model_text(model);
  BUSBAR_RETURN_IF_ERROR(read_degrees(table, row, model.moe.experts > 0, l));
  l.precision = precision_of(cell("precision"));
  const bool parallel = cell("sequence_parallel").empty() ? *l.tp > 1 : cell("sequence_parallel") == "y";
  keys.set("sequence_parallel", parallel);
  set_sharding(cell("zero_fsdp"), l, keys);
  set_overlap(cell("overlap"), parallel, keys);
  set_layers(model, l, keys);
  l.recompute = recompute_of(cell("recompute"));
  if (cell("loss") == "vocab_parallel") keys.set("loss", std::string("vocab_parallel"));
  out.scenario.framework = cell("framework");
  if (!cell("framework_release").empty()) out.scenario.framework += ":" + cell("framework_release");
  if (!cell("set").empty())
    for (const std::string_view word : split_at(cell("set"), ';')) out.overrides.set.emplace_back(word);
  return out;
}

}  // namespace busbar::accuracy
