#include "busbar/spec/kernels_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/text.h"
#include "busbar/topology/levels.h"

namespace busbar {
namespace {

constexpr double kMega = 1e6, kTera = 1e12;

class KernelReader {
 public:
  explicit KernelReader(const YamlDocument& document) : reader_(document.root()) { table.text = document.text(); }

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
  void curve(const char* key, const char* x_key, std::vector<EfficiencyPoint>& out) {
    rows(key, "points", [&](MapReader& row) {
      EfficiencyPoint p;
      take(row, x_key, 1e-6, 1e9, p.x);
      take(row, "share", 0.001, 1, p.share);
      if (row.ok() && !out.empty() && p.x <= out.back().x) row.fail(not_rising(x_key));
      out.push_back(p);
    });
  }
  void rates(const char* key, MatrixRates& out, bool needed) {
    if (!needed && !reader_.optional(key)) return;
    group(key, [&](MapReader& inner) {
      take(inner, "peak_tflops", 0.001, 1e6, out.peak_flops_per_s);
      take(inner, "best_share", 0.01, 1, out.best_share);
      out.peak_flops_per_s *= kTera;
    });
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
    if (!table.sources.empty()) table.band_basis = last_source_;
  }
  void name() { reader_.required("name", &YamlNode::as_string, table.name); }
  Status finish() { return reader_.finish(); }
  KernelTable table;

 private:
  static void take(MapReader& from, const char* key, double low, double high, double& out) {
    from.required(key, &YamlNode::as_number, out, low, high);
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
  Where at_;
  std::string last_source_;
};

}  // namespace

Result<KernelTable> read_kernels(const YamlDocument& document) {
  KernelReader r(document);
  KernelTable& t = r.table;
  BytesPerSecond memory{};
  r.name();
  r.rates("bf16", t.bf16, true);
  r.rates("fp8", t.fp8, false);
  r.rates("fp4", t.fp4, false);
  r.figure("cores", &YamlNode::as_number, t.cores, 1, 1e4);
  r.number("sustained_share", 0.1, 1, t.sustained_share);
  r.figure("memory_rate", &YamlNode::as_rate, memory);
  r.number("memory_share", 0.01, 1, t.memory_share);
  r.curve("memory_by_size", "megabytes", t.memory_by_size);
  for (EfficiencyPoint& p : t.memory_by_size) p.x = std::log10(p.x * kMega);
  r.curve("attention_forward", "heads_x_4096", t.attention_forward);
  r.curve("attention_backward", "heads_x_4096", t.attention_backward);
  r.number("attention_small_heads", 0.1, 1, t.attention_small_heads);
  r.number("attention_flash2", 0.01, 1, t.attention_flash2);
  r.number("attention_flash1", 0.01, 1, t.attention_flash1);
  r.number("jitter_share", 0, 0.2, t.jitter_share);
  r.figure("launch", &YamlNode::as_duration, t.launch);
  r.number("optimizer_bytes_per_parameter", 0, 1000, t.optimizer_bytes_per_parameter);
  r.contention();
  r.figure("step_overhead", &YamlNode::as_duration, t.step_overhead);
  r.band();
  BUSBAR_RETURN_IF_ERROR(r.finish());
  t.memory_bytes_per_s = static_cast<double>(per_second(memory));
  return t;
}

Result<KernelTable> load_kernels(std::string_view gpu_part, const Catalog& catalog) {
  std::string name(gpu_part);
  while (!catalog.has("kernels", name)) {
    const std::size_t dash = name.rfind('-');
    if (dash == std::string::npos) {
      const std::string known = comma_list(catalog.names("kernels"));
      return Error{ErrorCode::kNotFound,
                   gpu_part.empty()
                       ? "the cluster names no GPU part, so a training step cannot be timed; name one of " + known
                       : fmt::format("kernel times of GPU '{}' are not known; known are {}", gpu_part, known),
                   {}};
    }
    name.resize(dash);
  }
  BUSBAR_ASSIGN(const YamlDocument document, catalog.load("kernels", name));
  return read_kernels(document);
}

Result<KernelTable> load_kernels(const Cluster& cluster, const Catalog& catalog) {
  BUSBAR_ASSIGN(KernelTable table, load_kernels(cluster.gpu_part, catalog));
  table.scale_up_gpus = scale_up_domain(cluster.topology).gpus;
  if (!catalog.has("gpus", cluster.gpu_part)) return table;
  BUSBAR_ASSIGN(const YamlDocument part, catalog.load("gpus", cluster.gpu_part));
  BUSBAR_ASSIGN(const BytesPerSecond built, part.root().find("memory_rate").value_or(YamlNode()).as_rate());
  BytesPerSecond slowest = cluster.topology.device_class(cluster.topology.gpus()[0]).memory_rate;
  for (const DeviceId gpu : cluster.topology.gpus())
    slowest = std::min(slowest, cluster.topology.device_class(gpu).memory_rate);
  if (slowest == built) return table;
  const double factor = static_cast<double>(per_second(slowest)) / static_cast<double>(per_second(built));
  table.memory_bytes_per_s *= factor;
  table.sources.push_back(
      fmt::format("memory_rate x {:.4g}: the cluster's GPU memory against that of '{}'", factor, cluster.gpu_part));
  return table;
}

}  // namespace busbar
