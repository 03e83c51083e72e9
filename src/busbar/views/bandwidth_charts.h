// Pictures of bandwidth against size, and of predictions against measurements.
#pragma once

#include <string>
#include <vector>

#include "busbar/accuracy/expect.h"
#include "busbar/predict/prediction.h"
#include "busbar/questions/validate_question.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// Rows of a collective by size.
struct BandwidthRows {
  const std::vector<predict::Prediction>& rows;
  const std::vector<predict::Prediction>& others;  ///< of other algorithms, at some of the sizes
  collectives::Collective op{};
  double ranks = 0;
  std::string choice;  ///< what the rows are: "NCCL's choice"
};
/// Bus bandwidth, and time, against size: a thick line for the rows with their accuracy, a curve per algorithm, and the
/// floor. One size only: an empty drawing.
report::Drawing draw_bandwidth(const BandwidthRows& rows);
report::Drawing draw_times(const BandwidthRows& rows);
/// Times by size, measured as dots.
struct MeasuredTimes {
  std::string title;
  struct Point {
    std::uint64_t bytes = 0;
    double measured_us = 0, predicted_us = 0;  ///< 0: not known
    double before_us = 0;                      ///< predicted before a fit; 0: there is none
  };
  std::vector<Point> points;
  double low_factor = 0, high_factor = 0;  ///< of the band around predictions; 0: none
};
/// One size only: an empty drawing.
report::Drawing draw_measured_times(const MeasuredTimes& times);
/// Measured and expected bus bandwidth against size, with the band of the expectation.
report::Drawing draw_expectation(const std::vector<accuracy::ExpectedRow>& rows, collectives::Collective op,
                                 double ranks);
/// Predicted / measured against size, a point per row with a size; fewer than two sizes: an empty drawing.
report::Drawing draw_errors(const std::vector<questions::ValidatedRow>& rows);
/// Each row as a point: measured against predicted, with the lines of equality and of twice and half of it. The nodes
/// with most rows have colours of their own. Rows of several units: those of the most frequent one.
report::Drawing draw_scatter(const std::vector<questions::ValidatedRow>& rows);

}  // namespace busbar::views
