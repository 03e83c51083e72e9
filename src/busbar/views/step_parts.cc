#include "busbar/views/step_parts.h"

#include <fmt/core.h>

#include "busbar/report/style.h"

namespace busbar {
namespace {

constexpr StepPart kStepParts[] = {
    {"compute", "compute", colour::kCompute},     {"exposed_tp", "exposed TP", colour::kTp},
    {"exposed_dp", "exposed DP", colour::kDp},    {"exposed_pp", "exposed PP", colour::kPp},
    {"exposed_cp", "exposed CP", colour::kCp},    {"exposed_ep", "exposed EP", colour::kEp},
    {"bubble", "pipeline bubble", colour::kIdle}, {"optimizer", "optimizer", colour::kOptimizer},
    {"other", "other", colour::kOther},           {"slowest_gpu", "slowest GPU", colour::kFloor}};

}  // namespace

std::span<const StepPart> step_parts() { return kStepParts; }

void add_batch_words(const LayoutSpec& l, Document& d) {
  if (l.batch.basis.empty()) return;
  d.add(Paragraph{
      fmt::format("Global batch {} sequences: {}. Set another with --global-batch.", l.batch.global, l.batch.basis)});
}

std::span<const int> memory_colours() {
  static constexpr int kColours[] = {colour::kCompute, colour::kTp, colour::kOptimizer, colour::kDp,   colour::kPp,
                                     colour::kIdle,    colour::kCp, colour::kEp,        colour::kIdle, colour::kOther};
  return kColours;
}

Bar breakdown_bar(std::string name, const Breakdown& b) {
  Bar bar{std::move(name), {}};
  for (const auto& [part, d] : breakdown_rows(b))
    for (const StepPart& p : step_parts())
      if (part == p.key && d > Duration()) bar.parts.push_back({p.words, d.in_s(), p.colour});
  return bar;
}

}  // namespace busbar
