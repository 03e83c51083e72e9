#include "busbar/views/view.h"

#include "busbar/base/output.h"
#include "busbar/views/internal/collected.h"

namespace busbar::views {
namespace {

const View* find_view(const std::string& question) {
  static const std::vector<View> all = collected_views();
  for (const View& v : all)
    if (v.question == question) return &v;
  return nullptr;
}

const View& known_view(const questions::Answer& answer) {
  const View* const view = find_view(answer.question->name);
  BUSBAR_CHECK(view != nullptr) << answer.question->name;
  return *view;
}

}  // namespace

report::Document view_of(const questions::Answer& answer, Extent extent) {
  return known_view(answer).document(answer.request.get(), answer.result.get(), extent);
}

std::string text_after(const questions::Answer& answer, int columns) {
  const View& view = known_view(answer);
  return view.text ? view.text(answer.request.get(), answer.result.get(), columns) : "";
}

Status write_files(const questions::Answer& answer) {
  std::vector<questions::OutputFile> pictures;
  if (const View& view = known_view(answer); view.files)
    pictures = view.files(answer.request.get(), answer.result.get());
  for (const auto* files : {answer.files, &std::as_const(pictures)}) {
    if (files == nullptr) continue;
    for (const questions::OutputFile& f : *files)
      if (f.path != "-") BUSBAR_RETURN_IF_ERROR(write_file(f.path, f.text));
  }
  return {};
}

bool has_view(const questions::Question& question) { return find_view(question.name) != nullptr; }

}  // namespace busbar::views
