// An answer as a document: text for the terminal and the page. A view reads the request and the result, and nothing
// else.
//
// The view of a question NAME is the file views/NAME_view.cc with the function `View NAME_view()`; the build collects
// them.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "busbar/questions/question.h"
#include "busbar/report/document.h"

namespace busbar::views {

struct View {
  std::string question;
  std::function<Document(const void* request, const void* result)> document;
};

template <typename Asked, typename Found>
View make_view(std::string question, Document (*document)(const Asked&, const Found&)) {
  return {std::move(question), [document](const void* request, const void* result) {
            return document(*static_cast<const Asked*>(request), *static_cast<const Found*>(result));
          }};
}

/// Without the command line, which its caller knows. Pre: the question has a view; a test asks that all have.
Document view_of(const questions::Answer& answer);
bool has_view(const questions::Question& question);

}  // namespace busbar::views
