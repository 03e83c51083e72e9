// Single kernels of one GPU: the table with the columns kernel and time_us.
#include <fmt/core.h>

#include <map>

#include "busbar/accuracy/validate.h"
#include "busbar/spec/kernels_file.h"

namespace busbar::accuracy {
namespace {

/// A row's cells, by name.
class KernelRow {
 public:
  KernelRow(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  const std::string& text(const char* column) const { return table_.cell(row_, column); }
  /// Error kInvalid: no whole number from 1 on.
  Result<std::uint64_t> count(const char* column) const {
    BUSBAR_ASSIGN(const auto value, table_.number(row_, column));
    if (!value || *value < 1 || *value > 1e15)
      return invalid(fmt::format("a row of kernel '{}' needs {}, a number from 1 on", text("kernel"), column),
                     {table_.file(), static_cast<int>(row_) + 2, 0, column});
    return static_cast<std::uint64_t>(*value);
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

Result<Duration> product_time(const KernelRow& row, const workload::KernelTable& gpu, std::string& how) {
  BUSBAR_ASSIGN(const std::uint64_t m, row.count("m"));
  BUSBAR_ASSIGN(const std::uint64_t n, row.count("n"));
  BUSBAR_ASSIGN(const std::uint64_t k, row.count("k"));
  const workload::Precision precision =
      row.text("variant") == "fp8" ? workload::Precision::kFp8 : workload::Precision::kBf16;
  how = fmt::format("{} x {} x {}, {}", m, n, k, workload::name_of(precision));
  return gpu.gemm_time(m, n, k, precision);
}

Result<Duration> attention_row_time(const KernelRow& row, const workload::KernelTable& gpu, std::string& how) {
  BUSBAR_ASSIGN(const std::uint64_t heads, row.count("heads"));
  BUSBAR_ASSIGN(const std::uint64_t width, row.count("head_dim"));
  BUSBAR_ASSIGN(const std::uint64_t seq, row.count("seq"));
  BUSBAR_ASSIGN(const std::uint64_t sequences, row.count("sequences"));
  const workload::AttentionKernel kernel =
      row.text("variant") == "flash2" ? workload::AttentionKernel::kFlash2 : workload::AttentionKernel::kFlash;
  how = fmt::format("{} heads of {}, {} sequences of {}, {}", heads, width, sequences, seq, row.text("direction"));
  const auto small = [](std::uint64_t n) { return static_cast<std::uint32_t>(n); };
  return gpu.attention_time(kernel, small(heads), small(seq), small(width), small(sequences), 1,
                            row.text("direction") == "backward");
}

Result<Duration> predicted_time(const KernelRow& row, const workload::KernelTable& gpu, std::string& how) {
  const std::string& kernel = row.text("kernel");
  if (kernel == "gemm") return product_time(row, gpu, how);
  if (kernel == "attention") return attention_row_time(row, gpu, how);
  if (kernel == "memory" || (kernel == "adamw" && row.text("variant") == "fused")) {
    BUSBAR_ASSIGN(const std::uint64_t bytes, row.count("bytes"));
    how = fmt::format("{} bytes of HBM traffic", bytes);
    return gpu.memory_time(static_cast<double>(bytes));
  }
  return unsupported(fmt::format("no model of kernel '{}{}{}'; there are gemm, attention, memory and adamw (fused)",
                                 kernel, row.text("variant").empty() ? "" : " ", row.text("variant")));
}

}  // namespace

Result<std::vector<ScoredRow>> validate_kernels(const CsvTable& table, const std::vector<std::size_t>& rows,
                                                const ValidateOptions& options) {
  const spec::Catalog catalog(options.overrides.catalog);
  std::map<std::string, workload::KernelTable> gpus;
  std::vector<ScoredRow> out;
  for (const std::size_t r : rows) {
    if (options.go_on && !options.go_on(out.size(), rows.size())) break;
    const KernelRow row(table, r);
    ScoredRow s = begin_scored_row(table, r);
    s.gpu = row.text("gpu");
    s.gpus = 1;
    s.kind = row.text("variant").empty() ? row.text("kernel") : row.text("kernel") + " " + row.text("variant");
    s.id = fmt::format("line {}", r + 2);
    if (!gpus.contains(s.gpu)) {
      BUSBAR_ASSIGN(gpus[s.gpu], spec::load_kernels(s.gpu, catalog));
    }
    BUSBAR_ASSIGN(const auto measured, table.number(r, "time_us"));
    if (!measured || *measured <= 0) {
      s.unsupported = "no time";
    } else if (const auto predicted = predicted_time(row, gpus[s.gpu], s.how); predicted.ok()) {
      s.measured = *measured;
      s.predicted = predicted->in_us();
    } else if (predicted.error().code == ErrorCode::kInvalid) {
      return predicted.error();
    } else {
      s.unsupported = predicted.error().message;
    }
    s.configuration = fmt::format("{} on {}: {}", s.kind, s.gpu, s.how);
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace busbar::accuracy
