#include "busbar/workload/batch.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <optional>

namespace busbar::workload {
namespace {

constexpr std::uint64_t kMostSequencesOfStep = 1u << 30;
constexpr std::uint64_t kNear = 16;  ///< rounding changes the number by at most one part in so many

std::uint64_t nearest_multiple(std::uint64_t n, std::uint64_t unit) {
  return std::max<std::uint64_t>(1, (n + unit / 2) / unit) * unit;
}

/// The multiple of `odd` near `n` with the most factors of two; nothing if none is near.
std::optional<std::uint64_t> round_number(std::uint64_t n, std::uint64_t odd) {
  for (std::uint64_t unit = odd * std::bit_floor(std::max<std::uint64_t>(1, 2 * n / odd)); unit >= odd; unit /= 2) {
    const std::uint64_t m = nearest_multiple(n, unit);
    if ((m > n ? m - n : n - m) * kNear <= n) return m;
  }
  return std::nullopt;
}

/// What every batch must be a multiple of.
std::uint64_t batch_unit(const LayoutSpec& l) {
  const bool interleaved = l.vpp > 1 && l.schedule == PipelineSchedule::k1F1B;
  return std::uint64_t{l.dp} * l.batch.micro * (interleaved ? l.pp : 1);
}

/// The least that the schedule can run.
std::uint64_t least_batch(const LayoutSpec& l) {
  const std::uint64_t stages = l.schedule == PipelineSchedule::kDualPipeV ? 2 * l.pp : l.goes_back() ? l.pp : 1;
  return std::max(batch_unit(l), std::uint64_t{l.dp} * l.batch.micro * stages);
}

}  // namespace

UsualBatch usual_batch(const ModelSpec& model, std::uint32_t seq, std::uint32_t gpus) {
  const bool published = model.recipe.batch_tokens > 0;
  const std::uint64_t tokens = published ? model.recipe.batch_tokens : kUsualTokens;
  const std::uint64_t sequences = std::max<std::uint64_t>(1, tokens / std::max(1u, seq));
  const std::uint64_t odd = gpus == 0 ? 1 : gpus >> std::countr_zero(gpus);
  const std::uint64_t rounded = std::min(round_number(sequences, odd).value_or(sequences), kMostSequencesOfStep);
  return {static_cast<std::uint32_t>(rounded),
          published ? fmt::format("as published for {} ({})", model.name, model.recipe.source)
                    : fmt::format("about 4 M tokens, as no batch is published for {}", model.name)};
}

void fill_batch(LayoutSpec& layout, const ModelSpec& model, std::uint32_t gpus) {
  if (layout.batch.global > 0) return;
  UsualBatch usual = usual_batch(model, layout.batch.seq, gpus);
  layout.batch.global = usual.sequences;
  layout.batch.basis = std::move(usual.basis);
}

Status fill_batch_of_degrees(LayoutSpec& layout, const ModelSpec& model, std::uint32_t gpus) {
  if (layout.batch.global > 0) return {};
  fill_batch(layout, model, gpus);
  const std::uint64_t usual = layout.batch.global, least = least_batch(layout);
  const std::uint64_t batch = std::max(nearest_multiple(usual, batch_unit(layout)), least);
  if (batch > kMostSequencesOfStep) return invalid(fmt::format("{} is too large", batch), layout.place("global_batch"));
  if ((batch > usual ? batch - usual : usual - batch) * kNear > usual)
    layout.batch.basis += fmt::format("; {} instead of {} so that {} replicas share it", batch, usual, layout.dp);
  layout.batch.global = static_cast<std::uint32_t>(batch);
  return {};
}

std::vector<std::uint32_t> document_pieces(const Batch& batch) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t length : batch.documents) {
    for (std::uint32_t rest = length; rest > 0; rest -= out.back()) out.push_back(std::min(rest, batch.seq));
  }
  if (out.empty()) out.push_back(batch.seq);
  return out;
}

}  // namespace busbar::workload
