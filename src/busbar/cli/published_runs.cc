#include "busbar/cli/published_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/quantity.h"
#include "busbar/spec/reading.h"

namespace busbar {
namespace {

constexpr double kMostRatio = 4;     // of parameters and of GPUs
constexpr double kNearPercent = 10;  // both are predictions or measurements with an error of this size

std::string tflops(double flops_per_s) { return fmt::format("{:.0f}", flops_per_s / 1e12); }

}  // namespace

Result<std::vector<PublishedRun>> load_published_runs(const Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument file, catalog.load("accuracy", "published"));
  MapReader r = sourced(file.root());
  r.optional("name");
  const YamlNode runs = r.required("runs");
  std::vector<PublishedRun> out(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    PublishedRun& run = out[i];
    MapReader m(runs.item(i));
    m.required("gpu", &YamlNode::as_string, run.gpu);
    m.required("precision", &YamlNode::as_string, run.precision);
    m.required("model", &YamlNode::as_string, run.model);
    m.required("of", &YamlNode::as_string, run.series);
    m.required("billions", &YamlNode::as_number, run.parameters, 1e-3, 1e6);
    m.required("gpus", &YamlNode::as_int, run.gpus, 1, 10'000'000);
    m.required("rate", &YamlNode::as_number, run.flops_per_s, 1, 1e6);
    BUSBAR_RETURN_IF_ERROR(m.finish());
    run.parameters *= 1e9;
    run.flops_per_s *= 1e12;
  }
  BUSBAR_RETURN_IF_ERROR(r.finish());
  return out;
}

std::vector<PublishedRun> runs_like(const std::vector<PublishedRun>& all, const TrainRun& run, std::size_t most) {
  std::vector<std::pair<double, PublishedRun>> found;
  if (run.scenario.model.moe.experts > 0) return {};
  const auto parameters = static_cast<double>(parameter_count(run.scenario.model));
  for (const PublishedRun& p : all) {
    if (p.gpu != run.cluster().gpu_part || p.precision != name_of(run.layout.precision)) continue;
    const double model = std::fabs(std::log(p.parameters / parameters));
    const double gpus = std::fabs(std::log(static_cast<double>(p.gpus) / run.layout.ranks()));
    if (std::max(model, gpus) <= std::log(kMostRatio))
      found.emplace_back(2 * model + gpus, p);  // the model counts most
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PublishedRun> out;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) out.push_back(found[i].second);
  return out;
}

std::string published_words(const std::vector<PublishedRun>& like, const TrainRun& run) {
  std::vector<double> rates;
  for (const PublishedRun& p : like) rates.push_back(p.flops_per_s);
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

Table published_table(const std::vector<PublishedRun>& like) {
  Table t{"Published runs most like this step", {to_left("model"), "GPUs", "TFLOP/s per GPU", to_left("series")}};
  for (const PublishedRun& p : like)
    t.rows.push_back({p.model, std::to_string(p.gpus), tflops(p.flops_per_s), p.series});
  t.note =
      "Model FLOPs with causal attention. The fastest run of each series; their layouts and overlaps differ. "
      "Sources: data/measured/training.csv.";
  return t;
}

}  // namespace busbar
