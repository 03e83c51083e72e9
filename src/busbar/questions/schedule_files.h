// Schedules of predictions as files of other programs.
#pragma once

#include <string>
#include <vector>

#include "busbar/predict/predictor.h"
#include "busbar/questions/question.h"

namespace busbar::questions {

/// The schedule of the summary's row as MSCCL XML or as a plan of MSCCL++ (.json) for the timed sizes; the messages of
/// its size as GOAL or as a Chakra trace (.et, a file per rank); its flows as CSV; or the picks of all sizes for NCCL's
/// tuner (.conf).
Result<std::vector<OutputFile>> schedule_files(const std::string& file, const predict::Predictor& machine,
                                               const std::vector<predict::Prediction>& rows);

}  // namespace busbar::questions
