#include "busbar/step/gpu_kinds.h"

#include <algorithm>

#include "busbar/spec/kernels_file.h"
#include "busbar/topology/levels.h"
#include "busbar/workload/layer_times.h"

namespace busbar::step {

std::size_t GpuKinds::fastest() const {
  const auto rate = [](const workload::KernelTable& t) { return t.bf16.peak_flops_per_s * t.bf16.sustained_share; };
  const auto slower = [&](const auto& a, const auto& b) { return rate(a) < rate(b); };
  return static_cast<std::size_t>(std::max_element(tables.begin(), tables.end(), slower) - tables.begin());
}

Result<GpuKinds> gpu_kinds(const predict::Predictor& machine, const spec::Catalog& catalog) {
  const topology::Topology& t = machine.cluster().topology;
  GpuKinds out;
  for (std::uint32_t rank = 0; rank < machine.ranks(); ++rank) {
    const std::string& part = t.device_class(machine.placement().gpu(rank)).part;
    const auto known = std::find(out.parts.begin(), out.parts.end(), part);
    out.of_rank.push_back(static_cast<std::uint32_t>(known - out.parts.begin()));
    if (known == out.parts.end()) out.parts.push_back(part);
  }
  if (out.parts.size() < 2) return GpuKinds{};
  for (const std::string& part : out.parts) {
    BUSBAR_ASSIGN(workload::KernelTable table, spec::load_kernels(part, catalog));
    table.scale_up_gpus = topology::scale_up_domain(t).gpus;
    out.tables.push_back(std::move(table));
  }
  return out;
}

namespace {

/// Computing all layers once, forward and backward.
double layer_seconds(const workload::ModelSpec& model, const workload::LayoutSpec& layout,
                     const workload::KernelTable& table) {
  const workload::StepTimes t = workload::step_times(model, layout, table);
  double out = 0;
  const auto both = [](const auto& block) { return (block.forward() + block.backward()).in_s(); };
  for (const workload::LayerTimes& kind : t.kinds) out += both(kind.mixer) + both(kind.mlp);
  return out + both(t.experts);
}

/// Ranks of consecutive stages are so far from each other.
std::uint32_t stride_of_stages(const workload::LayoutSpec& l) {
  const std::uint32_t degrees[] = {l.tp, l.cp, l.dp, l.pp};
  std::uint32_t stride = 1;
  for (const workload::ParallelAxis axis : l.rank_order) {
    if (axis == workload::ParallelAxis::kPp) break;
    stride *= degrees[static_cast<std::size_t>(axis)];
  }
  return stride;
}

}  // namespace

std::vector<double> speeds_of(const GpuKinds& kinds, const workload::ModelSpec& model,
                              const workload::LayoutSpec& layout) {
  std::vector<double> out;
  for (const workload::KernelTable& table : kinds.tables) out.push_back(1 / layer_seconds(model, layout, table));
  const double fastest = out[kinds.fastest()];
  for (double& speed : out) speed = std::min(1.0, speed / fastest);
  return out;
}

workload::LayoutSpec cut_by_speed(const GpuKinds& kinds, const workload::ModelSpec& model,
                                  workload::LayoutSpec layout) {
  const std::vector<double> speeds = speeds_of(kinds, model, layout);
  const std::uint32_t stride = stride_of_stages(layout);
  layout.stage_speed.assign(layout.pp, 1);
  const auto ranks = std::min<std::size_t>(layout.ranks(), kinds.of_rank.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    double& stage = layout.stage_speed[rank / stride % layout.pp];
    stage = std::min(stage, speeds[kinds.of_rank[rank]]);
  }
  if (layout.places.contains("chunk_layers")) return layout;
  workload::LayoutSpec cut = layout;
  cut.split.chunk_layers.clear();
  auto resolved = workload::resolve_layout(std::move(cut), model, 0);
  return resolved.ok() ? std::move(*resolved) : layout;
}

}  // namespace busbar::step
