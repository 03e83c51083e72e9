// Words in a picture.
#pragma once

#include <string>

#include "busbar/report/document.h"
#include "busbar/report/style.h"

namespace busbar::report {

/// A line of text whose middle is at height y, and which `anchor` puts left of x, right of it or around it.
Shape text_shape(double x, double y, std::string words, int tone = colour::kInk, Anchor anchor = Anchor::kMiddle,
                 double size = 12);

}  // namespace busbar::report
