#include "busbar/spec/kernels_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/text.h"
#include "busbar/spec/clock_curve.h"
#include "busbar/spec/internal/unit_figure.h"
#include "busbar/topology/levels.h"

namespace busbar::spec {
namespace {

constexpr double kMega = 1e6, kTera = 1e12;

class KernelReader {
 public:
  KernelReader(const YamlNode& document, YamlNode part) : reader_(document), part_(std::move(part)) {}

  /// {value: ..., source: ..., confidence: ...}
  template <typename T, typename F, typename... Limits>
  void figure(const char* key, F convert, T& out, Limits... limits) {
    const YamlNode node = reader_.required(key);
    reader_.inner(key, [&](MapReader& inner) {
      inner.required("value", convert, out, limits...);
      note(key, inner.ok() ? node.find("value")->scalar() : std::string(), inner);
    });
  }
  void number(const char* key, double low, double high, double& out) {
    figure(key, &YamlNode::as_number, out, low, high);
  }
  void curve(const char* key, const char* x_key, std::vector<workload::EfficiencyPoint>& out) {
    rows(key, "points", [&](MapReader& row) {
      workload::EfficiencyPoint p;
      take(row, x_key, 1e-6, 1e9, p.x);
      take(row, "share", 0.001, 1, p.share);
      if (row.ok() && !out.empty() && p.x <= out.back().x) row.fail(not_rising(x_key));
      out.push_back(p);
    });
  }
  /// The peak is the part's. A precision that the part does not have is left out.
  Status rates(const char* key, workload::MatrixRates& out) {
    double tflops = 0;
    BUSBAR_ASSIGN(const auto peak, peak_of(key));
    const bool known = reader_.optional(key).has_value();
    if (!known || !peak) return {};
    out.peak_flops_per_s = *peak * kTera;
    group(key, [&](MapReader& inner) {
      inner.optional("best_tflops", &YamlNode::as_number, tflops, 0.001, 1e6);
      if (tflops == 0) take(inner, "best_share", 0.01, 1, out.best_share);
    });
    if (tflops > 0) out.best_share = std::min(1.0, tflops / *peak);
    return {};
  }
  /// What the power limit leaves of the best rates: by a curve of the generation, or as one share.
  Status clock(const Catalog& catalog) {
    std::string curve;
    double share = 1, found = 0;
    group("clock", [&](MapReader& inner) {
      inner.optional("curve", &YamlNode::as_string, curve);
      inner.optional("found_at", &unit_figure, found, "W");
      if (curve.empty()) take(inner, "share", 0.1, 1, share);
    });
    for (workload::MatrixRates* const rates : table.all_rates()) rates->sustained_share = share;
    if (curve.empty() || !reader_.ok()) return {};
    BUSBAR_ASSIGN(const double watts, unit_figure(part_.find("power").value_or(YamlNode()), "W"));
    if (found == 0) found = watts;
    BUSBAR_ASSIGN(const ClockCurve clock, ClockCurve::load(curve, catalog, table.sources));
    table.text += clock.text;
    table.bf16.sustained_share = clock.share(watts, found, false);
    const double narrow = clock.share(watts, found, true);
    for (workload::MatrixRates* const rates : {&table.fp8, &table.fp4, &table.int8}) rates->sustained_share = narrow;
    return {};
  }
  void contention() {
    group("contention", [&](MapReader& inner) {
      take(inner, "tp", 0, 0.3, table.contention.tp);
      take(inner, "dp", 0, 0.3, table.contention.dp);
      take(inner, "pp", 0, 0.3, table.contention.pp);
      take(inner, "cp", 0, 0.3, table.contention.cp);
    });
  }
  void band() {
    group("band", [&](MapReader& inner) {
      take(inner, "low_percent", -100, 0, table.band_low_percent);
      take(inner, "high_percent", 0, 1000, table.band_high_percent);
    });
    table.band_basis = last_source_;
  }
  Status names() {
    reader_.optional("like");
    reader_.required("name", &YamlNode::as_string, table.name);
    BUSBAR_ASSIGN(const BytesPerSecond rate, part_.find("memory_rate").value_or(YamlNode()).as_rate());
    table.memory_bytes_per_s = static_cast<double>(per_second(rate));
    return {};
  }
  Status finish() { return reader_.finish(); }
  workload::KernelTable table;

