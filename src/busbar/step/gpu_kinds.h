// Machines with GPUs of several kinds: what the stages of a layout run on.
//
//   BUSBAR_ASSIGN(const GpuKinds kinds, gpu_kinds(machine, catalog));
//   if (kinds.any()) layout = cut_by_speed(kinds, model, layout);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/predict/predictor.h"
#include "busbar/spec/catalog.h"
#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"

namespace busbar::step {

struct GpuKinds {
  std::vector<std::string> parts;             ///< of the catalogue, in the order of ranks; empty: one kind
  std::vector<workload::KernelTable> tables;  ///< of each part
  std::vector<std::uint32_t> of_rank;         ///< its part
  bool any() const { return !parts.empty(); }
  /// The one with the fastest matrix products under load.
  std::size_t fastest() const;
};

/// Empty for a machine of one kind.
Result<GpuKinds> gpu_kinds(const predict::Predictor& machine, const spec::Catalog& catalog);

/// How fast each kind computes a layer of the model, against the fastest.
std::vector<double> speeds_of(const GpuKinds& kinds, const workload::ModelSpec& model,
                              const workload::LayoutSpec& layout);

/// Sets stage_speed: all GPUs of a stage and its replicas wait for the slowest. Layers are cut by it unless the layout
/// says how. Precondition: `layout` is resolved.
workload::LayoutSpec cut_by_speed(const GpuKinds& kinds, const workload::ModelSpec& model, workload::LayoutSpec layout);

}  // namespace busbar::step
