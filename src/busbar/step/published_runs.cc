#include "busbar/step/published_runs.h"

#include <algorithm>
#include <cmath>

#include "busbar/spec/reading.h"

namespace busbar::step {
namespace {

constexpr double kMostRatio = 4;  // of parameters and of GPUs

}  // namespace

Result<std::vector<PublishedRun>> load_published_runs(const spec::Catalog& catalog) {
  BUSBAR_ASSIGN(const YamlDocument file, catalog.load("accuracy", "published"));
  MapReader r = spec::sourced(file.root());
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
  const auto parameters = static_cast<double>(workload::parameter_count(run.scenario.model));
  for (const PublishedRun& p : all) {
    if (p.gpu != run.cluster().gpu_part || p.precision != workload::name_of(run.layout.precision)) continue;
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

}  // namespace busbar::step
