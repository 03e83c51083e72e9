// A question is a value: a request and a result, two plain structs whose fields are listed once (base/record.h). The
// command line, C, Python, a cell of a sweep and the explorer all ask in this way.
//
//   const Question* q = find_question("path");
//   Result<Answer> answer = ask(*q, Json{{"cluster", "dgx-h100"}, {"a", "gpu0"}, {"b", "gpu7"}});
//   std::cout << answer->json().dump(2);
//
// A question NAME is the file questions/NAME_question.cc with the function `Question NAME_question()`; the build
// collects them. Its answer prints nothing, ends nothing and reads nothing but its request and the files that this
// names.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/base/result.h"
#include "busbar/questions/context.h"

namespace busbar::questions {

struct Question;

/// A request and its result.
struct Answer {
  const Question* question = nullptr;
  std::shared_ptr<const void> request, result;  ///< of the types that the question's records describe
  int status = 0;                               ///< as of the command: 0 done, 1 a clean "no"

  /// {"schema": "busbar.path/1", then the fields of the result}.
  Json json() const;
};

struct Question {
  std::string name;      ///< of the command, and in the schema: "path"
  std::string summary;   ///< one line
  std::string examples;  ///< command lines, each "  busbar path ...\n"
  int place = 0;         ///< in the list of commands: lowest first, then by name
  int version = 1;       ///< of the result; raised when a key changes its meaning
  const Record* request = nullptr;
  const Record* result = nullptr;
  std::function<std::shared_ptr<void>()> new_request{};
  std::function<Result<Answer>(std::shared_ptr<const void> request, const Context&)> answer{};

  std::string schema() const;  ///< "busbar.path/1"
};

/// A question of these types, which `answer(const Asked&, const Context&)` next to them answers. A result with a member
/// `exit_status` decides the status.
template <typename Asked, typename Found>
Question make_question(std::string name, std::string summary, std::string examples, int place) {
  Question q{std::move(name), std::move(summary), std::move(examples), place};
  q.request = &record_of(static_cast<const Asked*>(nullptr));
  q.result = &record_of(static_cast<const Found*>(nullptr));
  q.new_request = [] { return std::make_shared<Asked>(); };
  q.answer = [](std::shared_ptr<const void> request, const Context& context) -> Result<Answer> {
    BUSBAR_ASSIGN(Found found, answer(*static_cast<const Asked*>(request.get()), context));
    Answer out;
    if constexpr (requires { found.exit_status; }) out.status = found.exit_status;
    out.request = std::move(request);
    out.result = std::make_shared<const Found>(std::move(found));
    return out;
  };
  return q;
}

/// All questions, in the order of `place`.
const std::vector<Question>& all_questions();
/// Null: there is none of this name.
const Question* find_question(std::string_view name);

/// The answer to a request whose fields `request` sets; the others keep their defaults.
Result<Answer> ask(const Question& question, const Json& request, const Context& context = {});
/// The answer to a request of the question's type.
Result<Answer> ask(const Question& question, std::shared_ptr<const void> request, const Context& context = {});

/// Schemas of a request and of an answer.
Json request_schema(const Question& question);
Json answer_schema(const Question& question);

/// The place of an error in a field of the request.
inline Where field_of(std::string name) { return {"", 0, 0, std::move(name)}; }

/// 16 digits of everything that a result depends on: the fields of the request that decide, `read` (the text of the
/// catalogue) and the contents of all inputs. Names of inputs do not count.
std::string inputs_hash(const std::string& question, const Record& record, const void* request, std::string_view read);
/// The same from the fields as lines of text.
std::string inputs_hash(std::string_view settings, std::string_view read);
template <HasRecord Asked>
std::string inputs_hash(const std::string& question, const Asked& request, std::string_view read) {
  return inputs_hash(question, record_of(&request), &request, read);
}

}  // namespace busbar::questions
