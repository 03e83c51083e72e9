// A predicted step as a document.
#pragma once

#include "busbar/questions/train_question.h"
#include "busbar/report/document.h"

namespace busbar::views {

report::Document step_document(const questions::TrainStep& step);

}  // namespace busbar::views
