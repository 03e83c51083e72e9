// A machine fitted to measured results.
#pragma once

#include <string>
#include <vector>

#include "busbar/questions/expect_question.h"
#include "busbar/questions/question.h"

namespace busbar::questions {

struct CalibrateRequest {
  MeasuredRequest measured;
  std::string overlay;  ///< file to write
};
const Record& record_of(const CalibrateRequest*);

struct MedianError {
  double median_abs_percent = 0;
};
const Record& record_of(const MedianError*);

struct CalibrateResult {
  std::string cluster;
  MedianError before, after;
  double share = 1, latency_factor = 1, launch_us = 0;
  std::string verdict, why, overlay, inputs_hash;
  int exit_status = 0;
  std::vector<OutputFile> files;
};
const Record& record_of(const CalibrateResult*);

Result<CalibrateResult> answer(const CalibrateRequest& request, const Context& context = {});

}  // namespace busbar::questions
