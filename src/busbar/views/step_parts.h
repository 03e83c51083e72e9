// The parts of a step and of its memory in pictures.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "busbar/report/document.h"
#include "busbar/step/breakdown.h"
#include "busbar/step/train_run.h"
#include "busbar/workload/layout.h"

namespace busbar::views {

/// The parts of a step as pages and tables show them.
struct StepPart {
  const char* key;    ///< of Breakdown in JSON: "exposed_tp"
  const char* words;  ///< "exposed TP"
  int colour;
};
std::span<const StepPart> step_parts();
std::string_view words_of_part(std::string_view key);
/// The parts that are not zero, in seconds.
report::Bar breakdown_bar(std::string name, const step::Breakdown& b);
/// The colours of memory_parts(), in their order.
std::span<const int> memory_colours();
/// The verdict on a step; on a page the figures of one that does not fit are struck.
report::Highlight step_highlight(const step::TrainRun& run);
/// Which batch was chosen, and why, unless it was given.
void add_batch_words(const workload::LayoutSpec& layout, report::Document& document);

}  // namespace busbar::views
