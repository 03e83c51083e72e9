#include "busbar/views/step_parts.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/questions/step_words.h"
#include "busbar/report/style.h"

namespace busbar::views {
namespace {

constexpr StepPart kStepParts[] = {
    {"compute", "compute", report::colour::kCompute},     {"exposed_tp", "exposed TP", report::colour::kTp},
    {"exposed_dp", "exposed DP", report::colour::kDp},    {"exposed_pp", "exposed PP", report::colour::kPp},
    {"exposed_cp", "exposed CP", report::colour::kCp},    {"exposed_ep", "exposed EP", report::colour::kEp},
    {"bubble", "pipeline bubble", report::colour::kIdle}, {"optimizer", "optimizer", report::colour::kOptimizer},
    {"other", "other", report::colour::kOther},           {"slowest_gpu", "slowest GPU", report::colour::kFloor}};

}  // namespace

std::span<const StepPart> step_parts() { return kStepParts; }

std::string_view words_of_part(std::string_view key) {
  const auto it =
      std::find_if(std::begin(kStepParts), std::end(kStepParts), [&](const auto& p) { return key == p.key; });
  return it == std::end(kStepParts) ? key : it->words;
}

report::Highlight step_highlight(const step::TrainRun& r) {
  return {questions::step_verdict(r),
          r.does_not_fit ? questions::step_figures(r.step.step_time.in_s(), r.metrics.mfu) : ""};
}

void add_batch_words(const workload::LayoutSpec& l, report::Document& d) {
  if (l.batch.basis.empty()) return;
  d.add(report::Paragraph{
      fmt::format("Global batch {} sequences: {}. Set another with --global-batch.", l.batch.global, l.batch.basis)});
}

std::span<const int> memory_colours() {
  static constexpr int kColours[] = {report::colour::kCompute, report::colour::kTp, report::colour::kOptimizer,
                                     report::colour::kDp,      report::colour::kPp, report::colour::kIdle,
                                     report::colour::kCp,      report::colour::kEp, report::colour::kIdle,
                                     report::colour::kOther};
  return kColours;
}

report::Bar breakdown_bar(std::string name, const step::Breakdown& b) {
  report::Bar bar{std::move(name), {}};
  for (const auto& [part, d] : step::breakdown_rows(b))
    for (const StepPart& p : step_parts())
      if (part == p.key && d > Duration()) bar.parts.push_back({p.words, d.in_s(), p.colour});
  return bar;
}

}  // namespace busbar::views
