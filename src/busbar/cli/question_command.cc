#include "busbar/cli/question_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "busbar/cli/command_line.h"
#include "busbar/cli/json_rows.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/session.h"
#include "busbar/cli/streams.h"
#include "busbar/report/plain.h"
#include "busbar/views/view.h"

namespace busbar {
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
  OutputOptions output;
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
    if (f.told == Field::Told::kPage) *static_cast<bool*>(at) = !asked.output.html.empty();
    if (f.told == Field::Told::kLine) *static_cast<std::string*>(at) = asked.output.typed;
  }
}

/// An error in a field, as one in its flag or word: "--threshold" for "threshold".
Error as_typed(const Record& record, Error error) {
  const Field* const f = error.where.file.empty() ? record.find(error.where.path) : nullptr;
  if (f != nullptr) error.where.path = f->word == Field::Word::kOnly ? f->value : split_names(f->flag_names()).back();
  return error;
}

Result<std::string> prompt_on_terminal(const std::string& text) {
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
  std::string line;
  if (!std::getline(std::cin, line)) return invalid("the answers ended before the last question");
  return line;
}

/// Prints a line on standard error, unless it is that of before.
std::function<void(const std::string&)> say_once() {
  return [said = std::string()](const std::string& text) mutable {
    if (text == said) return;
    said = text;
    say(text);
  };
}

/// A signal ends the program while an answer begins or cannot tell how far it is; once it counts, it keeps what it has.
class AnswerWatch {
 public:
  questions::Context context() {
    questions::Context out;
    out.stop = LongRun::flag();
    out.notice = say_once();
    out.answer_line = answer_line;
    out.check_command = check_command;
    if (isatty(STDIN_FILENO) != 0) out.prompt = prompt_on_terminal;
    out.progress = [this](const Progress& p) { show(p); };
    return out;
  }
  /// Exit status of the command: `otherwise` unless a signal ended the answer early, which this says.
  int status(int otherwise) const {
    if (!run_) return otherwise;
    run_->report_interruption();
    return run_->status(otherwise);
  }

 private:
  void show(const Progress& p) {
    const bool counts = p.total != 0 || p.so_far;
    if (!counts && !run_) {
      task_.reset();
      task_.emplace(p.what);
      return;
    }
    task_.reset();
    if (!run_) shown_by_run_ = run_.emplace(p.what).context();
    shown_by_run_.progress(p);
  }

  std::optional<NamedTask> task_;
  std::optional<LongRun> run_;
  Context shown_by_run_;
};

/// The document, if one is needed.
Document document_of(const questions::Answer& answer, const OutputOptions& output) {
  Document out;
  if (!output.for_programs() || !output.html.empty())
    out = views::view_of(answer, output.html.empty() ? views::Extent::kText : views::Extent::kPage);
  out.command = output.typed;
  return out;
}

Result<int> print_data(const questions::Answer& answer, const OutputOptions& output, int status) {
  const Field* const rows = output.json && !output.csv ? answer.rows() : nullptr;
  Json data = Json::object();
  if (output.for_programs()) data = rows == nullptr ? answer.json() : answer.json_without_rows();
  data["run"] = output.clock.to_json();
  if (!answer.run.is_null()) data["run"].update(answer.run);
  const Document document = document_of(answer, output);
  if (rows == nullptr) return deliver(output, data, document, status);
  end_progress();
  BUSBAR_RETURN_IF_ERROR(write_json(data, *rows, rows->at(answer.data)));
  return output.html.empty() ? status : deliver(output, data, document, status, Printed::kAlready);
}

Result<int> print(const questions::Answer& answer, const OutputOptions& output, int status) {
  BUSBAR_ASSIGN(const int done, print_data(answer, output, status));
  if (output.for_programs()) {
    if (answer.refused) report_error(*answer.refused);
    return done;
  }
  std::string more = views::text_after(answer, text_options().columns);
  if (!answer.last_words.empty()) more += escape_terminal(answer.last_words, true) + '\n';
  return more.empty() ? done : print_out(more, done);
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

Result<int> run(const questions::Question& question, Asked& asked) {
  AnswerWatch watch;
  const Result<questions::Answer> answer = answer_of(question, asked, watch.context());
  if (!answer.ok()) return answer.error();
  if (answer->silent) return answer->status;
  const int status = watch.status(answer->status);
  if (answer->files != nullptr)
    for (const questions::OutputFile& f : *answer->files)
      if (f.path == "-") return print_out(f.text, status);
  BUSBAR_RETURN_IF_ERROR(views::write_files(*answer));
  return print(*answer, asked.output, status);
}

/// --json and the other flags of every question stand before the fields about its output that end the list.
std::size_t place_of_output(const Record& record) {
  std::size_t end = record.fields().size();
  while (end > 0 && record.fields()[end - 1].category == "Output") --end;
  return end;
}

}  // namespace

std::vector<Flag> flags_of(const Record& record, void* request) {
  std::vector<Flag> out;
  for (const Field& f : record.fields())
    if (has_flag(f)) out.push_back(flag_of(record, f, request));
  return out;
}

Command question_command(const questions::Question& question, const std::string& typed) {
  const auto asked = std::make_shared<Asked>();
  asked->request = question.new_request();
  asked->output.typed = typed;
  Command c;
  c.name = question.name;
  c.summary = question.summary;
  c.examples = question.examples;
  const std::vector<Field>& fields = question.request->fields();
  const std::size_t output = place_of_output(*question.request);
  for (std::size_t i = 0; i <= fields.size(); ++i) {
    if (i == output) c.add(output_flags(asked->output));
    if (i == fields.size()) break;
    const Field& f = fields[i];
    if (!f.old_flag.empty()) c.renamed.emplace_back(f.old_flag, split_names(f.flag_names()).back());
    if (f.word != Field::Word::kNo) c.positionals.push_back(positional_of(f, *asked));
    if (has_flag(f)) c.flags.push_back(flag_of(*question.request, f, asked->request.get()));
  }
  c.run = [asked, q = &question] { return run(*q, *asked); };
  c.answer = [asked, q = &question](const questions::Context& context) { return answer_of(*q, *asked, context); };
  return c;
}

}  // namespace busbar