 private:
  static void take(MapReader& from, const char* key, double low, double high, double& out) {
    from.required(key, &YamlNode::as_number, out, low, high);
  }
  /// In TFLOP/s. fp16 stands for bf16 on chips that have only that.
  Result<std::optional<double>> peak_of(std::string_view key) const {
    const auto peaks = part_.find("peak");
    auto peak = peaks ? peaks->find(key) : std::nullopt;
    if (!peak && peaks && key == "bf16") peak = peaks->find("fp16");
    if (!peak) return std::optional<double>();
    BUSBAR_ASSIGN(const double tflops, unit_figure(*peak, "TFLOP/s"));
    return std::optional<double>(tflops);
  }
  Error not_rising(const char* x_key) const {
    return invalid(fmt::format("'{}' must rise from point to point", x_key), at_);
  }
  template <typename F>
  void group(const char* key, F read) {
    at_ = reader_.required(key).where();
    reader_.inner(key, [&](MapReader& inner) {
      read(inner);
      note(key, "", inner);
    });
  }
  template <typename F>
  void rows(const char* key, const char* list_key, F read_row) {
    group(key, [&](MapReader& inner) {
      const YamlNode list = inner.required(list_key);
      if (inner.ok() && list.size() == 0) inner.fail(list.error("needs at least one entry"));
      for (std::size_t i = 0; inner.ok() && i < list.size(); ++i) {
        at_ = list.item(i).where();
        MapReader row(list.item(i));
        read_row(row);
        const Status status = row.finish();
        if (!status.ok()) inner.fail(status.error());
      }
    });
  }
  /// Records a figure with its source.
  void note(const char* key, const std::string& value, MapReader& inner) {
    std::string confidence = "high";
    inner.required("source", &YamlNode::as_string, last_source_);
    inner.optional("confidence", &YamlNode::as_string, confidence);
    table.sources.push_back(
        fmt::format("{}{}{}: {} (confidence {})", key, value.empty() ? "" : " ", value, last_source_, confidence));
  }

