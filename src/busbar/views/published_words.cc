#include "busbar/views/published_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace busbar::views {
namespace {

constexpr double kNearPercent = 10;  // both are predictions or measurements with an error of this size

std::string tflops(double flops_per_s) { return fmt::format("{:.0f}", flops_per_s / 1e12); }

}  // namespace

std::string published_words(const std::vector<step::PublishedRun>& like, const step::TrainRun& run) {
  std::vector<double> rates;
  for (const step::PublishedRun& p : like) rates.push_back(p.flops_per_s);
  std::sort(rates.begin(), rates.end());
  const double middle = rates[rates.size() / 2], own = run.metrics.model_tflops_per_gpu * 1e12;
  const double percent = 100 * (own / middle - 1);
  std::string reach = rates.size() > 1 && tflops(rates.front()) != tflops(rates.back())
                          ? fmt::format("{} to {}", tflops(rates.front()), tflops(rates.back()))
                          : tflops(rates.front());
  std::string out = rates.size() == 1 ? "The published run most like it reaches "
                                      : fmt::format("The {} published runs most like it reach ", rates.size());
  out += fmt::format("{} TFLOP/s per GPU; this step {}", reach, tflops(own));
  if (std::fabs(percent) <= kNearPercent) return out + ": as good as they are.";
  return out + fmt::format(": {:.0f} % {}.", std::fabs(percent), percent < 0 ? "less" : "more");
}

report::Table published_table(const std::vector<step::PublishedRun>& like) {
  report::Table t{"Published runs most like this step",
                  {report::to_left("model"), "GPUs", "TFLOP/s per GPU", report::to_left("series")}};
  for (const step::PublishedRun& p : like)
    t.rows.push_back({p.model, std::to_string(p.gpus), tflops(p.flops_per_s), p.series});
  t.note =
      "Model FLOPs with causal attention. The fastest run of each series; their layouts and overlaps differ. "
      "Sources: data/measured/training.csv.";
  return t;
}

}  // namespace busbar::views
