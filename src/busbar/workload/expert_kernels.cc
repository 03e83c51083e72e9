#include "busbar/workload/expert_kernels.h"

#include <algorithm>

namespace busbar::workload {
namespace {

// Rate of kernels that exchange single tokens inside an NVLink domain, relative to NCCL's all-to-all of large messages:
// the median of ten. Sources: deepseek-ai/DeepEP README, EP 8 (H800; SM100 with 24 and 64 SMs);
// ai-dynamo/aiconfigurator
// @095f58a, 4,096 tokens of 7,168 elements (H100 DeepEP with 20 SMs, GB200 TensorRT-LLM over 8 and 64 GPUs): 0.66 to
// 0.94.
constexpr double kTokenRate = 0.82;
// DeepEP V2 (deepseek-ai/DeepEP pull request 605, April 2026), SM100, EP 8 on NVLink with 24 SMs: 643 and 675 GB/s,
// where NCCL's all-to-all reaches 698.
constexpr double kGinTokenRate = 0.94;

// SMs. DeepEP: kExchangeCores; its time falls with 1 / SMs up to there (aiconfigurator @095f58a, H100, 4,096 tokens: 4
// SMs 2,068 us, 12: 754, 20: 492, 24: 498). HybridEP: 16 by default (pytorch/torchtitan pull request 2207). DeepEP V2:
// 6 over the network, "4 to 6" for training like DeepSeek-V3, and 24 inside an NVLink domain (pull request 605).
constexpr double kHybridCores = 16, kGinCores = 6, kGinNearCores = 24;

}  // namespace

ExpertKernelCosts expert_kernel_costs(const LayoutSpec& layout, bool one_domain) {
  const ExpertRun& e = layout.experts;
  double useful = kExchangeCores;
  if (e.kernels == ExpertKernels::kHybridEp) useful = kHybridCores;
  if (e.kernels == ExpertKernels::kGin) useful = one_domain ? kGinNearCores : kGinCores;
  const double given = e.cores > 0 ? e.cores : useful;
  return {given, std::max(1.0, useful / given), e.kernels == ExpertKernels::kGin ? kGinTokenRate : kTokenRate};
}

Contention contention_in(const LayoutSpec& layout, const KernelTable& kernels) {
  constexpr double kMost = 0.5;
  Contention out = kernels.contention;
  const bool usual = layout.experts.kernels == ExpertKernels::kOfExchange && layout.experts.cores == 0;
  if (kernels.cores == 0 || usual) return out;
  const bool one_domain = layout.ep * layout.expert_tensor() <= kernels.scale_up_gpus;
  out.ep = std::min(kMost, expert_kernel_costs(layout, one_domain).cores / kernels.cores);
  return out;
}

double overlapped_share(const ExpertRun& experts, std::uint32_t layers) {
  if (!experts.computed_overlap) return experts.overlap;
  return layers == 0 ? 0 : 1 - 1 / (4.0 * layers);
}

}  // namespace busbar::workload
