#include "busbar/workload/internal/pipeline_order.h"

#include <algorithm>

namespace busbar::workload {
namespace {

/// The i-th forward (or backward) pass of a stage: p micro-batches on one chunk, then the same ones on the next chunk.
PipelineStep nth_pass(bool forward, std::uint32_t i, std::uint32_t p, std::uint32_t v) {
  const std::uint32_t round = i / (p * v), chunk = i % (p * v) / p;
  return {forward, static_cast<std::uint16_t>(forward ? chunk : v - 1 - chunk), round * p + i % p};
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

std::vector<PipelineStep> zb_h1_order(std::uint32_t r, std::uint32_t p, std::uint32_t m) {
  std::vector<PipelineStep> order;
  order.reserve(3ull * m);
  const std::uint32_t warmup = std::min(p - 1 - r, m);
  for (std::uint32_t i = 0; i < warmup; ++i) order.push_back({true, 0, i});
  for (std::uint32_t i = 0; i < m; ++i) {
    if (i + warmup < m) order.push_back({true, 0, i + warmup});
    order.push_back({false, 0, i, BackwardPart::kInput});
    if (i >= r) order.push_back({false, 0, i - r, BackwardPart::kWeights});
  }
  for (std::uint32_t i = m - std::min(r, m); i < m; ++i) order.push_back({false, 0, i, BackwardPart::kWeights});
  return order;
}

namespace {

/// Writes passes of two chunks, each chunk's in the order of micro-batches, and none beyond the last micro-batch.
class TwoChunks {
 public:
  explicit TwoChunks(std::uint32_t m) : m_(m) { order.reserve(6ull * m); }
  bool forward(std::uint16_t chunk) { return add(forward_[chunk], {true, chunk}); }
  bool input(std::uint16_t chunk) { return add(input_[chunk], {false, chunk, 0, BackwardPart::kInput}); }
  bool weights(std::uint16_t chunk) { return add(weights_[chunk], {false, chunk, 0, BackwardPart::kWeights}); }
  void backward(std::uint16_t chunk) {
    if (input(chunk)) weights(chunk);
  }
  /// A backward pass whose gradient leaves at its end.
  void whole(std::uint16_t chunk) {
    input(chunk);
    order.back().holds = true;
    weights(chunk);
  }
  bool forward_left() const { return forward_[1] < m_; }
  /// A forward pass of `chunk` with a backward pass of the other one.
  void pair(std::uint16_t chunk) {
    const std::uint16_t other = 1 - chunk;
    forward(chunk);
    order.back().holds = true;
    order.back().other_micro_batch = input_[other];
    input(other);
    order.back().holds = true;
    weights(other);
    for (std::size_t i = order.size() - 3; i < order.size(); ++i) order[i].pair = true;
  }
  std::vector<PipelineStep> order;

 private:
  bool add(std::uint32_t& next, PipelineStep step) {
    if (next == m_) return false;
    step.micro_batch = next++;
    order.push_back(step);
    return true;
  }
  std::uint32_t m_, forward_[2] = {}, input_[2] = {}, weights_[2] = {};
};

}  // namespace

std::vector<PipelineStep> zb_v_order(std::uint32_t r, std::uint32_t p, std::uint32_t m) {
  TwoChunks out(m);
  // Until the first micro-batch is back from the last stage, this stage fills the way there and back.
  for (std::uint32_t i = 0; i < 2 * (p - r) - 1; ++i) out.forward(0);
  for (std::uint32_t i = 0; i < r; ++i) {
    out.forward(1);
    out.forward(0);
  }
  for (std::uint32_t i = 0; i < p - r; ++i) {
    if (out.forward(1)) out.backward(1);
  }
  while (out.forward_left()) {
    out.forward(0);
    out.backward(0);
    if (out.forward(1)) out.backward(1);
  }
  // Input gradients hurry to the first stage; weight gradients fill the gaps.
  for (std::uint32_t i = 0; i < r; ++i) {
    out.input(0);
    out.input(1);
  }
  for (std::uint32_t i = 0; i < p - r; ++i) out.backward(0);
  while (out.input(0)) {
  }
  while (out.weights(1)) {
  }
  while (out.weights(0)) {
  }
  return std::move(out.order);
}

std::vector<PipelineStep> dual_pipe_v_order(std::uint32_t r, std::uint32_t p, std::uint32_t m) {
  TwoChunks out(m);
  const std::uint32_t before = r + 1, after = p - r - 1;  // stages up to this one, and after it
  for (std::uint32_t i = 0; i < 2 * after; ++i) out.forward(0);
  for (std::uint32_t i = 0; i < before; ++i) {
    out.forward(0);
    out.forward(1);
  }
  for (std::uint32_t i = 0; i < after; ++i) {
    out.backward(1);
    out.forward(1);
  }
  for (std::uint32_t i = 0; i < m - 2 * p + before; ++i) {
    out.pair(0);
    out.pair(1);
  }
  for (std::uint32_t i = 0; i < after; ++i) {
    out.whole(1);
    out.pair(1);
  }
  // From the middle of these on, gradients of weights are left for the end.
  std::vector<std::uint16_t> left;
  const auto either = [&](std::uint16_t chunk, bool leave) {
    if (!leave) return out.whole(chunk);
    out.input(chunk);
    left.push_back(chunk);
  };
  for (std::uint32_t i = 0; i < before; ++i) {
    either(1, r % 2 == 1 ? i >= before / 2 : i > before / 2);
    either(0, i >= before / 2);
  }
  for (std::uint32_t i = 0; i < after; ++i) {
    out.weights(left[i]);
    either(0, true);
  }
  for (std::uint32_t i = after; i < left.size(); ++i) out.weights(left[i]);
  return std::move(out.order);
}

namespace {

std::vector<PipelineStep> order_of(const LayoutSpec& l, std::uint32_t stage, std::uint32_t micro_batches) {
  switch (l.schedule) {
    case PipelineSchedule::kGPipe:
      return gpipe_order(micro_batches);
    case PipelineSchedule::kZbH1:
      return zb_h1_order(stage, l.pp, micro_batches);
    case PipelineSchedule::kZbV:
      return zb_v_order(stage, l.pp, micro_batches);
    case PipelineSchedule::kDualPipeV:
      return dual_pipe_v_order(stage, l.pp, micro_batches);
    case PipelineSchedule::k1F1B:
      break;
  }
  return pipeline_order(stage, l.pp, l.vpp, micro_batches);
}

}  // namespace

std::vector<PipelineStep> order_of(const LayoutSpec& l, std::uint32_t stage) {
  return order_of(l, stage, l.micro_batches());
}

double most_kept(const std::vector<PipelineStep>& order, const std::vector<double>& bytes) {
  double now = 0, most = 0;
  for (const PipelineStep& s : order) {
    if (s.forward) most = std::max(most, now += bytes[s.chunk]);
    if (!s.forward && s.part != BackwardPart::kInput) now -= bytes[s.chunk];
  }
  return most;
}

double most_kept(const LayoutSpec& l, std::uint32_t stage, const std::vector<double>& bytes) {
  const std::uint32_t m = l.micro_batches(), enough = 4 * l.pp;
  const bool more_of_the_same = l.schedule != PipelineSchedule::kGPipe && m > enough;
  return most_kept(order_of(l, stage, more_of_the_same ? enough + m % l.pp : m), bytes);
}

}  // namespace busbar::workload
