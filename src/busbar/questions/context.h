// What a caller lends to an answer.
#pragma once

#include <functional>
#include <string>

#include "busbar/base/context.h"
#include "busbar/base/result.h"

namespace busbar {

class KeptMachines;

namespace questions {

struct Context : busbar::Context {
  KeptMachines* kept = nullptr;  ///< machines that are ready; null: none
  /// Shows a text to a person and gives the line that this person types. Empty: there is none to ask.
  std::function<Result<std::string>(const std::string& text)> prompt = {};
};

}  // namespace questions
}  // namespace busbar
