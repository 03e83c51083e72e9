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
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/base/result.h"
#include "busbar/questions/context.h"

namespace busbar::questions {

struct Question;

/// A file that a request names.
struct OutputFile {
  std::string path;  ///< "-": instead of everything else that a command prints
  std::string text;
};

/// A request and its result.
struct Answer {
  const Question* question = nullptr;
  std::shared_ptr<const void> request, result;  ///< of the types that the question's records describe
  const Record* record = nullptr;               ///< of the fields of the result
  const void* data = nullptr;    ///< `result`, or what it holds where a question has results of several kinds
  int status = 0;                ///< as of the command: 0 done, 1 a clean "no"
  std::optional<Error> refused;  ///< why the status is 1, for who sees only the data
  Json run;                      ///< what differs between runs besides their seconds; null: nothing
  bool silent = false;           ///< there is nothing to show: another process has the answer
  std::string last_words;        ///< after the text on a terminal: "trace: FILE"
  const std::vector<OutputFile>* files = nullptr;  ///< not written yet; null: none

  /// {"schema": "busbar.path/1", then the fields of the result}.
  Json json() const;
  /// The list that is written row by row; null: none.
  const Field* rows() const;
  /// json() with 0 for that list.
  Json json_without_rows() const;
};

struct Question {
  std::string name;      ///< of the command, and in the schema: "path"
  std::string summary;   ///< one line
  std::string examples;  ///< command lines, each "  busbar path ...\n"
  int place = 0;         ///< in the list of commands: lowest first, then by name
  int version = 1;       ///< of the result; raised when a key changes its meaning
  const Record* request = nullptr;
  std::vector<const Record*> results{};  ///< one for each kind of result
  std::function<std::shared_ptr<void>()> new_request{};
  std::function<Result<Answer>(std::shared_ptr<const void> request, const Context&)> answer{};

  std::string schema() const;  ///< "busbar.path/1"
};

namespace internal {

/// The kinds of a result: one, or those of a std::variant.
template <typename Found>
struct Kinds {
  static std::vector<const Record*> records() { return {&record_of(static_cast<const Found*>(nullptr))}; }
  template <typename F>
  static void visit(const Found& found, F f) {
    f(found);
  }
};
template <typename... Found>
struct Kinds<std::variant<Found...>> {
  static std::vector<const Record*> records() { return {&record_of(static_cast<const Found*>(nullptr))...}; }
  template <typename F>
  static void visit(const std::variant<Found...>& found, F f) {
    std::visit(f, found);
  }
};

template <typename Found>
void describe(const Found& found, Answer& out) {
  out.record = &record_of(&found);
  out.data = &found;
  if constexpr (requires { found.exit_status; }) out.status = found.exit_status;
  if constexpr (requires { found.refused; }) out.refused = found.refused;
  if constexpr (requires { found.of_run; }) out.run = found.of_run;
  if constexpr (requires { found.silent; }) out.silent = found.silent;
  if constexpr (requires { found.last_words; }) out.last_words = found.last_words;
  if constexpr (requires { found.files; }) out.files = &found.files;
}

}  // namespace internal

/// A question of these types, which `answer(const Asked&, const Context&)` next to them answers. `Found` may be a
/// std::variant of results. Members `exit_status`, `refused`, `of_run`, `silent`, `last_words` and `files` of a result
/// are those of its answer. `version`: of the result.
template <typename Asked, typename Found>
Question make_question(std::string name, std::string summary, std::string examples, int place, int version = 1) {
  Question q{std::move(name), std::move(summary), std::move(examples), place, version};
  q.request = &record_of(static_cast<const Asked*>(nullptr));
  q.results = internal::Kinds<Found>::records();
  q.new_request = [] { return std::make_shared<Asked>(); };
  q.answer = [](std::shared_ptr<const void> request, const Context& context) -> Result<Answer> {
    BUSBAR_ASSIGN(Found found, answer(*static_cast<const Asked*>(request.get()), context));
    const auto kept = std::make_shared<const Found>(std::move(found));
    Answer out;
    internal::Kinds<Found>::visit(*kept, [&](const auto& one) { internal::describe(one, out); });
    out.request = std::move(request);
    out.result = kept;
    return out;
  };
  return q;
}

/// All questions, in the order of `place`.
const std::vector<Question>& all_questions();
std::vector<std::string> question_names();
/// Null: there is none of this name.
const Question* find_question(std::string_view name);
/// Error kInvalid at `where`, with the nearest name, if there is none of this name.
Result<const Question*> question_named(std::string_view name, const Where& where = {});

/// The answer to a request whose fields `request` sets; the others keep their defaults.
Result<Answer> ask(const Question& question, const Json& request, const Context& context = {});
/// The answer to a request of the question's type.
Result<Answer> ask(const Question& question, std::shared_ptr<const void> request, const Context& context = {});

/// Schemas of a request and of an answer.
Json request_schema(const Question& question);
Json answer_schema(const Question& question);
/// Both, as {"request", "answer"}.
Json schemas_of(const Question& question);

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
