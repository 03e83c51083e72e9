// How a question predicts collectives: the library's settings, and how collectives start.
#pragma once

#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/predict/predict_options.h"

namespace busbar::predict {

const Record& record_of(const PredictOptions*);

}  // namespace busbar::predict

namespace busbar::questions {

/// `fields` of PredictOptions with the behaviour without `launch` in its help, in a few words.
std::vector<Field> with_default_launch(std::vector<Field> fields, const std::string& launch);

/// The fields of `predict`. `launch`: the behaviour without this field, in a few words.
template <typename Asked>
std::vector<Field> predict_fields(predict::PredictOptions Asked::*predict, const std::string& launch) {
  return with_default_launch(fields_inside(predict), launch);
}
/// How frameworks start collectives, for the `launch` of questions about steps.
inline constexpr const char* kLaunchOfFrameworks = "as the framework: process, or graph with layout.cuda_graphs";

}  // namespace busbar::questions
