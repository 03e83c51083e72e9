#include "busbar/views/view.h"

#include "busbar/views/internal/collected.h"

namespace busbar::views {
namespace {

const View* find_view(const std::string& question) {
  static const std::vector<View> all = collected_views();
  for (const View& v : all)
    if (v.question == question) return &v;
  return nullptr;
}

}  // namespace

Document view_of(const questions::Answer& answer) {
  const View* const view = find_view(answer.question->name);
  BUSBAR_CHECK(view != nullptr) << answer.question->name;
  return view->document(answer.request.get(), answer.result.get());
}

bool has_view(const questions::Question& question) { return find_view(question.name) != nullptr; }

}  // namespace busbar::views
