// Pictures of bandwidth against size, and of predictions against measurements.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/predict/prediction.h"
#include "busbar/questions/validate_question.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// Bus bandwidth against size: a curve per algorithm, its accuracy, and the floor. One size only: an empty drawing.
report::Drawing draw_bandwidth(const std::vector<predict::Prediction>& rows, collectives::Collective op, double ranks);
/// Measured and expected bus bandwidth against size, with the band of the expectation.
report::Drawing draw_expectation(const std::vector<accuracy::ExpectedRow>& rows, collectives::Collective op,
                                 double ranks);
/// Each row as a point: measured against predicted, with the lines of equality and of twice and half of it. The nodes
/// with most rows have colours of their own. Rows of several units: those of the most frequent one.
report::Drawing draw_scatter(const std::vector<questions::ValidatedRow>& rows);

}  // namespace busbar::views
