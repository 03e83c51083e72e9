// Kernels that exchange the tokens of experts: what they take of a GPU, how fast they are, and how much of them the
// computation of another micro-batch can hide.
#pragma once

#include "busbar/workload/kernels.h"
#include "busbar/workload/layout.h"
#include "busbar/workload/model.h"

namespace busbar::workload {

struct ExpertKernelCosts {
  double cores = 0;      ///< SMs that they have
  double slowdown = 1;   ///< time against that with as many SMs as they can use
  double near_rate = 1;  ///< of single tokens inside an NVLink domain, relative to NCCL's all-to-all of large messages
};
/// `one_domain`: all ranks of a group are in one scale-up domain.
ExpertKernelCosts expert_kernel_costs(const LayoutSpec& layout, bool one_domain);

/// What running collectives take of the GPU in a step with this layout: KernelTable::contention, where exchanges of
/// experts take the SMs of their kernels.
Contention contention_in(const LayoutSpec& layout, const KernelTable& kernels);

/// Share of the exchanges of a pass that run while another micro-batch computes: ExpertRun::overlap, or what a pair of
/// passes over `layers` layers with experts can hide. Each pass exchanges twice per layer. Of these 4 x layers the last
/// one has nothing left of its pair to run next to: 1 - 1 / (4 x layers).
double overlapped_share(const ExpertRun& experts, std::uint32_t layers);

}  // namespace busbar::workload
