// The measured step over the predicted one, as pictures.
#pragma once

#include <vector>

#include "busbar/report/document.h"
#include "busbar/step/traced_step.h"

namespace busbar::views {

/// Both steps on one axis; where the measured one takes longer and shorter; the ten largest differences. Empty where
/// there is nothing to compare.
std::vector<report::BlockElement> overlay_blocks(const step::TracedStepGap& gap);

}  // namespace busbar::views
