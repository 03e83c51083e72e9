#include "busbar/workload/internal/pipeline_order.h"

#include <algorithm>

namespace busbar {
namespace {

/// The i-th forward (or backward) pass of a stage: p micro-batches on one chunk, then the same ones on the next chunk.
PipelineStep nth_pass(bool forward, std::uint32_t i, std::uint32_t p, std::uint32_t v) {
  const std::uint32_t round = i / (p * v), chunk = i % (p * v) / p;
  return {.forward = forward,
          .chunk = static_cast<std::uint16_t>(forward ? chunk : v - 1 - chunk),
          .micro_batch = round * p + i % p};
}

}  // namespace

std::uint32_t warmup_steps(std::uint32_t r, std::uint32_t p, std::uint32_t v, std::uint32_t m) {
  const std::uint32_t wanted = v == 1 ? p - 1 - r : 2 * (p - 1 - r) + (v - 1) * p;
  return std::min(wanted, m * v);
}

std::vector<PipelineStep> pipeline_order(std::uint32_t r, std::uint32_t p, std::uint32_t v, std::uint32_t m) {
  const std::uint32_t passes = m * v, warmup = warmup_steps(r, p, v, m);
  // Without interleaving, passes follow the order of micro-batches (m need not be a multiple of p).
  const auto pass = [&](bool forward, std::uint32_t i) {
    return v == 1 ? PipelineStep{forward, 0, i} : nth_pass(forward, i, p, v);
  };
  std::vector<PipelineStep> order;
  order.reserve(2 * passes);
  for (std::uint32_t i = 0; i < warmup; ++i) order.push_back(pass(true, i));
  for (std::uint32_t i = warmup; i < passes; ++i) {
    order.push_back(pass(true, i));
    order.push_back(pass(false, i - warmup));
  }
  for (std::uint32_t i = passes - warmup; i < passes; ++i) order.push_back(pass(false, i));
  return order;
}

std::vector<PipelineStep> gpipe_order(std::uint32_t m) {
  std::vector<PipelineStep> order;
  order.reserve(2ull * m);
  for (std::uint32_t i = 0; i < m; ++i) order.push_back({true, 0, i});
  for (std::uint32_t i = m; i-- > 0;) order.push_back({false, 0, i});
  return order;
}

}  // namespace busbar
