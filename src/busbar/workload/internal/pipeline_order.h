// The order in which one pipeline stage processes its micro-batches and model chunks.
#pragma once

#include <cstdint>
#include <vector>

namespace busbar {

struct PipelineStep {
  bool forward = true;
  std::uint16_t chunk = 0;  ///< 0..v-1; chunk c of stage r is virtual stage c x p + r
  std::uint32_t micro_batch = 0;
};

/// 1F1B for v = 1, interleaved 1F1B for v > 1, in Megatron's order, for stage `r` of `p` with `m` micro-batches.
/// Precondition: v = 1 or m divisible by p.
/// Result: 2 m v steps. With equal stages and free communication the pipeline takes (m + (p-1)/v) (F + B).
/// Source: Narayanan et al., SC21 (arXiv:2104.04473), sections 2.2.1 and 2.2.2.
std::vector<PipelineStep> pipeline_order(std::uint32_t r, std::uint32_t p, std::uint32_t v, std::uint32_t m);

/// GPipe: all forward passes, then all backward passes, newest first. Same bubble as 1F1B; all m micro-batches are in
/// flight. Source: Huang et al. 2019 (arXiv:1811.06965), section 2.3.
std::vector<PipelineStep> gpipe_order(std::uint32_t m);

/// Forward passes that stage `r` runs before its first backward pass.
std::uint32_t warmup_steps(std::uint32_t r, std::uint32_t p, std::uint32_t v, std::uint32_t m);

}  // namespace busbar