  MapReader reader_;
  YamlNode part_;
  Where at_;
  std::string last_source_;
};

/// `document` with the keys that it leaves to the table named by `like`.
Status add_base(YamlDocument& document, const Catalog& catalog, std::string& text, int depth = 0) {
  constexpr int kDeepest = 4;
  const auto like = document.root().find("like");
  if (!like) return {};
  if (depth == kDeepest) return like->error("tables refer to each other more than 4 deep");
  BUSBAR_ASSIGN(YamlDocument base, catalog.load("kernels", like->scalar()));
  text += base.text();
  BUSBAR_RETURN_IF_ERROR(add_base(base, catalog, text, depth + 1));
  for (std::size_t i = 0; i < base.root().size(); ++i) {
    const std::string key = base.root().key(i);
    if (!document.root().find(key)) BUSBAR_RETURN_IF_ERROR(document.replace(key, base.root().item(i)));
  }
  return {};
}

/// The name of the table of `gpu_part`: its own, that of the part without the last words, or the roofline's.
std::string table_of(std::string_view gpu_part, const Catalog& catalog) {
  std::string name(gpu_part);
  while (!catalog.has("kernels", name)) {
    const std::size_t dash = name.rfind('-');
    if (dash == std::string::npos) return "roofline";
    name.resize(dash);
  }
  return name;
}

}  // namespace

Result<workload::KernelTable> read_kernels(YamlDocument document, const YamlNode& part, const Catalog& catalog) {
  std::string text = document.text();
  BUSBAR_RETURN_IF_ERROR(add_base(document, catalog, text));
  KernelReader r(document.root(), part);
  workload::KernelTable& t = r.table;
  t.text = std::move(text);
  BUSBAR_RETURN_IF_ERROR(r.names());
  BUSBAR_RETURN_IF_ERROR(r.rates("bf16", t.bf16));
  BUSBAR_RETURN_IF_ERROR(r.rates("fp8", t.fp8));
  BUSBAR_RETURN_IF_ERROR(r.rates("fp4", t.fp4));
  BUSBAR_RETURN_IF_ERROR(r.rates("int8", t.int8));
  BUSBAR_RETURN_IF_ERROR(r.clock(catalog));
  r.figure("cores", &YamlNode::as_number, t.cores, 1, 1e4);
  if (t.cores > 0) t.contention.ep = std::min(0.5, workload::kExchangeCores / t.cores);
  r.number("memory_share", 0.01, 1, t.memory_share);
  r.curve("memory_by_size", "megabytes", t.memory_by_size);
  for (workload::EfficiencyPoint& p : t.memory_by_size) p.x = std::log10(p.x * kMega);
  r.curve("attention_forward", "heads_x_4096", t.attention_forward);
  r.curve("attention_backward", "heads_x_4096", t.attention_backward);
  r.number("attention_small_heads", 0.1, 1, t.attention_small_heads);
  r.number("attention_8bit", 1, 2, t.attention_8bit);
  r.number("attention_flash2", 0.01, 1, t.attention_flash2);
  r.number("attention_flash1", 0.01, 1, t.attention_flash1);
  r.figure("attention_block", &YamlNode::as_number, t.attention_block, 1, 1 << 16);
  r.figure("matrix_unit", &YamlNode::as_number, t.matrix_unit, 0, 1 << 16);
  r.number("jitter_share", 0, 0.2, t.jitter_share);
  r.figure("launch", &YamlNode::as_duration, t.launch);
  r.number("optimizer_bytes_per_parameter", 0, 1000, t.optimizer_bytes_per_parameter);
  r.contention();
  r.band();
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return std::move(r.table);
}

Result<workload::KernelTable> load_kernels(std::string_view gpu_part, const Catalog& catalog) {
  if (gpu_part.empty() || !catalog.has("gpus", gpu_part)) {
    const std::string known = comma_list(catalog.names("gpus"));
    return Error{ErrorCode::kNotFound,
                 gpu_part.empty()
                     ? "the cluster names no GPU part, so a training step cannot be timed; name one of " + known
                     : fmt::format("kernel times of GPU '{}' are not known; known are {}", gpu_part, known),
                 {}};
  }
  BUSBAR_ASSIGN(const YamlDocument part, catalog.load("gpus", gpu_part));
  BUSBAR_ASSIGN(YamlDocument document, catalog.load("kernels", table_of(gpu_part, catalog)));
  BUSBAR_ASSIGN(workload::KernelTable table, read_kernels(std::move(document), part.root(), catalog));
  if (table.bf16.peak_flops_per_s <= 0) {
    return unsupported(
        fmt::format("{} has no peak of matrix products in 16 bits, so a step cannot be timed", gpu_part));
  }
  table.text += part.text();
  return table;
}

Result<std::string> clock_curve_of(std::string_view gpu_part, const Catalog& catalog) {
  BUSBAR_ASSIGN(YamlDocument document, catalog.load("kernels", table_of(gpu_part, catalog)));
  std::string text;
  BUSBAR_RETURN_IF_ERROR(add_base(document, catalog, text));
  const auto clock = document.root().find("clock");
  const auto curve = clock ? clock->find("curve") : std::nullopt;
  if (!curve) return std::string();
  return curve->as_string();
}

Result<workload::KernelTable> load_kernels(const Cluster& cluster, const Catalog& catalog) {
  BUSBAR_ASSIGN(workload::KernelTable table, load_kernels(cluster.gpu_part, catalog));
  table.scale_up_gpus = topology::scale_up_domain(cluster.topology).gpus;
  BytesPerSecond slowest = cluster.topology.device_class(cluster.topology.gpus()[0]).memory_rate;
  for (const topology::DeviceId gpu : cluster.topology.gpus())
    slowest = std::min(slowest, cluster.topology.device_class(gpu).memory_rate);
  if (cluster.kernel_time != 1) {
    for (workload::MatrixRates* const rates : table.all_rates()) rates->sustained_share /= cluster.kernel_time;
    table.memory_share /= cluster.kernel_time;
  }
  const double factor = static_cast<double>(per_second(slowest)) / table.memory_bytes_per_s;
  if (factor == 1) return table;
  table.memory_bytes_per_s *= factor;
  table.sources.push_back(
      fmt::format("memory_rate x {:.4g}: the cluster's GPU memory against that of '{}'", factor, cluster.gpu_part));
  return table;
}

}  // namespace busbar::spec
