#include "busbar/lines/question_line.h"

#include <algorithm>

#include "busbar/base/check.h"

namespace busbar::lines {
namespace {

/// Where the parser puts the value of a field of `request`.
FlagTarget target_of(const Field& f, void* request) {
  void* const at = f.at(request);
  const auto is = [&]<typename T>(const T*) { return f.type == &type_of<T>(); };
  if (is(static_cast<const bool*>(nullptr))) return static_cast<bool*>(at);
  if (is(static_cast<const std::string*>(nullptr))) return static_cast<std::string*>(at);
  if (is(static_cast<const std::uint32_t*>(nullptr))) return static_cast<std::uint32_t*>(at);
  if (is(static_cast<const double*>(nullptr))) return static_cast<double*>(at);
  if (is(static_cast<const std::vector<std::string>*>(nullptr))) return static_cast<std::vector<std::string>*>(at);
  if (is(static_cast<const std::optional<std::string>*>(nullptr))) return static_cast<std::optional<std::string>*>(at);
  BUSBAR_CHECK(is(static_cast<const std::optional<std::int64_t>*>(nullptr))) << f.name;
  return static_cast<std::optional<std::int64_t>*>(at);
}

/// "--engine packet" for a field's "engine=packet".
std::string spelled(const Record& record, const std::string& need) {
  if (need.empty() || need.starts_with("--")) return need;  // a flag of every command
  const std::size_t equals = std::min(need.find('='), need.size());
  const Field* const other = record.find(need.substr(0, equals));
  BUSBAR_CHECK(other != nullptr) << need;
  const std::string name = split_names(other->flag_names()).back();
  return equals == need.size() ? name : name + ' ' + need.substr(equals + 1);
}

/// Lists share the flag of their field.
bool has_flag(const Field& f) {
  return f.word != Field::Word::kOnly && f.values_of.empty() && f.told == Field::Told::kNo;
}

Flag flag_of(const Record& record, const Field& f, void* request) {
  Flag flag{f.flag_names(), f.value, f.meaning, f.category, target_of(f, request), f.choices};
  if (const Field* const list = record.list_of(f.name)) flag.list = static_cast<std::string*>(list->at(request));
  flag.needs = spelled(record, f.needs);
  for (const std::string& other : f.useless_with) flag.useless_with.push_back(spelled(record, other));
  return flag;
}

bool is_list(const Field& f) { return f.type == &type_of<std::vector<std::string>>(); }

/// A command as it is asked: its output, its request, and the first of the words of a list, which the parser takes
/// apart.
struct Asked {
  std::shared_ptr<OutputOptions> output;
  std::shared_ptr<void> request;
  std::string first_word;
};

Positional positional_of(const Field& f, Asked& asked) {
  const std::string& help = f.word_meaning.empty() ? f.meaning : f.word_meaning;
  const FlagTarget target = target_of(f, asked.request.get());
  Positional out{f.value, help, &asked.first_word, f.required};
  if (is_list(f))
    out.more = std::get<std::vector<std::string>*>(target);
  else
    out.target = std::get<std::string*>(target);
  out.such_as = f.such_as;
  if (f.is_one != nullptr) out.is = f.is_one;
  return out;
}

/// The first word joins the others of its list.
void join_words(const Record& record, Asked& asked) {
  if (asked.first_word.empty()) return;
  for (const Field& f : record.fields()) {
    if (f.word == Field::Word::kNo || !is_list(f)) continue;
    auto& list = *static_cast<std::vector<std::string>*>(f.at(asked.request.get()));
    list.insert(list.begin(), asked.first_word);
  }
}

/// What a request learns of the command.
void fill_in(const Record& record, Asked& asked) {
  for (const Field& f : record.fields()) {
    void* const at = f.at(asked.request.get());
    if (f.told == Field::Told::kPage) *static_cast<bool*>(at) = !asked.output->html.empty();
    if (f.told == Field::Told::kLine) *static_cast<std::string*>(at) = asked.output->typed;
  }
}

/// An error in a field, as one in its flag or word: "--threshold" for "threshold".
Error as_typed(const Record& record, Error error) {
  const Field* const f = error.where.file.empty() ? record.find(error.where.path) : nullptr;
  if (f != nullptr) error.where.path = f->word == Field::Word::kOnly ? f->value : split_names(f->flag_names()).back();
  return error;
}

/// The answer; errors as typed.
Result<questions::Answer> answer_of(const questions::Question& question, Asked& asked,
                                    const questions::Context& context) {
  join_words(*question.request, asked);
  fill_in(*question.request, asked);
  Result<questions::Answer> answer = ask(question, std::shared_ptr<const void>(asked.request), context);
  if (!answer.ok()) return as_typed(*question.request, answer.error());
  return answer;
}

/// --json and the other flags of every question stand before the fields about its output that end the list.
std::size_t place_of_output(const Record& record) {
  std::size_t end = record.fields().size();
  while (end > 0 && record.fields()[end - 1].category == "Output") --end;
  return end;
}

}  // namespace

Command question_line(const questions::Question& question, std::shared_ptr<OutputOptions> output) {
  const auto asked = std::make_shared<Asked>();
  asked->request = question.new_request();
  asked->output = std::move(output);
  Command c;
  c.name = question.name;
  c.summary = question.summary;
  c.examples = question.examples;
  const std::vector<Field>& fields = question.request->fields();
  const std::size_t output_at = place_of_output(*question.request);
  for (std::size_t i = 0; i <= fields.size(); ++i) {
    if (i == output_at) c.add(output_flags(*asked->output));
    if (i == fields.size()) break;
    const Field& f = fields[i];
    if (!f.old_flag.empty()) c.renamed.emplace_back(f.old_flag, split_names(f.flag_names()).back());
    if (f.word != Field::Word::kNo) c.positionals.push_back(positional_of(f, *asked));
    if (has_flag(f)) c.flags.push_back(flag_of(*question.request, f, asked->request.get()));
  }
  c.answer = [asked, q = &question](const questions::Context& context) { return answer_of(*q, *asked, context); };
  return c;
}

}  // namespace busbar::lines
