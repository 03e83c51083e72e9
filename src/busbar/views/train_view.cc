// A training step, or the same step over sizes, batches or layouts.
#include "busbar/questions/train_question.h"
#include "busbar/views/batches_document.h"
#include "busbar/views/lists_document.h"
#include "busbar/views/scale_document.h"
#include "busbar/views/step_document.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

report::Document document_of(const questions::TrainStep& step) { return step_document(step); }
report::Document document_of(const questions::ScaleAnswer& sizes) { return scale_document(sizes.runs); }
report::Document document_of(const questions::BatchesAnswer& batches) { return batches_document(batches.run); }
report::Document document_of(const questions::ListsAnswer& lists) { return lists_document(lists); }

report::Document train_document(const questions::TrainRequest&, const questions::TrainResult& result) {
  return std::visit([](const auto& one) { return document_of(one); }, result);
}

}  // namespace

View train_view() { return make_view("train", train_document); }

}  // namespace busbar::views
