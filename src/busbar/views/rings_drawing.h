// The channels of a communicator as a picture.
#pragma once

#include "busbar/questions/rings_question.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// Draws the first nodes and channels; the note says what is omitted.
report::Drawing draw_rings(const questions::RingsResult& result);

}  // namespace busbar::views
