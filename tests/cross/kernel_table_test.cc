// The kernel model against single kernels that were measured on one GPU (data/measured/kernels.csv).
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "busbar/accuracy/validate.h"

namespace busbar {
namespace {

struct KernelErrors {
  double sum = 0;
  int n = 0;
  double mean() const { return sum / n; }
};

TEST(KernelTable, LongKernelsTakeAboutWhatWasMeasured) {
  const auto rows =
      accuracy::validate(CsvTable::load("data/measured/kernels.csv").value(), {.only = "use=accuracy,time_us>200"});
  ASSERT_TRUE(rows.ok()) << rows.error().text();
  std::map<std::string, KernelErrors> errors;
  for (const accuracy::ScoredRow& r : *rows) {
    if (!r.unsupported.empty()) continue;
    KernelErrors& e = errors[r.kind];
    e.sum += std::abs(r.error_percent());
    ++e.n;
  }
  for (const auto& [kind, e] : errors) fmt::print("{}: mean error of {} kernels {:.1f} %\n", kind, e.n, e.mean());
  EXPECT_LT(errors["gemm bf16"].mean(), 18);
  EXPECT_LT(errors["attention cudnn"].mean(), 18);
  EXPECT_LT(errors["attention flash2"].mean(), 25);
  EXPECT_LT(errors["memory add_in_graph"].mean(), 5);
  EXPECT_LT(errors["memory copy"].mean(), 5);
  EXPECT_GT(errors["gemm bf16"].n, 100);
}

}  // namespace
}  // namespace busbar
