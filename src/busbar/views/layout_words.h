// Layouts in tables.
#pragma once

#include <string>

#include "busbar/report/document.h"
#include "busbar/step/train_run.h"
#include "busbar/workload/layout.h"

namespace busbar::views {

/// "TP 4 PP 2 DP 8 ZeRO-1".
std::string short_layout(const workload::LayoutSpec& layout);
/// "none", "full", or what is recomputed alone: "act, layernorm".
std::string recompute_words(const workload::LayoutSpec& layout);
/// "64 of 72 GPUs per domain, 8 idle (spares)"; empty: all take part.
std::string domain_words(const step::TrainRun& machine);
/// Empty, with columns for layout, step, MFU, memory and price, and a last one in words.
report::Table table_of_layouts(std::string title, std::string last);

}  // namespace busbar::views
