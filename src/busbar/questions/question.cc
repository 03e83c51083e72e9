#include "busbar/questions/question.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/input.h"
#include "busbar/base/quantity.h"
#include "busbar/base/run_files.h"
#include "busbar/base/text.h"
#include "busbar/questions/internal/collected.h"

namespace busbar::questions {
namespace {

/// A value as one line of text; those of lists end with tabs.
std::string as_setting(const Type& type, const void* value) {
  switch (type.kind) {
    case TypeKind::kBool:
      return to_json(type, value).truth() ? "yes" : "no";
    case TypeKind::kNumber:
      return fmt::format("{}", to_json(type, value).number());
    case TypeKind::kText:
      return to_json(type, value).text();
    case TypeKind::kOptional:
      return type.size(value) == 0 ? "-" : as_setting(*type.inner, type.at(value, 0));
    case TypeKind::kList: {
      std::string out;
      for (std::size_t i = 0; i < type.size(value); ++i) out += as_setting(*type.inner, type.at(value, i)) + '\t';
      return out;
    }
    default:
      return to_json(type, value).dump();
  }
}

/// The words of a positional argument, each on its line.
std::string as_words(const Type& type, const void* value) {
  if (type.kind != TypeKind::kList) return as_setting(type, value) + '\n';
  std::string out;
  for (std::size_t i = 0; i < type.size(value); ++i) out += as_setting(*type.inner, type.at(value, i)) + '\n';
  return out;
}

/// Nothing for a list (tp_list) that is not given.
std::string as_line(const Field& f, const void* request) {
  const std::string text = as_setting(*f.type, f.at(request));
  return text.empty() && !f.values_of.empty() ? "" : text + '\n';
}

/// One line for each word and each field that decides. A field that is a word and a flag has two.
std::string settings_of(const std::string& question, const Record& record, const void* request) {
  std::string out = question + '\n';
  for (const Field& f : record.fields())
    if (f.word != Field::Word::kNo) out += as_words(*f.type, f.at(request));
  for (const Field& f : record.fields())
    if (f.decides && f.word != Field::Word::kOnly) out += as_line(f, request);
  return out;
}

Json with_schema(const Question& q, const char* what, Json schema) {
  Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
           {"$id", fmt::format("busbar.{}.{}/{}", q.name, what, q.version)},
           {"title", q.summary}};
  out.update(std::move(schema));
  return out;
}

}  // namespace

std::string Question::schema() const { return fmt::format("busbar.{}/{}", name, version); }

Json Answer::json() const {
  Json out{{"schema", question->schema()}};
  out.update(to_json(*record, data));
  return out;
}

const Field* Answer::rows() const {
  for (const Field& f : record->fields())
    if (f.row_by_row) return &f;
  return nullptr;
}

Json Answer::json_without_rows() const {
  Json out{{"schema", question->schema()}};
  out.update(to_json(*record, data, rows()));
  return out;
}

const std::vector<Question>& all_questions() {
  static const std::vector<Question> all = [] {
    std::vector<Question> list = collected_questions();
    std::sort(list.begin(), list.end(), [](const Question& a, const Question& b) {
      return a.place != b.place ? a.place < b.place : a.name < b.name;
    });
    return list;
  }();
  return all;
}

const Question* find_question(std::string_view name) {
  for (const Question& q : all_questions())
    if (q.name == name) return &q;
  return nullptr;
}

std::vector<std::string> question_names() {
  std::vector<std::string> out;
  for (const Question& q : all_questions()) out.push_back(q.name);
  return out;
}

Result<const Question*> question_named(std::string_view name, const Where& where) {
  if (const Question* const found = find_question(name)) return found;
  const std::vector<std::string> known = question_names();
  return invalid(
      fmt::format("there is no question '{}'; {}", name, suggestion(name, known, "there are " + comma_list(known))),
      where);
}

Result<Answer> ask(const Question& question, const Json& request, const Context& context) {
  std::shared_ptr<void> filled = question.new_request();
  BUSBAR_RETURN_IF_ERROR(read_json_into(request, *question.request, filled.get()));
  for (const Field& f : question.request->fields())
    if (f.required && !request.contains(f.name))
      return invalid(fmt::format("'{}' is missing: {}", f.name, f.meaning), {"", 0, 0, f.name});
  return ask(question, std::shared_ptr<const void>(std::move(filled)), context);
}

Result<Answer> ask(const Question& question, std::shared_ptr<const void> request, const Context& context) {
  BUSBAR_ASSIGN(Answer answer, question.answer(std::move(request), context));
  answer.question = &question;
  return answer;
}

Json request_schema(const Question& q) {
  const std::shared_ptr<void> defaults = q.new_request();
  return with_schema(q, "request", schema_of(*q.request, defaults.get()));
}

Json answer_schema(const Question& q) {
  Json kinds = Json::array();
  for (const Record* const record : q.results) {
    Json schema = schema_of(*record, nullptr);
    Json properties{{"schema", {{"const", q.schema()}}}};
    properties.update(schema["properties"]);
    properties["run"] = {{"type", "object"},
                         {"description", "of this run: seconds, and whatever differs between runs"}};
    schema["properties"] = std::move(properties);
    kinds.push_back(std::move(schema));
  }
  return with_schema(q, "answer", kinds.size() == 1 ? kinds.values()[0] : Json{{"anyOf", std::move(kinds)}});
}

Json schemas_of(const Question& q) { return {{"request", request_schema(q)}, {"answer", answer_schema(q)}}; }

std::string inputs_hash(const std::string& question, const Record& record, const void* request, std::string_view read) {
  return inputs_hash(settings_of(question, record, request), read);
}

std::string inputs_hash(std::string_view settings, std::string_view read) {
  std::uint64_t hash = hash64(read);
  for (std::size_t at = 0; at < settings.size();) {
    const std::size_t end = std::min(settings.find('\n', at), settings.size());
    const std::string value(settings.substr(at, end - at));
    hash = hash64(names_input(value) ? "(input)\n" : value + '\n', hash);
    at = end + 1;
  }
  const RunFiles* const files = RunFiles::current();
  return fmt::format("{:016x}", files == nullptr ? hash : hash64(fmt::format("{:x}", files->inputs_digest()), hash));
}

}  // namespace busbar::questions
