// The order in which one pipeline stage processes its micro-batches and model chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/workload/layout.h"

namespace busbar::workload {

/// The part of a backward pass: the whole, or the gradients of inputs first and those of weights later.
enum class BackwardPart : std::uint8_t { kWhole, kInput, kWeights };

struct PipelineStep {
  bool forward = true;
  std::uint16_t chunk = 0;  ///< 0..v-1; LayoutSpec::virtual_stage() says where in the model it stands
  std::uint32_t micro_batch = 0;
  BackwardPart part = BackwardPart::kWhole;
  bool pair = false;  ///< of a forward and a backward pass that run together, when the input of both is there
  std::uint32_t other_micro_batch = 0;  ///< of a forward pass in a pair: of the backward pass, which is the next step
  bool holds = false;                   ///< what it sends leaves at the end of the next step that does not hold
  bool operator==(const PipelineStep&) const = default;
};

/// 1F1B for v = 1, interleaved 1F1B for v > 1, in Megatron's order, for stage `r` of `p` with `m` micro-batches.
/// Precondition: v = 1 or m divisible by p.
/// Result: 2 m v steps. With equal stages and free communication the pipeline takes (m + (p-1)/v) (F + B).
/// Source: Narayanan et al., SC21 (arXiv:2104.04473), sections 2.2.1 and 2.2.2.
std::vector<PipelineStep> pipeline_order(std::uint32_t r, std::uint32_t p, std::uint32_t v, std::uint32_t m);

/// GPipe: all forward passes, then all backward passes, newest first. Same bubble as 1F1B; all m micro-batches are in
/// flight. Source: Huang et al. 2019 (arXiv:1811.06965), section 2.3.
std::vector<PipelineStep> gpipe_order(std::uint32_t m);

/// ZB-H1: 1F1B in which stage r runs the weight gradients of a micro-batch after the input gradients of the r-th
/// micro-batch after it. All stages have at most p micro-batches in flight.
/// With equal stages, free communication and times F, B (inputs) and W (weights): m (F + B + W) + (p-1) (F + B - W).
/// Source: Qi et al. 2023 (arXiv:2401.10241), section 2.3.
std::vector<PipelineStep> zb_h1_order(std::uint32_t r, std::uint32_t p, std::uint32_t m);

/// ZB-V: two chunks per stage; the second chunks are in reverse order of stages, so the last pass of a micro-batch is
/// on its first stage. At most 2 p chunks are in flight. Precondition: m >= p.
/// With equal stages, free communication, F = B = W and m >= 2 p - 1: 3 m F + (p-1) F / 2, no stage ever waits.
/// Source: Qi et al. 2023 (arXiv:2401.10241), section 6; torch.distributed.pipelining, ScheduleZBVZeroBubble.
std::vector<PipelineStep> zb_v_order(std::uint32_t r, std::uint32_t p, std::uint32_t m);

/// DualPipeV ("cut in half" DualPipe): chunks as in ZB-V. In between a forward pass of one chunk and a backward pass of
/// the other are one; what both send leaves at their end. Precondition: m >= 2 p.
/// With equal stages, free communication and times F, B (inputs) and W of a chunk: 2 m (F + B + W) + (p-1) (F + 2 B -
/// W). DualPipe over 2 p stages is the same work: each half of its stages is such a pipeline for half of the
/// micro-batches. Source: DeepSeek-V3 (arXiv:2412.19437), section 3.2.1; github.com/deepseek-ai/DualPipe, dualpipev.py
/// and the table of bubbles, (PP/2-1) (F&B + B - 3W) with PP = 2 p and B of both parts.
std::vector<PipelineStep> dual_pipe_v_order(std::uint32_t r, std::uint32_t p, std::uint32_t m);

/// The order of `stage` in this layout.
std::vector<PipelineStep> order_of(const LayoutSpec& layout, std::uint32_t stage);

/// The most bytes kept at once, if a pass of chunk c keeps `bytes[c]`.
double most_kept(const std::vector<PipelineStep>& order, const std::vector<double>& bytes);
/// The same of `stage` in this layout. Passes in between the first and the last repeat themselves, so no more than 5 p
/// micro-batches are looked at.
double most_kept(const LayoutSpec& layout, std::uint32_t stage, const std::vector<double>& bytes);

/// Forward passes that stage `r` runs before its first backward pass.
std::uint32_t warmup_steps(std::uint32_t r, std::uint32_t p, std::uint32_t v, std::uint32_t m);

}  // namespace busbar::workload
