// An answer as a document: text for the terminal and the page. A view reads the request and the result, and nothing
// else.
//
// The view of a question NAME is the file views/NAME_view.cc with the function `View NAME_view()`; the build collects
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "busbar/questions/question.h"
#include "busbar/report/document.h"

namespace busbar::views {

/// What a document is for. Pictures of a large machine take longer than everything else.
enum class Extent : std::uint8_t { kText, kPage };

struct View {
  std::string question;
  std::function<report::Document(const void* request, const void* result, Extent)> document;
  /// Text of `columns` after the document on a terminal. Null: none.
  std::function<std::string(const void* request, const void* result, int columns)> text{};
  /// Files that the request names and that hold pictures. Null: none.
  std::function<std::vector<questions::OutputFile>(const void* request, const void* result)> files{};

  template <typename Asked, typename Found>
  void add_text(std::string (*f)(const Asked&, const Found&, int)) {
    text = [f](const void* request, const void* result, int columns) {
      return f(*static_cast<const Asked*>(request), *static_cast<const Found*>(result), columns);
    };
  }
  template <typename Asked, typename Found>
  void add_files(std::vector<questions::OutputFile> (*f)(const Asked&, const Found&)) {
    files = [f](const void* request, const void* result) {
      return f(*static_cast<const Asked*>(request), *static_cast<const Found*>(result));
    };
  }
};

template <typename Asked, typename Found>
View make_view(std::string question, report::Document (*document)(const Asked&, const Found&, Extent)) {
  return {std::move(question), [document](const void* request, const void* result, Extent extent) {
            return document(*static_cast<const Asked*>(request), *static_cast<const Found*>(result), extent);
          }};
}
template <typename Asked, typename Found>
View make_view(std::string question, report::Document (*document)(const Asked&, const Found&)) {
  return {std::move(question), [document](const void* request, const void* result, Extent) {
            return document(*static_cast<const Asked*>(request), *static_cast<const Found*>(result));
          }};
}

/// Without the command line, which its caller knows. Pre: the question has a view; a test asks that all have.
report::Document view_of(const questions::Answer& answer, Extent extent = Extent::kPage);
std::string text_after(const questions::Answer& answer, int columns);
/// Writes the files of the answer, and the pictures that the request names. A file "-" is not written.
Status write_files(const questions::Answer& answer);
bool has_view(const questions::Question& question);

}  // namespace busbar::views
